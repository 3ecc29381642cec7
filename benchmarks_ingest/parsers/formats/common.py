"""Helpers that several formats share."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..canonical import Run
from ..protocol import Refusal
from ..values import integer, number, text

FieldTable = Mapping[str, tuple[str, str]]  # source key: (canonical field, unit)

KNOWN_BACKENDS = {
    "vllm": "vllm",
    "sglang": "sglang",
    "sglang-native": "sglang",
    "tensorrt-llm": "tensorrt_llm",
    "trt": "tensorrt_llm",
    "trtllm": "tensorrt_llm",
    "tgi": "tgi",
    "lmdeploy": "lmdeploy",
    "vllm-chat": "vllm",
    "sglang-oai": "sglang",
    "sglang-oai-chat": "sglang",
    "deepspeed-mii": "deepspeed_mii",
    "llama.cpp": "llama_cpp",
    "triton": "tensorrt_llm",
    "vllm-rpc": "vllm",
}


def put_all(run: Run, record: Mapping[str, Any], table: FieldTable, prefix: str = "") -> None:
    """Put every key of the table that the record has."""
    for key, (field, unit) in table.items():
        if key in record:
            run.put(field, record[key], prefix + key, unit)


def latency_table(names: Mapping[str, str], unit: str = "ms", suffix: str = "_ms") -> FieldTable:
    """Keys of the shape {mean,median,pNN}_{metric}{suffix}, for the metrics given as {source name: canonical name}."""
    table: dict[str, tuple[str, str]] = {}
    for source, metric in names.items():
        table[f"mean_{source}{suffix}"] = (f"{metric}_mean_s", unit)
        table[f"median_{source}{suffix}"] = (f"{metric}_p50_s", unit)
    return table


def put_percentiles(
    run: Run, record: Mapping[str, Any], names: Mapping[str, str], unit: str = "ms", suffix: str = "_ms"
) -> None:
    """Every pNN_{metric}{suffix} key; p50 does not overwrite a median."""
    pattern = re.compile(rf"p(\d{{1,2}}(?:\.\d+)?)_({'|'.join(map(re.escape, names))}){re.escape(suffix)}")
    for key, value in record.items():
        match = pattern.fullmatch(key)
        if match:
            put_percentile(run, names[match[2]], match[1], value, key, unit)


def put_percentile(run: Run, metric: str, percent: str, value: Any, source: str, unit: str) -> None:
    """One percentile under its canonical name, such as ttft_p90_s."""
    field = f"{metric}_p{percent}_s"
    if getattr(run, field, None) is None:
        run.put(field, value, source, unit)


def put_text(run: Run, field: str, value: Any, source: str) -> None:
    """A non-empty string, else nothing."""
    cleaned = text(value)
    if cleaned is not None:
        run.put(field, cleaned, source)


def put_load(
    run: Run, record: Mapping[str, Any], rate: str = "request_rate", concurrency: str = "max_concurrency"
) -> None:
    """Offered load: "inf" and Infinity mean unlimited and leave the rate empty."""
    if rate in record:
        run.put("request_rate_per_s", record[rate], rate, "req/s")
        if run.request_rate_per_s is None and str(record[rate]).lower() in {"inf", "infinity"}:
            run.notes.append(
                "request rate unlimited: all requests offered at once or as fast as the concurrency limit allows"
            )
    if concurrency in record:
        run.put("concurrency", record[concurrency], concurrency, "requests")


def put_engine(run: Run, backend: Any, source: str) -> None:
    """The engine where the client's backend names one; "openai" and the like say nothing about the server."""
    engine = KNOWN_BACKENDS.get(str(backend).lower())
    if engine:
        run.put("engine", engine, source)


def put_lengths(run: Run, record: Mapping[str, Any], total_input: str, total_output: str) -> None:
    """Mean prompt and output length from totals over completed requests."""
    for field, key in (("input_tokens", total_input), ("output_tokens", total_output)):
        total = number(record.get(key))
        if total and run.completed:
            run.put(field, total / run.completed, f"{key} / completed", "tokens")


def derive_rates(run: Run, total_in: float | None = None, total_out: float | None = None) -> None:
    """Rates that the file leaves out, from its totals and duration."""
    if not run.duration_s:
        return
    if run.completed:
        run.derive("requests_per_s", run.completed / run.duration_s, "completed / duration")
    if total_out:
        run.derive("output_tokens_per_s", total_out / run.duration_s, "output tokens / duration")
    if total_in and total_out:
        run.derive("total_tokens_per_s", (total_in + total_out) / run.duration_s, "(input + output tokens) / duration")


def whole(value: Any) -> int | None:
    """A positive whole number, else None."""
    result = integer(value)
    return result if result and result > 0 else None


def each(records: Iterable[Any], convert: Callable[[Any], Run | Refusal]) -> tuple[list[Run], list[Refusal]]:
    """Convert records one by one, sorted into runs and refusals."""
    runs: list[Run] = []
    refusals: list[Refusal] = []
    for record in records:
        outcome = convert(record)
        if isinstance(outcome, Run):
            runs.append(outcome)
        else:
            refusals.append(outcome)
    return runs, refusals


def as_dict(value: Any) -> dict[str, Any]:
    """The value where it is a dict, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """The value where it is a list, else an empty one."""
    return value if isinstance(value, list) else []
