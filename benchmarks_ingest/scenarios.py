"""A measured run as the scenario that it ran: what it states, in the planner's words; the rest is left to the
planner's defaults, which its answer names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from benchmarks_ingest.models import MeasuredRun
from benchmarks_ingest.precisions import cache_format, training_precision, weight_format
from roofline.codes import ENGINES, FRAMEWORKS
from roofline.validation.serving_table import engine_of
from roofline.validation.training_table import framework_of

Json = dict[str, Any]


def workload_of(data: Mapping[str, Any]) -> str:
    """training or inference."""
    return "training" if data.get("kind") == "training" else "inference"


def software_of(data: Mapping[str, Any], format_name: str = "") -> str:
    """The framework or the serving engine, as a word of the scenario."""
    label = str(data.get("engine") or "").replace("trtllm", "tensorrt_llm").replace("trt-llm", "tensorrt_llm")
    label = label or format_name
    if workload_of(data) == "training":
        return label if label in FRAMEWORKS else framework_of(label)
    if label in ENGINES:
        return label
    return "static_batching" if data.get("kind") == "static_batch" and not data.get("engine") else engine_of(label)


def run_scenario(run: MeasuredRun) -> Json:
    """The scenario of a run whose model and GPU are known."""
    data = run.data
    scenario: Json = {
        "workload": run.workload,
        "model": run.model,
        "gpu": run.gpu,
        "gpu_count": run.gpu_count,
        "parallelism": _layout(data, run.gpu_count),
        run.workload: _training(run, data) if run.workload == "training" else _serving(run, data),
    }
    return {key: value for key, value in scenario.items() if value not in (None, "", {})}


def _stated(values: Json) -> Json:
    return {key: value for key, value in values.items() if value not in (None, "")}


def _layout(data: Mapping[str, Any], count: int | None) -> Json:
    """Parallel sizes, as far as they are consistent with the number of GPUs."""
    sizes = {name: data.get(name) for name in ("tp", "pp", "cp")}
    known = {name: int(size) for name, size in sizes.items() if size}
    product = 1
    for size in known.values():
        product *= size
    if not count or count % product:
        return {}
    layout: Json = dict(known)
    if data.get("dp") and int(data["dp"]) * product == count:
        layout["dp"] = int(data["dp"])
    if data.get("ep") and count % int(data["ep"]) == 0:
        layout["ep"] = int(data["ep"])
    return layout


def _training(run: MeasuredRun, data: Mapping[str, Any]) -> Json:
    return _stated(
        {
            "framework": run.engine,
            "framework_version": data.get("engine_version"),
            "precision": training_precision(data.get("weights")),
            "seq_len": _whole(data.get("seq_len")),
            "global_batch": _whole(data.get("global_batch")),
            "micro_batch": _whole(data.get("micro_batch")),
        }
    )


def _serving(run: MeasuredRun, data: Mapping[str, Any]) -> Json:
    only_prefill = data.get("prefill_tokens_per_s") and not data.get("output_tokens")
    return _stated(
        {
            "engine": run.engine,
            "backend": data.get("backend") if run.engine == "llama_cpp" else None,
            "engine_version": data.get("engine_version"),
            "input_tokens": _whole(data.get("input_tokens") or data.get("depth_tokens")) or _short_prompt(data),
            "output_tokens": 1 if only_prefill else _whole(data.get("output_tokens")),
            "weights": weight_format(data.get("weights"), run.model),
            "kv_cache": cache_format(data.get("kv_cache")),
            **_load(data),
        }
    )


def _short_prompt(data: Mapping[str, Any]) -> int | None:
    """Decode-only timings of single-stream tools start from an empty context."""
    return 1 if data.get("kind") == "single_stream" and data.get("output_tokens") else None


def _load(data: Mapping[str, Any]) -> Json:
    """Concurrency where one is stated, else the arrival rate, else everything at once."""
    together = data.get("concurrency") or data.get("batch_size")
    if together:
        return {"concurrency": _whole(together)}
    if data.get("kind") == "single_stream":
        return {"concurrency": 1}
    if data.get("request_rate_per_s"):
        return {"request_rate_per_s": data["request_rate_per_s"]}
    achieved = data.get("concurrency_achieved")
    return {"concurrency": _whole(achieved or data.get("completed")) or "max"}


def lengths_missing(data: Mapping[str, Any]) -> str:
    """Which lengths a prediction needs and a run does not state; "" where it states them."""
    wanted: tuple[str, ...]
    if workload_of(data) == "training":
        wanted = ("seq_len",)
    elif data.get("kind") == "single_stream":
        wanted = ()
    else:
        wanted = ("input_tokens", "output_tokens")
    return ", ".join(name for name in wanted if not data.get(name))


def is_open_loop(data: Mapping[str, Any]) -> bool:
    """Whether requests arrived at a rate of their own."""
    return "request_rate_per_s" in _load(data)


def load_words(data: Mapping[str, Any]) -> str:
    """The load in a few words: 1024 in, 256 out, 64 at once."""
    if workload_of(data) == "training":
        parts = [("seq_len", "{:g} tokens"), ("global_batch", "batch {:g}")]
    else:
        parts = [
            ("input_tokens", "{:g} in"),
            ("output_tokens", "{:g} out"),
            ("concurrency", "{:g} at once"),
            ("request_rate_per_s", "{:g}/s"),
        ]
    return ", ".join(words.format(round(data[key], 2)) for key, words in parts if data.get(key))[:80]


def plan_query(scenario: Mapping[str, Any]) -> str:
    """The query string of the scenario's what-if page."""
    return urlencode(list(_flat(scenario)))


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", f"{value:.12g}" if isinstance(value, float) else str(value)


def _whole(value: Any) -> int | None:
    return max(1, round(value)) if value else None
