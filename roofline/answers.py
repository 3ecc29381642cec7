"""The prediction as JSON: the contract's shape out of a chosen layout and what was computed for it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from roofline import serving, training
from roofline.codes import BOUNDS
from roofline.intervals import cost_interval, interval
from roofline.question import Question
from roofline.units import GIB, MEGA
from roofline.versions import release_year

if TYPE_CHECKING:
    from roofline.predict import Choice

Json = dict[str, Any]

CHOSEN_PATHS = {
    "gpus": "gpu_count",
    "tp": "parallelism.tp",
    "pp": "parallelism.pp",
    "cp": "parallelism.cp",
    "ep": "parallelism.ep",
    "dp": "parallelism.dp",
    "expert_tp": "parallelism.expert_tp",
    "sequence_parallel": "parallelism.sequence_parallel",
}
TRAINING_PATHS = {
    "zero_stage": "parallelism.zero_stage",
    "virtual_pipeline": "parallelism.virtual_pipeline",
    "micro_batch": "training.micro_batch",
    "global_batch": "training.global_batch",
    "recompute": "training.recompute",
}
SERVING_PATHS = {"attention_dp": "parallelism.attention_dp"}
POOLED = ("tp", "ep", "dp", "expert_tp")  # disaggregated pools say these themselves


def number(value: Any) -> float | None:
    """A plain finite number, or None."""
    plain = float(value)
    return plain if math.isfinite(plain) else None


def count(value: Any) -> int | None:
    """A whole number, or None."""
    plain = number(value)
    return None if plain is None else round(plain)


def answer(question: Question, choice: Choice, *, detail: bool) -> Json:
    """The prediction of a scenario that fits."""
    body = _frame(question, choice)
    speed = choice.result.speed
    if question.scenario.workload == "training":
        body["training"] = _training(choice)
        shares = {name: getattr(speed, f"{name}_share") for name in BOUNDS}
    else:
        body["inference"] = _inference(question, choice)
        shares = dict(speed.bound)
    body["bound"] = _bound(shares)
    body["operators"] = _operators(question, choice) if detail else []
    body["cost"] = _cost(question, choice)
    figures = body[question.scenario.workload]
    body["interval"] = interval(question, choice, figures)
    if body["cost"]:
        body["cost"]["interval"] = cost_interval(body["cost"], figures, body["interval"])
    _warn(question, choice)
    body["warnings"] = question.warnings
    return body


def refusal_to_fit(question: Question, choice: Choice, repairs: list[Json]) -> Json:
    """The answer for a scenario that does not fit: how much it needs, and what would do."""
    body = _frame(question, choice)
    body[question.scenario.workload] = None
    body |= {"bound": {"dominant": "capacity", "shares": None}, "operators": [], "cost": None, "interval": None}
    body["memory"]["would_fit"] = repairs
    held = choice.result.memory
    over = (number(held.total_bytes) or 0.0) - (number(held.capacity_bytes) or 0.0)
    # A serving engine may use only its share of the memory: what lacks is measured against that.
    short = max(over, number(getattr(held, "shortfall_bytes", 0.0)) or 0.0)
    body["memory"]["short_bytes"] = count(short)
    share = question.scenario.get("inference.gpu_memory_utilization", 1.0)
    rule = f" (the engine may use {share:.0%} of the memory)" if short > over else ""
    question.warn("does_not_fit", "gpu_count", f"Does not fit: {short / GIB:,.3g} GiB short on each GPU{rule}.")
    body["warnings"] = question.warnings
    return body


def _frame(question: Question, choice: Choice) -> Json:
    _note_choice(question, choice)
    return {
        "scenario": question.scenario.to_json(),
        "origins": dict(question.scenario.origins),
        "model": {"name": question.architecture.name, **question.architecture.summary()},
        "memory": _memory(question, choice),
    }


def _note_choice(question: Question, choice: Choice) -> None:
    """Write the chosen layout into the scenario; what was given stays given."""
    own = TRAINING_PATHS if question.scenario.workload == "training" else SERVING_PATHS
    pooled = question.scenario.get("inference.disaggregated.decode.gpus") is not None
    for name, path in (CHOSEN_PATHS | own).items():
        if pooled and name in POOLED:
            continue
        if path not in question.scenario.values or question.scenario.origins.get(path) == "chosen":
            question.scenario.choose(path, getattr(choice.candidate, name))


def _memory(question: Question, choice: Choice) -> Json:
    held = choice.result.memory
    names = ("weights", "gradients", "optimizer", "activations", "kv_cache", "runtime", "total", "capacity")
    per_gpu = {f"{name}_bytes": count(getattr(held, f"{name}_bytes", 0)) for name in names}
    serving_load = question.scenario.workload == "inference"
    return {
        "per_gpu": per_gpu,
        "fits": choice.fits,
        "kv_cache_tokens": count(np.floor(held.kv_cache_tokens)) if serving_load else None,
        "max_concurrency": count(np.floor(held.max_concurrency)) if serving_load else None,
        "short_bytes": 0 if choice.fits else None,
        "would_fit": [],
    }


def _training(choice: Choice) -> Json:
    speed = choice.result.speed
    names = ("tokens_per_s", "tokens_per_s_per_gpu", "step_time_s", "tflops_per_gpu", "mfu", "hfu")
    return {
        **{name: number(getattr(speed, name)) for name in names},
        "mfu_definition": speed.mfu_definition,
        "time_to_train_s": number(speed.time_to_train_s / choice.productive),
    }


INFERENCE_NAMES = (
    "output_tokens_per_s",
    "output_tokens_per_s_per_gpu",
    "total_tokens_per_s",
    "requests_per_s",
    "ttft_s",
    "ttft_benchmark_s",
    "ttft_p99_s",
    "tpot_s",
    "itl_p99_s",
    "e2e_latency_s",
    "prefill_tokens_per_s",
    "concurrency",
    "mbu",
    "mfu",
)


def _inference(question: Question, choice: Choice) -> Json:
    speed = choice.result.speed
    body: Json = {name: number(getattr(speed, name)) for name in INFERENCE_NAMES}
    if question.scenario.get("inference.request_rate_per_s"):
        body["ttft_benchmark_s"] = None  # what a closed loop would report does not apply to a request rate
    return body


def _bound(shares: Mapping[str, Any]) -> Json:
    plain = {name: max(number(shares[name]) or 0.0, 0.0) for name in BOUNDS}
    total = sum(plain.values()) or 1.0
    normal = {name: share / total for name, share in plain.items()}
    return {"dominant": max(normal, key=lambda name: normal[name]), "shares": normal}


def _operators(question: Question, choice: Choice) -> list[Json]:
    if question.scenario.workload == "training":
        found: Sequence[Any] = training.operators(choice.batch, training.load(choice.gpus))
    else:
        found = serving.operators(choice.batch, choice.result.memory, serving.load(choice.gpus))
    return [_plain(operator) for operator in found]


def _plain(operator: Mapping[str, Any]) -> Json:
    return {
        key: value if isinstance(value, str) else count(value) if key == "count" else number(value)
        for key, value in operator.items()
    }


def _cost(question: Question, choice: Choice) -> Json | None:
    spent, price = choice.result.cost, question.price
    speed = choice.result.speed
    energy = {"energy_kwh": number(spent.energy_kwh), "power_watts": number(spent.power_watts)}
    if price is None:
        question.warn("no_price", "price", f"No price of {question.gpu.name} is known: give price.usd_per_gpu_hour.")
        return None
    output = getattr(speed, "output_tokens_per_s", None)
    return {
        "usd_per_hour": number(spent.usd_per_hour),
        "usd_per_run": number(spent.usd_per_run),
        "usd_per_million_output_tokens": number(spent.usd_per_million_output_tokens) if output is not None else None,
        "usd_per_million_total_tokens": number(spent.usd_per_million_total_tokens),
        **energy,
        "energy_kwh_per_million_tokens": _energy_per_million(choice),
        "price": price.source,
    }


def _energy_per_million(choice: Choice) -> float | None:
    speed = choice.result.speed
    rate = speed.output_tokens_per_s if hasattr(speed, "output_tokens_per_s") else speed.tokens_per_s
    return number(choice.result.cost.power_watts / rate * MEGA / 3.6e6) if rate else None


def _warn(question: Question, choice: Choice) -> None:
    scenario, model, layout = question.scenario, question.model, choice.candidate
    kv_heads = int(model.kv_heads or model.window_kv_heads)
    if kv_heads and layout.tp > kv_heads and not layout.attention_dp:
        message = (
            f"tp {layout.tp} exceeds the {kv_heads} KV heads: the KV cache is stored {layout.tp // kv_heads} times."
        )
        question.warn("tp_exceeds_kv_heads", "parallelism.tp", message)
    if model.is_mla and layout.tp > 1 and not layout.attention_dp and scenario.workload == "inference":
        question.warn(
            "mla_replicated", "parallelism.tp", "Latent attention: every tensor-parallel rank keeps the whole KV cache."
        )
    if layout.tp > max(question.node.domain, 1) and layout.tp > 1:
        link = f"the fast link ({question.node.domain} GPUs)"
        message = f"tp {layout.tp} reaches beyond {link}: it runs over PCIe or the network."
        question.warn("tp_beyond_link", "parallelism.tp", message)
    if layout.gpus > 1 and question.node.domain > 1 and not question.gpu.link_bandwidth:
        message = f"The bandwidth of the link between {question.gpu.name} is not known: taken as that of PCIe."
        question.warn("unknown_link", "gpu", message)
    for path in ("training.framework_version", "inference.engine_version"):
        version = scenario.get(path)
        software = str(scenario.get(path.removesuffix("_version")))
        if version and math.isnan(release_year(software, version)):
            question.warn(
                "unknown_version", path, f"The release date of {software} {version} is not known: taken as current."
            )
    if scenario.workload == "inference":
        _warn_serving(question, choice)


def _warn_serving(question: Question, choice: Choice) -> None:
    speed, wanted = choice.result.speed, question.scenario.get("inference.concurrency")
    running = number(speed.concurrency) or 0.0
    if isinstance(wanted, int) and running < wanted * 0.98:
        message = f"{running:,.0f} of {wanted:,} requests run at once (KV cache or max_num_seqs); the rest wait."
        question.warn("concurrency_limited", "inference.concurrency", message)
    rate = question.scenario.get("inference.request_rate_per_s")
    if rate and (number(speed.requests_per_s) or 0.0) < rate * 0.99:
        message = f"Cannot keep up with {rate:g} requests/s: the queue grows without end."
        question.warn("overload", "inference.request_rate_per_s", message)
    for key in ("ttft_s", "tpot_s"):
        limit = question.scenario.get(f"inference.slo.{key}")
        value = number(getattr(speed, key))
        if limit and value is not None and value > limit:
            message = f"{key.upper().removesuffix('_S')} {value:.3g} s misses the limit of {limit:g} s."
            question.warn("misses_slo", f"inference.slo.{key}", message)
