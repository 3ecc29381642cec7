"""kubernetes-sigs/inference-perf life-cycle reports, per-request lists, LMBench per-request CSV and fmperf records.
All in seconds.
"""

import re
from typing import Any

from ..canonical import Run
from ..decode import Document
from ..protocol import ParseResult, Refusal
from ..values import median, number, percentile
from .common import as_dict, put_percentile

LATENCIES = {
    "request_latency": "e2e",
    "time_to_first_token": "ttft",
    "time_per_output_token": "tpot",
    "inter_token_latency": "itl",
}
RATES = {
    "requests_per_sec": ("requests_per_s", "req/s"),
    "output_tokens_per_sec": ("output_tokens_per_s", "tok/s"),
    "total_tokens_per_sec": ("total_tokens_per_s", "tok/s"),
}


def stage_run(record: dict[str, Any]) -> Run | Refusal:
    """One stage."""
    load, success = as_dict(record.get("load_summary")), as_dict(record.get("successes"))
    run = Run(kind="serving")
    run.put("completed", success.get("count"), "successes.count", "requests")
    run.put("failed", as_dict(record.get("failures")).get("count"), "failures.count", "requests")
    if not run.completed:
        return Refusal(f"no request succeeded ({run.failed or 0} failed)")
    run.put("request_rate_per_s", load.get("requested_rate"), "load_summary.requested_rate", "req/s")
    run.put("concurrency", load.get("concurrency"), "load_summary.concurrency", "requests")
    for name, metric in LATENCIES.items():
        _put_latency(run, metric, as_dict(as_dict(success.get("latency")).get(name)), name)
    for name, (field, unit) in RATES.items():
        run.put(field, as_dict(success.get("throughput")).get(name), f"throughput.{name}", unit)
    run.put("input_tokens", as_dict(success.get("prompt_len")).get("mean"), "prompt_len.mean", "tokens")
    run.put("output_tokens", as_dict(success.get("output_len")).get("mean"), "output_len.mean", "tokens")
    _check_load(run, load)
    return run


def _put_latency(run: Run, metric: str, stats: dict[str, Any], name: str) -> None:
    run.put(f"{metric}_mean_s", stats.get("mean"), f"{name}.mean", "s")
    run.put(f"{metric}_p50_s", stats.get("median"), f"{name}.median", "s")
    for key, value in stats.items():
        match = re.fullmatch(r"p(\d{1,2}(?:\.\d+)?)", key)
        if match and float(match[1]) >= 5:
            put_percentile(run, metric, match[1], value, f"{name}.{key}", "s")


def _check_load(run: Run, load: dict[str, Any]) -> None:
    asked, achieved, delay = (
        number(load.get("requested_rate")),
        number(load.get("achieved_rate")),
        number(as_dict(load.get("schedule_delay")).get("mean")),
    )
    if asked and achieved and achieved < asked * 0.95:
        run.warnings.append(
            f"{asked:.6g} requests/s were asked, {achieved:.6g} were sent: the client could not keep up"
        )
    if delay and delay > 1:
        run.warnings.append(f"requests left {delay:.3g} s late on average: the client was saturated")


class InferencePerf:
    """stage_N_lifecycle_metrics.json; summaries over all stages mix load levels and are refused."""

    format = "inference-perf"

    def score(self, document: Document) -> float:
        return 0.9 if {"load_summary", "successes"} <= document.first.keys() else 0.0

    def parse(self, document: Document) -> ParseResult:
        if _is_prometheus(document.first):
            return ParseResult.refused(
                "server-side Prometheus averages over all stages, zeros among them: upload the stage files"
            )
        result = ParseResult()
        for record in document.records:
            outcome = stage_run(record)
            result.add(outcome)
        if "summary_" in document.basename:
            for run in result.runs:
                run.warnings.append("a summary over all stages mixes load levels: use the stage files for comparisons")
                run.request_rate_per_s = None
        return result


def _is_prometheus(record: dict[str, Any]) -> bool:
    """Prometheus summaries have no life-cycle block."""
    success = as_dict(record.get("successes"))
    return "latency" not in success and ("rate" in success or "queue_len" in success)


class InferencePerfRequests:
    """per_request_lifecycle_metrics.json: single requests."""

    format = "inference-perf-requests"

    def score(self, document: Document) -> float:
        info = as_dict(document.first.get("info"))
        return (
            0.85
            if "start_time" in document.first and ("output_tokens" in info or "output_token_times" in info)
            else 0.0
        )

    def parse(self, document: Document) -> ParseResult:
        return ParseResult.refused("single requests: upload the stage_N_lifecycle_metrics.json files beside it")


class LmbenchCsv:
    """One row a request, times in seconds; the offered rate stands only in the file name."""

    format = "lmbench-per-request"

    def score(self, document: Document) -> float:
        wanted = {"prompt_tokens", "generation_tokens", "ttft", "generation_time"}
        return 0.9 if not document.is_json and wanted <= set(document.header) else 0.0

    def parse(self, document: Document) -> ParseResult:
        rows = [{key: number(value) for key, value in row.items()} for row in document.tables[0].records()]
        good = [row for row in rows if row.get("ttft") and row.get("generation_tokens")]
        if not good:
            return ParseResult.refused("no request with a first token")
        run = per_request_run(good)
        run.put("failed", len(rows) - len(good), "rows without a first token", "requests")
        rate = re.search(r"output_(\d+(?:\.\d+)?)\.csv", document.basename)
        if rate:
            run.notes.append(f"the file name says {rate[1]} requests/s")
        return ParseResult([run])


def per_request_run(rows: list[dict[str, float | None]]) -> Run:
    """Statistics over the requests of a file."""
    run = Run(kind="serving")
    run.put("completed", len(rows), "rows", "requests")
    starts = [row["launch_time"] for row in rows if row.get("launch_time")]
    ends = [row["finish_time"] for row in rows if row.get("finish_time")]
    outputs = [row["generation_tokens"] or 0 for row in rows]
    inputs = [row.get("prompt_tokens") or 0 for row in rows]
    run.put("input_tokens", sum(inputs) / len(rows), "mean of prompt_tokens", "tokens")
    run.put("output_tokens", sum(outputs) / len(rows), "mean of generation_tokens", "tokens")
    if starts and ends:
        span = max(end for end in ends if end) - min(start for start in starts if start)
        _put_span(run, span, sum(inputs), sum(outputs))
    put_series(run, "ttft", [row["ttft"] or 0 for row in rows], "ttft")
    tpots = [
        (row["generation_time"] or 0) / (row["generation_tokens"] - 1)
        for row in rows
        if row["generation_tokens"] and row["generation_tokens"] > 1
    ]
    put_series(run, "tpot", [value for value in tpots if value > 0], "generation_time / (generation_tokens - 1)")
    spans = [end - start for row in rows if (end := row.get("finish_time")) and (start := row.get("launch_time"))]
    put_series(run, "e2e", [value for value in spans if value > 0], "finish_time - launch_time")
    return run


def _put_span(run: Run, span: float, inputs: float, outputs: float) -> None:
    if span <= 0:
        return
    run.put("duration_s", span, "last finish_time - first launch_time", "s")
    run.derive("requests_per_s", (run.completed or 0) / span, "rows / duration")
    run.derive("output_tokens_per_s", outputs / span, "generation_tokens / duration")
    run.derive("total_tokens_per_s", (inputs + outputs) / span, "all tokens / duration")


def put_series(run: Run, metric: str, values: list[float], source: str) -> None:
    """Mean, median, p90 and p99 of a list in seconds."""
    if values:
        run.put(f"{metric}_mean_s", sum(values) / len(values), f"mean of {source}", "s")
        for percent, value in (("50", median(values)), ("90", percentile(values, 90)), ("99", percentile(values, 99))):
            put_percentile(run, metric, percent, value, f"p{percent} of {source}", "s")


class Fmperf:
    """fmperf: one record a token; response 0 is the first token."""

    format = "fmperf"

    def score(self, document: Document) -> float:
        return 0.9 if {"worker_idx", "n_tokens", "duration_ms"} <= document.first.keys() else 0.0

    def parse(self, document: Document) -> ParseResult:
        kept = [record for record in document.records if "n_tokens" in record and not record.get("exclude")]
        good = [record for record in kept if record.get("ok", True) and not record.get("error")]
        if not good:
            return ParseResult.refused("no token was received without an error")
        return ParseResult([token_run(good, kept)])


def token_run(records: list[dict[str, Any]], kept: list[dict[str, Any]]) -> Run:
    """Statistics over the tokens of all requests, warm-up (exclude) left out."""
    run = Run(kind="serving")
    requests: dict[tuple[Any, Any], list[dict[str, Any]]] = {}
    for record in records:
        requests.setdefault((record.get("worker_idx"), record.get("request_idx")), []).append(record)
    run.put("concurrency", records[0].get("exp_num_users"), "exp_num_users", "requests")
    run.put("completed", len(requests), "distinct (worker_idx, request_idx)", "requests")
    run.put(
        "failed",
        len({(r.get("worker_idx"), r.get("request_idx")) for r in kept}) - len(requests),
        "requests with only errors",
        "requests",
    )
    tokens = sum(number(record.get("n_tokens")) or 0 for record in records)
    run.put("output_tokens", tokens / len(requests), "n_tokens / requests", "tokens")
    first = [
        value / 1e3
        for record in records
        if record.get("response_idx") == 0 and (value := number(record.get("duration_ms")))
    ]
    later = [
        value / 1e3 for record in records if record.get("response_idx") and (value := number(record.get("duration_ms")))
    ]
    put_series(run, "ttft", first, "duration_ms of response 0")
    put_series(run, "itl", later, "duration_ms of later responses")
    stamps = [value for record in records if (value := number(record.get("timestamp")))]
    if stamps and max(stamps) > min(stamps):
        _put_span(run, (max(stamps) - min(stamps)) / 1e9, 0, tokens)
        run.total_tokens_per_s = None
    run.notes.append("records marked exclude (warm-up) were dropped")
    return run
