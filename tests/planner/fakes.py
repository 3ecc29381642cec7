"""A stand-in for the engine with plain arithmetic, so that pages are tested apart from its coefficients.

Reads the real questions (fields, catalogue names, prices), answers with the full shape of a prediction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from roofline.question import Question

GIB = 2**30
BYTES = {"fp8": 1.0, "fp8_block": 1.0, "int8": 1.0, "nvfp4": 0.56, "int4_g128": 0.56}


def fake_engine(questions: Sequence[Question], *, calibration: Any = None, detail: bool = True) -> list[dict[str, Any]]:
    """One prediction a question."""
    return [_answer(question, detail) for question in questions]


def _answer(question: Question, detail: bool) -> dict[str, Any]:
    scenario = question.scenario
    serving = scenario.workload == "inference"
    params = float(question.model.total_params)
    per_param = BYTES.get(str(scenario.get("inference.weights")), 2.0) if serving else 16.0
    needed = params * per_param
    count = _choose(question, needed)
    tp = scenario.get("parallelism.tp") or min(count, 8)
    scenario.values.setdefault("parallelism.tp", tp) or None
    scenario.origins.setdefault("parallelism.tp", "chosen")
    dp = max(1, count // tp)
    shards = count if not serving else tp
    weights = needed / shards
    capacity = question.gpu.memory_bytes
    fits = weights + 4 * GIB < capacity
    kv = max(0.0, capacity * 0.9 - weights - 4 * GIB) if serving else 0.0
    runtime, activations = 2 * GIB, 2 * GIB
    total = weights + kv + runtime + activations
    body: dict[str, Any] = {
        "scenario": scenario.to_json(),
        "origins": dict(scenario.origins),
        "model": {"name": question.architecture.name, "total_params": int(params)},
        "memory": {
            "per_gpu": {
                "weights_bytes": round(weights),
                "gradients_bytes": 0,
                "optimizer_bytes": 0,
                "activations_bytes": activations,
                "kv_cache_bytes": round(kv),
                "runtime_bytes": runtime,
                "total_bytes": round(total),
                "capacity_bytes": round(capacity),
            },
            "fits": fits,
            "kv_cache_tokens": round(kv / 1e5) if serving else None,
            "max_concurrency": round(kv / 1e9) if serving else None,
            "would_fit": [],
        },
        "warnings": [],
        "versions": {"engine": "fake", "calibration": "none", "catalog": "test"},
    }
    if not fits:
        change = {"gpu_count": count * 2, "parallelism": {"tp": tp * 2}}
        would = [{"change": change, "total_bytes": round(total / 2), "usd_per_hour": 2.0 * count}] if detail else []
        body["memory"]["would_fit"] = would
        return body | {
            scenario.workload: None,
            "bound": {"dominant": "capacity", "shares": None},
            "operators": [],
            "cost": None,
            "interval": None,
        }
    body |= _serving(question, count, dp, weights) if serving else _training(question, count, params)
    return body | {"operators": _operators(serving) if detail else []}


def _choose(question: Question, needed: float) -> int:
    scenario = question.scenario
    count = scenario.get("gpu_count")
    if not count:
        count = 1
        while needed / count + 4 * GIB > question.gpu.memory_bytes and count < 1024:
            count *= 2
        scenario.choose("gpu_count", count)
    return int(count)


def _serving(question: Question, count: int, dp: int, weights: float) -> dict[str, Any]:
    scenario = question.scenario
    load = scenario.get("inference.concurrency") or 64
    load = 256 if load == "max" else int(load)
    tpot = weights / question.gpu.bandwidth / 0.7 + 2e-4 * load / dp
    speed = load / tpot
    price = question.price.usd_per_gpu_hour if question.price else None
    hourly = price * count if price else None
    figures: dict[str, Any] = {
        "output_tokens_per_s": speed,
        "output_tokens_per_s_per_gpu": speed / count,
        "total_tokens_per_s": speed * 5,
        "requests_per_s": speed / 256,
        "ttft_s": 0.2,
        "ttft_benchmark_s": 0.3,
        "ttft_p99_s": None,
        "tpot_s": tpot,
        "itl_p99_s": tpot * 2,
        "e2e_latency_s": 0.2 + 256 * tpot,
        "prefill_tokens_per_s": 20000.0,
        "concurrency": load,
        "mbu": 0.6,
        "mfu": 0.12,
    }
    return {
        "inference": figures,
        "bound": {
            "dominant": "memory",
            "shares": {"compute": 0.2, "memory": 0.6, "interconnect": 0.15, "latency": 0.05},
        },
        "cost": _cost(question, hourly, hourly / speed / 3600 * 1e6 if hourly else None, None),
        "interval": {"level": 0.8, "basis": "41 reference runs near this one"}
        | {
            key: [figures[key] * 0.9, figures[key] * 1.1]
            for key in ("output_tokens_per_s", "output_tokens_per_s_per_gpu", "tpot_s", "ttft_s")
        },
    }


def _training(question: Question, count: int, params: float) -> dict[str, Any]:
    scenario = question.scenario
    mfu = 0.42 if scenario.get("training.precision") == "bf16" else 0.3
    speed = mfu * question.gpu.peak("bf16") / (6 * params)
    tokens = scenario.get("training.total_tokens")
    lasts = tokens / speed / count if tokens else None
    price = question.price.usd_per_gpu_hour if question.price else None
    return {
        "training": {
            "tokens_per_s": speed * count,
            "tokens_per_s_per_gpu": speed,
            "step_time_s": 3.0,
            "tflops_per_gpu": 400.0,
            "mfu": mfu,
            "hfu": mfu * 1.1,
            "mfu_definition": "model FLOPs over the dense peak",
            "time_to_train_s": lasts,
        },
        "bound": {
            "dominant": "compute",
            "shares": {"compute": 0.8, "memory": 0.1, "interconnect": 0.1, "latency": 0.0},
        },
        "cost": _cost(
            question, price * count if price else None, None, price * count * lasts / 3600 if price and lasts else None
        ),
        "interval": {
            "level": 0.8,
            "basis": "12 reference runs near this one",
            "tokens_per_s_per_gpu": [speed * 0.9, speed * 1.1],
            "tokens_per_s": [speed * count * 0.9, speed * count * 1.1],
        },
    }


def _cost(question: Question, hourly: float | None, million: float | None, run: float | None) -> dict[str, Any] | None:
    if hourly is None or question.price is None:
        return None
    return {
        "usd_per_hour": hourly,
        "usd_per_run": run,
        "usd_per_million_output_tokens": million,
        "usd_per_million_total_tokens": million / 5 if million else 0.5,
        "energy_kwh": 3.1,
        "price": {"kind": "given", "usd_per_gpu_hour": question.price.usd_per_gpu_hour},
    }


def _operators(serving: bool) -> list[dict[str, Any]]:
    def one(name: str, phase: str, flops: float, moved: float, time: float, bound: str) -> dict[str, Any]:
        return {
            "name": name,
            "phase": phase,
            "count": 80,
            "flops": flops,
            "bytes": moved,
            "intensity": flops / moved if moved else 0.0,
            "time_s": time,
            "bound": bound,
        }

    if not serving:
        return [
            one("mlp.up", "forward", 4e12, 2e9, 6e-3, "compute"),
            one("attention", "forward", 1e12, 1e9, 2e-3, "compute"),
            one("norm", "forward", 1e8, 1e9, 4e-4, "memory"),
            one("gradients", "backward", 0.0, 4e9, 1e-3, "interconnect"),
        ]
    return [
        one("mlp.up", "prefill", 4e11, 2e8, 6e-4, "compute"),
        one("attention", "prefill", 5e10, 1e8, 1e-4, "compute"),
        one("mlp.up", "decode", 4e9, 6e7, 3e-5, "memory"),
        one("attention", "decode", 1e9, 8e7, 3e-5, "memory"),
        one("allreduce", "decode", 0.0, 1e6, 2e-5, "interconnect"),
        one("launch", "decode", 0.0, 0.0, 4e-6, "latency"),
    ]
