"""`vllm bench serve` (earlier benchmark_serving.py) result files of all versions, sweeps, and the look-alike in
seconds.

Throughputs are of the whole server. TPOT is (E2E - TTFT) / (output tokens - 1), mean over requests; ITL is per
streamed chunk.
"""

from collections.abc import Mapping
from typing import Any

from ..canonical import Run
from ..decode import Document
from ..protocol import ParseResult, Refusal
from ..values import integer
from .common import (
    as_list,
    derive_rates,
    each,
    latency_table,
    put_all,
    put_engine,
    put_lengths,
    put_load,
    put_percentiles,
    put_text,
)

METRICS = {"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2el": "e2e"}
RATES = {
    "duration": ("duration_s", "s"),
    "completed": ("completed", "requests"),
    "request_throughput": ("requests_per_s", "req/s"),
    "output_throughput": ("output_tokens_per_s", "tok/s"),
    "total_token_throughput": ("total_tokens_per_s", "tok/s"),
}
# What users add with --metadata, under the names they use.
METADATA = {
    "tp": "tp",
    "tp_size": "tp",
    "tensor_parallel_size": "tp",
    "pp": "pp",
    "pipeline_parallel_size": "pp",
    "dp": "dp",
    "data_parallel_size": "dp",
    "gpu_count": "gpu_count",
    "num_gpus": "gpu_count",
    "n_gpus": "gpu_count",
    "gpu": "gpu",
    "gpu_name": "gpu",
    "gpu_type": "gpu",
    "hardware": "gpu",
    "accelerator": "gpu",
    "vllm_version": "engine_version",
    "engine_version": "engine_version",
    "quantization": "weights",
    "kv_cache_dtype": "kv_cache",
}


def is_serve_record(record: Mapping[str, Any]) -> bool:
    """Whether an object has the keys of a serving result in milliseconds."""
    timed = any(key.endswith("_ttft_ms") for key in record)
    generic = "request_throughput" in record and "tokenizer_id" in record and any(key.endswith("_ms") for key in record)
    return timed or generic


def base_run(record: Mapping[str, Any]) -> Run:
    """Model, load, counts and rates, which all variants write alike."""
    run = Run(kind="serving")
    put_text(run, "model", record.get("model_id"), "model_id")
    put_engine(run, record.get("backend") or record.get("endpoint_type"), "backend")
    put_text(run, "date", record.get("date"), "date")
    put_text(run, "label", record.get("label"), "label")
    put_load(run, record)
    put_all(run, record, RATES)
    for key, field in METADATA.items():
        if record.get(key) not in (None, "", "None"):
            run.put(field, record[key], key)
    put_lengths(run, record, "total_input_tokens", "total_output_tokens")
    put_failures(run, record)
    derive_rates(run, integer(record.get("total_input_tokens")), integer(record.get("total_output_tokens")))
    return run


def put_failures(run: Run, record: Mapping[str, Any]) -> None:
    """Failed requests: stated, else non-empty error texts, else requested less completed."""
    errors = [error for error in as_list(record.get("errors")) if error]
    asked = integer(record.get("num_prompts"))
    if "failed" in record:
        run.put("failed", record["failed"], "failed", "requests")
    elif errors:
        run.put("failed", len(errors), "errors", "requests")
    elif asked is not None and run.completed is not None and asked >= run.completed:
        run.put("failed", asked - run.completed, "num_prompts - completed", "requests")
    if asked is not None and run.completed is not None and run.completed > asked:
        run.warnings.append(f"{run.completed} completed of only {asked} requests")


def serve_run(record: dict[str, Any]) -> Run | Refusal:
    """One result object as a run; none completed means nothing was measured."""
    run = base_run(record)
    if run.completed == 0:
        return Refusal(f"no request completed ({run.failed or 'all'} failed): the zeros in it are no measurement")
    put_all(run, record, latency_table(METRICS))
    put_percentiles(run, record, METRICS)
    _check_spread(run, record)
    if record.get("rtfx") and not run.output_tokens_per_s:
        run.notes.append("speech recognition run: rtfx is the speed against real time")
    return run


def _check_spread(run: Run, record: Mapping[str, Any]) -> None:
    """No spread at all over many requests is no measurement of many requests."""
    for metric in METRICS:
        if record.get(f"std_{metric}_ms") == 0 and (run.completed or 0) > 1 and record.get(f"mean_{metric}_ms"):
            run.warnings.append(f"std_{metric}_ms is 0 over {run.completed} requests: a copied or constant value")


class VllmServe:
    """One or several concatenated result objects."""

    format = "vllm-bench-serve"

    def score(self, document: Document) -> float:
        return 0.8 if is_serve_record(document.first) else 0.0

    def parse(self, document: Document) -> ParseResult:
        known = [record for record in document.records if is_serve_record(record)]
        runs, refusals = each(known, serve_run)
        return ParseResult(runs, refusals)


class VllmSweep(VllmServe):
    """`vllm bench sweep serve`: run=N.json, or summary.json with a list of them. Swept server arguments stand
    beside the results.
    """

    format = "vllm-bench-sweep"

    def score(self, document: Document) -> float:
        return 0.85 if is_serve_record(document.first) and "run_number" in document.first else 0.0


class SecondsLookalike:
    """A rewrite of the benchmark whose keys lack "_ms" because its times are in seconds."""

    format = "inferencex-decode-slo"

    def score(self, document: Document) -> float:
        keys = document.first
        return 0.8 if "tokenizer_id" in keys and any(f"median_{metric}" in keys for metric in METRICS) else 0.0

    def parse(self, document: Document) -> ParseResult:
        runs, refusals = each([record for record in document.records if "tokenizer_id" in record], seconds_run)
        return ParseResult(runs, refusals, ["times without _ms are in seconds"])


def seconds_run(record: dict[str, Any]) -> Run | Refusal:
    """As serve_run, in seconds."""
    run = base_run(record)
    if run.completed == 0:
        return Refusal("no request completed: the zeros in it are no measurement")
    put_all(run, record, latency_table(METRICS, "s", ""))
    put_percentiles(run, record, METRICS, "s", "")
    return run
