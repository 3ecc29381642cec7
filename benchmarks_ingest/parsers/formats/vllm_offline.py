"""`vllm bench throughput` and `vllm bench latency` result files, and the nightly list that mixes all three kinds."""

from typing import Any

from ..canonical import Run
from ..decode import Document
from ..protocol import ParseResult, Refusal
from ..values import integer, number
from .common import as_dict, each, put_percentile, put_text
from .vllm_serve import is_serve_record, serve_run

INPUT_KEYS = ("input", "input_len", "input_tokens", "random_input_len")
OUTPUT_KEYS = ("output", "ouput", "output_len", "output_tokens", "random_output_len")


def is_throughput(record: dict[str, Any]) -> bool:
    """Whether an object is a throughput result."""
    return {"elapsed_time", "tokens_per_second"} <= record.keys() and (
        "total_num_tokens" in record or "num_requests" in record
    )


def is_latency(record: dict[str, Any]) -> bool:
    """Whether an object is a latency result."""
    return "avg_latency" in record and ("percentiles" in record or "latencies" in record)


def put_user_lengths(run: Run, record: dict[str, Any]) -> None:
    """Lengths that people add by hand, misspelt ones included."""
    for field, keys in (("input_tokens", INPUT_KEYS), ("output_tokens", OUTPUT_KEYS)):
        key = next((key for key in keys if number(record.get(key))), None)
        if key:
            run.put(field, record[key], key, "tokens")


def throughput_run(record: dict[str, Any]) -> Run | Refusal:
    """Offline throughput; tokens_per_second counts input and output together."""
    run = Run(kind="offline", engine="vllm")
    run.put("duration_s", record.get("elapsed_time"), "elapsed_time", "s")
    run.put("completed", record.get("num_requests"), "num_requests", "requests")
    run.put("requests_per_s", record.get("requests_per_second"), "requests_per_second", "req/s")
    run.put("total_tokens_per_s", record.get("tokens_per_second"), "tokens_per_second", "tok/s")
    run.notes.append("tokens_per_second counts input and output tokens together")
    put_user_lengths(run, record)
    if run.completed == 0 or run.duration_s is None:
        return Refusal("no request completed or no time measured")
    _check_total(run, number(record.get("total_num_tokens")))
    return run


def _check_total(run: Run, total: float | None) -> None:
    if (
        total
        and run.duration_s
        and run.total_tokens_per_s
        and abs(total / run.duration_s / run.total_tokens_per_s - 1) > 0.01
    ):
        run.warnings.append(
            f"tokens_per_second {run.total_tokens_per_s:.6g} disagrees with total tokens / elapsed "
            f"time {total / run.duration_s:.6g}"
        )
    if not (run.input_tokens and run.output_tokens and run.completed and total):
        return
    if abs((run.input_tokens + run.output_tokens) * run.completed / total - 1) < 0.01 and run.duration_s:
        run.derive(
            "output_tokens_per_s",
            run.output_tokens * run.completed / run.duration_s,
            "output length x requests / elapsed_time",
        )
    else:
        run.warnings.append(f"(input + output) x requests is not total_num_tokens {total:.0f}")


def latency_run(record: dict[str, Any], unit: str = "s") -> Run:
    """Latency of a whole static batch, prefill and decode together."""
    run = Run(kind="static_batch", engine="vllm")
    run.put("e2e_mean_s", record.get("avg_latency"), "avg_latency", unit)
    for percent, value in as_dict(record.get("percentiles")).items():
        if number(percent):
            put_percentile(run, "e2e", str(percent).strip(), value, f"percentiles.{percent}", unit)
    put_user_lengths(run, record)
    batch = next((key for key in ("batch_size", "batch", "num_prompts") if integer(record.get(key))), None)
    if batch:
        run.put("batch_size", record[batch], batch)
        run.put("concurrency", record[batch], batch, "requests")
    run.notes.append("avg_latency is the time of one whole batch, prefill and decode together")
    return run


class VllmThroughput:
    """`--output-json` of the throughput benchmark."""

    format = "vllm-bench-throughput"

    def score(self, document: Document) -> float:
        return 0.9 if is_throughput(document.first) else 0.0

    def parse(self, document: Document) -> ParseResult:
        runs, refusals = each(filter(is_throughput, document.records), throughput_run)
        return ParseResult(runs, refusals)


class VllmLatency:
    """`--output-json` of the latency benchmark."""

    format = "vllm-bench-latency"

    def score(self, document: Document) -> float:
        return 0.9 if is_latency(document.first) else 0.0

    def parse(self, document: Document) -> ParseResult:
        return ParseResult([latency_run(record) for record in document.records if is_latency(record)])


class VllmNightly:
    """benchmark_results.json of the nightly benchmarks: a list of latency (here in ms), throughput and serving
    records.
    """

    format = "vllm-nightly-results"

    def score(self, document: Document) -> float:
        return (
            0.95 if "test_name" in document.first and ("gpu_type" in document.first or _known(document.first)) else 0.0
        )

    def parse(self, document: Document) -> ParseResult:
        runs, refusals = each(filter(_known, document.records), nightly_run)
        return ParseResult(runs, refusals, ["latency records of this list are in ms"])


def _known(record: dict[str, Any]) -> bool:
    filled = {
        key: value for key, value in record.items() if number(value) is not None or isinstance(value, str | list | dict)
    }
    return is_serve_record(filled) or is_throughput(filled) or number(filled.get("avg_latency")) is not None


def nightly_run(record: dict[str, Any]) -> Run | Refusal:
    """One record of the list, by the columns it fills; the others hold NaN."""
    filled = {
        key: value for key, value in record.items() if number(value) is not None or isinstance(value, str | list | dict)
    }
    filled.pop("gpu_type", None)
    run = _filled_run(filled)
    if isinstance(run, Run):
        put_text(run, "label", record.get("test_name"), "test_name")
        _put_gpu(run, record.get("gpu_type"))
    return run


def _filled_run(record: dict[str, Any]) -> Run | Refusal:
    if is_serve_record(record):
        return serve_run(record)
    return throughput_run(record) if is_throughput(record) else latency_run(record, "ms")


def _put_gpu(run: Run, value: Any) -> None:
    """gpu_type is "NVIDIA H100 80GB HBM3x8": name and count glued together."""
    name, _, count = str(value or "").strip().rpartition("x")
    if name and count.isdigit():
        run.put("gpu", name, "gpu_type")
        run.put("gpu_count", count, "gpu_type")
    else:
        put_text(run, "gpu", value, "gpu_type")


class PytorchSidecar:
    """`*.pytorch.json`: the same figures once more for a dashboard; never read, the result beside it is."""

    format = "vllm-pytorch-sidecar"

    def score(self, document: Document) -> float:
        return 0.95 if {"benchmark", "model", "metric"} <= document.first.keys() else 0.0

    def parse(self, document: Document) -> ParseResult:
        return ParseResult.refused(
            "a dashboard copy of another result (*.pytorch.json): upload the result file beside it"
        )
