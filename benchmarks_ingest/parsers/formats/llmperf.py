"""ray llmperf: summary and individual files, and what people derive from them.

Its inter_token_latency is the sum of all gaps, the first included, over the output tokens: end-to-end / n. It is
neither TPOT nor ITL, so TPOT is
computed from (end-to-end - TTFT) / (output tokens - 1).
"""

from collections.abc import Mapping
from typing import Any

from ..canonical import Run
from ..decode import Document
from ..protocol import ParseResult, Refusal
from ..values import median, number, percentile
from .common import put_percentile, put_text

PREFIX = "results_"
LATENCIES = {"ttft_s": "ttft", "end_to_end_latency_s": "e2e"}
ITL_NOTE = (
    "inter_token_latency_s of this tool is end-to-end / output tokens, TTFT included; TPOT is computed without it"
)
ERROR_TOO_SHORT = -100


def summary_run(record: Mapping[str, Any]) -> Run | Refusal:
    """One summary object."""
    run = Run(kind="serving")
    put_text(run, "model", record.get("model"), "model")
    run.put("concurrency", record.get("num_concurrent_requests"), "num_concurrent_requests", "requests")
    run.put("completed", record.get("results_num_completed_requests"), "results_num_completed_requests", "requests")
    run.put("failed", record.get("results_number_errors"), "results_number_errors", "requests")
    if run.completed == 0:
        return Refusal(f"no request completed ({run.failed or 'all'} errors)")
    for name, metric in LATENCIES.items():
        base = f"{PREFIX}{name}"
        run.put(f"{metric}_mean_s", record.get(f"{base}_mean"), f"{base}_mean", "s")
        for percent in ("50", "75", "90", "95", "99"):
            put_percentile(
                run, metric, percent, record.get(f"{base}_quantiles_p{percent}"), f"{base}_quantiles_p{percent}", "s"
            )
    for field, name in (("input_tokens", "number_input_tokens"), ("output_tokens", "number_output_tokens")):
        run.put(field, record.get(f"{PREFIX}{name}_mean"), f"{PREFIX}{name}_mean", "tokens")
    _put_rates(run, record)
    _put_tpot(run)
    codes = record.get("results_error_code_frequency")
    if run.failed and codes not in (None, "{}"):
        run.warnings.append(f"errors by code: {str(codes)[:80]}; they are left out of the latencies")
    return run


def _put_rates(run: Run, record: Mapping[str, Any]) -> None:
    run.put(
        "output_tokens_per_s",
        record.get("results_mean_output_throughput_token_per_s"),
        "results_mean_output_throughput_token_per_s",
        "tok/s",
    )
    run.put(
        "requests_per_s",
        record.get("results_num_completed_requests_per_min"),
        "results_num_completed_requests_per_min",
        "req/min",
    )
    if run.requests_per_s and run.output_tokens and run.output_tokens_per_s is None:
        run.derive("output_tokens_per_s", run.requests_per_s * run.output_tokens, "requests/s x output tokens")
    if run.requests_per_s and run.input_tokens and run.output_tokens_per_s:
        run.derive(
            "total_tokens_per_s",
            run.requests_per_s * run.input_tokens + run.output_tokens_per_s,
            "requests/s x input tokens + output tokens/s",
        )


def _put_tpot(run: Run) -> None:
    if run.e2e_mean_s and run.ttft_mean_s and run.output_tokens and run.output_tokens > 1:
        run.derive(
            "tpot_mean_s",
            (run.e2e_mean_s - run.ttft_mean_s) / (run.output_tokens - 1),
            "(E2E - TTFT) / (output tokens - 1)",
        )
    run.notes.append(ITL_NOTE)


def short_run(record: Mapping[str, Any]) -> Run | Refusal:
    """A derived short summary: means only."""
    run = Run(kind="serving")
    run.put("concurrency", record.get("concurrency"), "concurrency", "requests")
    run.put("input_tokens", record.get("input_token_length"), "input_token_length", "tokens")
    run.put("output_tokens", record.get("output_token_length"), "output_token_length", "tokens")
    run.put("ttft_mean_s", record.get("first-time-to-token_mean_in_ms"), "first-time-to-token_mean_in_ms", "ms")
    run.put("output_tokens_per_s", record.get("throughput_token_per_s"), "throughput_token_per_s", "tok/s")
    run.notes.append(f"latency_ms_per_token {record.get('latency_ms_per_token')} includes TTFT and is not used as TPOT")
    return run


def _is_summary(record: Any) -> bool:
    return isinstance(record, dict) and any(key.startswith("results_ttft_s") for key in record)


def _is_short(record: Any) -> bool:
    return isinstance(record, dict) and "first-time-to-token_mean_in_ms" in record


def _summaries(document: Document) -> list[Any]:
    """Summaries at the top, or under keys such as "1", "2", "4" (concurrency)."""
    nested = [value for record in document.records for value in record.values() if isinstance(value, dict)]
    return [record for record in [*document.records, *nested] if _is_summary(record) or _is_short(record)]


class LlmperfSummary:
    """*_summary.json, alone or keyed by concurrency."""

    format = "llmperf-summary"

    def score(self, document: Document) -> float:
        first = document.first
        values = list(first.values())[:3]
        return 0.9 if any(_is_summary(item) or _is_short(item) for item in [first, *values]) else 0.0

    def parse(self, document: Document) -> ParseResult:
        result = ParseResult()
        for record in _summaries(document):
            outcome = summary_run(record) if _is_summary(record) else short_run(record)
            result.add(outcome)
        return result


class LlmperfIndividual:
    """*_individual_responses.json: one record a request, gathered into one run."""

    format = "llmperf-individual"

    def score(self, document: Document) -> float:
        return 0.9 if {"ttft_s", "end_to_end_latency_s"} <= document.first.keys() else 0.0

    def parse(self, document: Document) -> ParseResult:
        records = [record for record in document.records if "ttft_s" in record]
        good = [record for record in records if _succeeded(record)]
        if not good:
            return ParseResult.refused(f"none of {len(records)} requests succeeded")
        return ParseResult([individual_run(good, len(records) - len(good))])


def _succeeded(record: dict[str, Any]) -> bool:
    """Without an error, or only shorter than asked; a failed request has ttft_s 0."""
    clean = record.get("error_code") in (None, 0, "", ERROR_TOO_SHORT)
    return clean and bool(number(record.get("ttft_s"))) and bool(number(record.get("end_to_end_latency_s")))


def individual_run(records: list[dict[str, Any]], failed: int) -> Run:
    """Means and percentiles over the successful requests; without start times there is no rate."""
    run = Run(kind="serving")
    run.put("completed", len(records), "records without error", "requests")
    run.put("failed", failed, "records with error", "requests")
    for name, metric in LATENCIES.items():
        values = [value for record in records if (value := number(record.get(name)))]
        run.put(f"{metric}_mean_s", sum(values) / len(values), f"mean of {name}", "s")
        run.put(f"{metric}_p50_s", median(values), f"median of {name}", "s")
        run.put(f"{metric}_p99_s", percentile(values, 99), f"p99 of {name}", "s")
    for field, name in (("input_tokens", "number_input_tokens"), ("output_tokens", "number_output_tokens")):
        counts = [value for record in records if (value := number(record.get(name)))]
        if counts:
            run.put(field, sum(counts) / len(counts), f"mean of {name}", "tokens")
    tpots = [value for record in records if (value := _tpot(record)) is not None]
    if tpots:
        run.put("tpot_mean_s", sum(tpots) / len(tpots), "mean of (E2E - TTFT) / (output tokens - 1)", "s")
        run.put("tpot_p50_s", median(tpots), "median of (E2E - TTFT) / (output tokens - 1)", "s")
    short = sum(record.get("error_code") == ERROR_TOO_SHORT for record in records)
    if short:
        run.warnings.append(f"{short} answers were shorter than asked (code -100)")
    run.notes.append(ITL_NOTE)
    return run


def _tpot(record: dict[str, Any]) -> float | None:
    total, first, count = (
        number(record.get(key)) for key in ("end_to_end_latency_s", "ttft_s", "number_output_tokens")
    )
    if not total or not first or not count or count <= 1 or total <= first:
        return None
    return (total - first) / (count - 1)
