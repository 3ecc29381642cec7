"""Tools whose keys carry their own units: EvalScope, OpenVINO llm_bench, fw-ai/benchmark, llm-optimizer, HF
inference-benchmarker, ollama.
"""

import re
from collections.abc import Mapping
from typing import Any

from ..canonical import Run
from ..decode import Document
from ..protocol import ParseResult, Refusal
from ..values import median, number, seconds
from .common import as_dict, as_list, derive_rates, put_all, put_text
from .sglang import serving_run

EVALSCOPE = {
    "Test Duration (s)": ("duration_s", "s"),
    "Time taken for tests (s)": ("duration_s", "s"),
    "Concurrency": ("concurrency", "requests"),
    "Number of concurrency": ("concurrency", "requests"),
    "Request Rate (req/s)": ("request_rate_per_s", "req/s"),
    "Request rate (req/s)": ("request_rate_per_s", "req/s"),
    "Success Requests": ("completed", "requests"),
    "Succeed requests": ("completed", "requests"),
    "Failed Requests": ("failed", "requests"),
    "Failed requests": ("failed", "requests"),
    "Req Throughput (req/s)": ("requests_per_s", "req/s"),
    "Request throughput (req/s)": ("requests_per_s", "req/s"),
    "Output Throughput (tok/s)": ("output_tokens_per_s", "tok/s"),
    "Output token throughput (tok/s)": ("output_tokens_per_s", "tok/s"),
    "Total Throughput (tok/s)": ("total_tokens_per_s", "tok/s"),
    "Total token throughput (tok/s)": ("total_tokens_per_s", "tok/s"),
    "Avg Latency (s)": ("e2e_mean_s", "s"),
    "Average latency (s)": ("e2e_mean_s", "s"),
    "TTFT (ms)": ("ttft_mean_s", "ms"),
    "Avg TTFT (ms)": ("ttft_mean_s", "ms"),
    "Average time to first token (s)": ("ttft_mean_s", "s"),
    "TPOT (ms)": ("tpot_mean_s", "ms"),
    "Avg TPOT (ms)": ("tpot_mean_s", "ms"),
    "Average time per output token (s)": ("tpot_mean_s", "s"),
    "ITL (ms)": ("itl_mean_s", "ms"),
    "Avg ITL (ms)": ("itl_mean_s", "ms"),
    "Average inter-token latency (s)": ("itl_mean_s", "s"),
    "Avg Input Tokens": ("input_tokens", "tokens"),
    "Average input tokens per request": ("input_tokens", "tokens"),
    "Avg Output Tokens": ("output_tokens", "tokens"),
    "Average output tokens per request": ("output_tokens", "tokens"),
}


class Evalscope:
    """benchmark_summary.json; milliseconds and seconds stand side by side, each key says which."""

    format = "evalscope-perf"

    def score(self, document: Document) -> float:
        return 0.9 if len(document.first.keys() & EVALSCOPE.keys()) >= 5 else 0.0

    def parse(self, document: Document) -> ParseResult:
        run = Run(kind="serving")
        put_all(run, document.first, EVALSCOPE)
        return ParseResult([run]) if run.completed != 0 else ParseResult.refused("no request succeeded")


class EvalscopePercentiles:
    """benchmark_percentile.json: rows of percentiles, without the load they belong to."""

    format = "evalscope-percentiles"

    def score(self, document: Document) -> float:
        return (
            0.9
            if "Percentiles" in document.first and any("(ms)" in key or "(s)" in key for key in document.first)
            else 0.0
        )

    def parse(self, document: Document) -> ParseResult:
        return ParseResult.refused("percentiles without their load: upload benchmark_summary.json beside it")


class OpenvinoBench:
    """llm_bench: perfdata.results, times in ms; iteration 0 is warm-up; -1 and "" mean missing."""

    format = "openvino-llm-bench"

    def score(self, document: Document) -> float:
        return 0.9 if isinstance(as_dict(document.first.get("perfdata")).get("results"), list) else 0.0

    def parse(self, document: Document) -> ParseResult:
        rows = [as_dict(row) for row in as_list(as_dict(document.first["perfdata"])["results"])]
        kept = [row for row in rows if (number(row.get("iteration")) or 0) > 0]
        if not kept:
            return ParseResult.refused("only the warm-up iteration was measured")
        run = Run(kind="static_batch", engine="openvino")
        put_text(run, "model", as_dict(document.first.get("metadata")).get("model"), "metadata.model")
        for field, unit, names in (
            ("ttft_mean_s", "ms", ("first_latency", "first_token_latency")),
            ("tpot_mean_s", "ms", ("second_avg_latency", "other_tokens_avg_latency", "latency")),
            ("input_tokens", "tokens", ("input_size",)),
            ("output_tokens", "tokens", ("output_size", "infer_count")),
            ("e2e_mean_s", "s", ("generation_time",)),
        ):
            name = next((name for name in names if any(number(row.get(name)) for row in kept)), None)
            if name:
                run.put(
                    field,
                    median([value for row in kept if (value := number(row.get(name))) and value > 0] or [0.0]),
                    f"median of {name}",
                    unit,
                )
        run.notes.append(
            "iteration 0 is warm-up and was dropped; the tool's throughput counts the batch in some "
            "versions and is not read"
        )
        return ParseResult([run])


FIREWORKS = {
    "provider": ("engine", ""),
    "model": ("model", ""),
    "prompt tokens": ("input_tokens", "tokens"),
    "generation tokens": ("output_tokens", "tokens"),
    "time to first token": ("ttft_mean_s", "ms"),
    "latency per token": ("tpot_mean_s", "ms"),
    "total latency": ("e2e_mean_s", "ms"),
    "qps": ("requests_per_s", "req/s"),
    "num requests": ("completed", "requests"),
    "p50 time to first token": ("ttft_p50_s", "ms"),
    "p99 time to first token": ("ttft_p99_s", "ms"),
    "concurrency": ("concurrency", "requests"),
}


class FireworksCsv:
    """fw-ai/benchmark --summary-file: times in ms; concurrency may be words ("QPS 2 constant")."""

    format = "fireworks-benchmark-csv"

    def score(self, document: Document) -> float:
        return 0.9 if {"time to first token", "latency per token", "qps"} <= set(document.header) else 0.0

    def parse(self, document: Document) -> ParseResult:
        runs = []
        for row in document.tables[0].records():
            run = Run(kind="serving")
            put_all(run, {key.lower(): value for key, value in row.items()}, FIREWORKS)
            if run.has_result():
                runs.append(run)
        return ParseResult(runs) if runs else ParseResult.refused("no row with a measured figure")


class LocustStats:
    """Plain locust statistics: latencies of requests, nothing about tokens."""

    format = "locust-stats"

    def score(self, document: Document) -> float:
        return 0.9 if {"request count", "average response time", "requests/s"} <= set(document.header) else 0.0

    def parse(self, document: Document) -> ParseResult:
        rows = [{key.lower(): value for key, value in row.items()} for row in document.tables[0].records()]
        total = next((row for row in rows if row.get("name") == "Aggregated"), rows[-1] if rows else {})
        run = Run(kind="serving")
        count, failures = number(total.get("request count")), number(total.get("failure count")) or 0
        run.put("completed", count - failures if count else None, "Request Count - Failure Count", "requests")
        run.put("failed", failures, "Failure Count", "requests")
        run.put("requests_per_s", total.get("requests/s"), "Requests/s", "req/s")
        for field, key in (
            ("e2e_mean_s", "average response time"),
            ("e2e_p50_s", "median response time"),
            ("e2e_p99_s", "99%"),
            ("e2e_p95_s", "95%"),
        ):
            run.put(field, total.get(key), key, "ms")
        run.notes.append("request latencies only: the tool counts no tokens")
        return ParseResult([run]) if run.completed else ParseResult.refused("no request succeeded")


class K6Summary:
    """k6 --summary-export: latencies of requests, nothing about tokens."""

    format = "k6-summary"

    def score(self, document: Document) -> float:
        return 0.9 if "http_req_duration" in as_dict(document.first.get("metrics")) else 0.0

    def parse(self, document: Document) -> ParseResult:
        metrics = as_dict(document.first["metrics"])
        run = Run(kind="serving")
        duration, requests = _k6(metrics, "http_req_duration"), _k6(metrics, "http_reqs")
        for field, key in (("e2e_mean_s", "avg"), ("e2e_p50_s", "med"), ("e2e_p90_s", "p(90)"), ("e2e_p95_s", "p(95)")):
            run.put(field, duration.get(key), f"http_req_duration.{key}", "ms")
        run.put("completed", requests.get("count"), "http_reqs.count", "requests")
        run.put("requests_per_s", requests.get("rate"), "http_reqs.rate", "req/s")
        run.notes.append("request latencies only: the tool counts no tokens")
        return ParseResult([run])


def _k6(metrics: Mapping[str, Any], name: str) -> dict[str, Any]:
    metric = as_dict(metrics.get(name))
    return as_dict(metric.get("values")) or metric


class LlmOptimizer:
    """bentoml llm-optimizer: config.client_args beside SGLang-like results."""

    format = "llm-optimizer"

    def score(self, document: Document) -> float:
        first = document.first
        return 0.9 if "client_args" in as_dict(first.get("config")) and "results" in first else 0.0

    def parse(self, document: Document) -> ParseResult:
        result = ParseResult()
        for record in document.records:
            outcome = serving_run(
                {**as_dict(as_dict(record.get("config")).get("client_args")), **as_dict(record.get("results"))}
            )
            result.add(outcome)
        return result


class HfInferenceBenchmarker:
    """Hugging Face inference-benchmarker: config and a list of results, times in ms."""

    format = "hf-inference-benchmarker"

    def score(self, document: Document) -> float:
        rows = as_list(document.first.get("results"))
        return 0.9 if rows and {"id", "executor_type"} <= as_dict(rows[0]).keys() else 0.0

    def parse(self, document: Document) -> ParseResult:
        result = ParseResult()
        for row in map(as_dict, as_list(document.first["results"])):
            outcome = benchmarker_run(row, as_dict(document.first.get("config")))
            result.add(outcome)
        return result


BENCHMARKER = {
    "successful_requests": ("completed", "requests"),
    "failed_requests": ("failed", "requests"),
    "request_rate": ("requests_per_s", "req/s"),
    "token_throughput_secs": ("output_tokens_per_s", "tok/s"),
    "duration_ms": ("duration_s", "ms"),
}
BENCHMARKER_TIMES = {"time_to_first_token_ms": "ttft", "inter_token_latency_ms": "tpot", "e2e_latency_ms": "e2e"}


def benchmarker_run(row: Mapping[str, Any], config: Mapping[str, Any]) -> Run | Refusal:
    """One load level; its inter-token latency is (E2E - TTFT) / (tokens - 1)."""
    if row.get("id") == "warmup":
        return Refusal("warm-up phase")
    run = Run(kind="serving")
    put_text(run, "model", config.get("model_name"), "config.model_name")
    put_text(run, "label", row.get("id"), "id")
    put_all(run, row, BENCHMARKER)
    settings = as_dict(row.get("config"))
    run.put("request_rate_per_s", settings.get("rate"), "config.rate", "req/s")
    if row.get("executor_type") == "ConstantVUs":
        run.put("concurrency", settings.get("max_vus"), "config.max_vus", "requests")
    for name, metric in BENCHMARKER_TIMES.items():
        stats = as_dict(row.get(name))
        for field, key in (
            (f"{metric}_mean_s", "avg"),
            (f"{metric}_p50_s", "p50"),
            (f"{metric}_p90_s", "p90"),
            (f"{metric}_p99_s", "p99"),
        ):
            run.put(field, stats.get(key), f"{name}.{key}", "ms")
    if run.completed == 0:
        return Refusal(f"{run.label}: no request succeeded")
    derive_rates(run)
    return run


_OLLAMA = re.compile(
    r"^(total duration|load duration|prompt eval count|prompt eval duration|prompt eval rate"
    r"|eval count|eval duration|eval rate): +(\S+)",
    re.MULTILINE,
)


class Ollama:
    """`ollama run --verbose` and answers of its API (nanoseconds)."""

    format = "ollama-verbose"

    def score(self, document: Document) -> float:
        if document.is_json:
            return 0.9 if {"eval_count", "eval_duration"} <= document.first.keys() else 0.0
        return 0.85 if document.search(r"^eval rate: +[\d.]+ tokens/s") else 0.0

    def parse(self, document: Document) -> ParseResult:
        if document.is_json:
            records = [record for record in document.records if number(record.get("eval_duration"))]
            return ParseResult([ollama_api_run(record) for record in records])
        blocks = re.split(r"(?=^total duration:)", document.text, flags=re.MULTILINE)
        runs = [ollama_text_run(dict(_OLLAMA.findall(block))) for block in blocks if "eval rate:" in block]
        return ParseResult([run for run in runs if run.has_result()])


def ollama_text_run(values: Mapping[str, str]) -> Run:
    """One answer's figures."""
    run = Run(kind="single_stream", engine="ollama")
    run.put("concurrency", 1, "one answer", "requests")
    run.put("input_tokens", values.get("prompt eval count"), "prompt eval count", "tokens")
    run.put("output_tokens", values.get("eval count"), "eval count", "tokens")
    run.put("prefill_tokens_per_s", values.get("prompt eval rate"), "prompt eval rate", "tok/s")
    run.put("decode_tokens_per_s", values.get("eval rate"), "eval rate", "tok/s")
    run.put("e2e_mean_s", seconds(values.get("total duration")), f"total duration {values.get('total duration')}", "s")
    _check_cache(run)
    return run


def ollama_api_run(record: Mapping[str, Any]) -> Run:
    """One API answer; durations in nanoseconds."""
    run = Run(kind="single_stream", engine="ollama")
    put_text(run, "model", record.get("model"), "model")
    run.put("concurrency", 1, "one answer", "requests")
    for field, count, duration in (
        ("prefill_tokens_per_s", "prompt_eval_count", "prompt_eval_duration"),
        ("decode_tokens_per_s", "eval_count", "eval_duration"),
    ):
        tokens, spent = number(record.get(count)), number(record.get(duration))
        run.put("input_tokens" if field.startswith("prefill") else "output_tokens", tokens, count, "tokens")
        if tokens and spent:
            run.put(field, tokens / (spent * 1e-9), f"{count} / {duration}", "tok/s")
    run.put("e2e_mean_s", record.get("total_duration"), "total_duration", "ns")
    _check_cache(run)
    return run


def _check_cache(run: Run) -> None:
    if run.prefill_tokens_per_s and run.input_tokens and run.input_tokens < 32:
        run.warnings.append(
            f"a prompt of {run.input_tokens:.0f} tokens tells little about prefill speed; a cached "
            "prompt makes it absurd"
        )
