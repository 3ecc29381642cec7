"""GuideLLM of all versions: JSON and YAML, CSV (one or three header rows) and console tables.

Only successful requests count. inter_token_latency_ms is (E2E - TTFT) / (n - 1): TPOT here. Its own
time_per_output_token_ms is E2E / n, TTFT
included, and is never read as TPOT. request_latency is in seconds.
"""

from datetime import UTC, datetime
from typing import Any

from ..canonical import Run
from ..decode import Document
from ..protocol import ParseResult, Refusal
from ..values import median, number, percentile
from .common import as_dict, as_list, put_percentile, put_text

LATENCIES = {
    "time_to_first_token_ms": ("ttft", "ms"),
    "inter_token_latency_ms": ("tpot", "ms"),
    "request_latency": ("e2e", "s"),
}
MEANS = {
    "requests_per_second": ("requests_per_s", "req/s"),
    "request_concurrency": ("concurrency_achieved", "requests"),
    "prompt_token_count": ("input_tokens", "tokens"),
    "output_token_count": ("output_tokens", "tokens"),
    "output_tokens_per_second": ("output_tokens_per_s", "tok/s"),
    "tokens_per_second": ("total_tokens_per_s", "tok/s"),
}
PERCENTS = {
    "p001": "0.1",
    "p01": "1",
    "p05": "5",
    "p10": "10",
    "p25": "25",
    "p50": "50",
    "p75": "75",
    "p90": "90",
    "p95": "95",
    "p99": "99",
    "p999": "99.9",
}
TPOT_NOTE = (
    "inter_token_latency_ms is (E2E - TTFT) / (n - 1): read as TPOT; the tool's time_per_output_token_ms "
    "includes TTFT and is not"
)


def benchmark_run(benchmark: dict[str, Any], report: dict[str, Any]) -> Run | Refusal:
    """One benchmark (one point of a sweep)."""
    metrics = as_dict(benchmark.get("metrics"))
    strategy = _strategy(benchmark)
    run = Run(kind="serving")
    put_text(run, "label", strategy.get("type_"), "strategy.type_")
    _put_subject(run, benchmark, report)
    _put_counts(run, benchmark, metrics)
    if run.completed == 0:
        return Refusal(f"{run.label or 'benchmark'}: no request succeeded")
    for name, (metric, unit) in LATENCIES.items():
        _put_distribution(run, metric, _successful(metrics.get(name)), name, unit)
    for name, (field, unit) in MEANS.items():
        run.put(field, _successful(metrics.get(name)).get("mean"), f"{name}.successful.mean", unit)
    run.put("duration_s", benchmark.get("duration") or benchmark.get("run_duration"), "duration", "s")
    _put_strategy(run, strategy)
    check_total(run)
    run.notes.append(TPOT_NOTE)
    return run


def _successful(metric: Any) -> dict[str, Any]:
    return as_dict(as_dict(metric).get("successful"))


def _strategy(benchmark: dict[str, Any]) -> dict[str, Any]:
    """Where the load strategy stands: args.strategy (0.2), config.strategy (0.4+), scheduler.strategy."""
    for key in ("args", "config", "scheduler"):
        found = as_dict(as_dict(benchmark.get(key)).get("strategy"))
        if found:
            return found
    return {}


def _put_subject(run: Run, benchmark: dict[str, Any], report: dict[str, Any]) -> None:
    backend = as_dict(as_dict(benchmark.get("config")).get("backend"))
    for value, source in (
        (as_dict(report.get("args")).get("model"), "args.model"),
        (backend.get("model"), "config.backend.model"),
        (as_dict(benchmark.get("worker")).get("backend_model"), "worker.backend_model"),
        (as_dict(as_dict(benchmark.get("benchmarker")).get("backend")).get("model"), "benchmarker.backend.model"),
    ):
        if run.model is None:
            put_text(run, "model", value, source)
    start = number(benchmark.get("start_time"))
    if start and 1e9 < start < 1e10:
        run.put("date", datetime.fromtimestamp(start, UTC).isoformat(timespec="seconds"), "start_time")


def _put_counts(run: Run, benchmark: dict[str, Any], metrics: dict[str, Any]) -> None:
    """Requests inside the measuring window, warm-up and cool-down left out."""
    totals = as_dict(metrics.get("request_totals")) or as_dict(benchmark.get("request_totals"))
    made = as_dict(as_dict(benchmark.get("run_stats") or benchmark.get("scheduler_metrics")).get("requests_made"))
    source = totals or made
    run.put("completed", source.get("successful"), "request_totals.successful", "requests")
    run.put("failed", source.get("errored"), "request_totals.errored", "requests")
    inside, outside = number(totals.get("successful")), number(made.get("successful"))
    if inside and outside and inside < outside:
        run.notes.append(
            f"{outside:.0f} requests were made, {inside:.0f} lie inside the measuring window (warm-up "
            "and cool-down left out)"
        )


def _put_distribution(run: Run, metric: str, stats: dict[str, Any], name: str, unit: str) -> None:
    run.put(f"{metric}_mean_s", stats.get("mean"), f"{name}.successful.mean", unit)
    run.put(f"{metric}_p50_s", stats.get("median"), f"{name}.successful.median", unit)
    for key, value in as_dict(stats.get("percentiles")).items():
        if key in PERCENTS and PERCENTS[key] not in {"0.1", "1"}:
            put_percentile(run, metric, PERCENTS[key], value, f"{name}.successful.percentiles.{key}", unit)


def _put_strategy(run: Run, strategy: dict[str, Any]) -> None:
    kind = strategy.get("type_")
    if kind == "synchronous":
        run.put("concurrency", 1, "strategy synchronous", "requests")
    elif kind == "concurrent":
        run.put("concurrency", strategy.get("streams"), "strategy.streams", "requests")
    elif kind in {"constant", "poisson", "async"}:
        run.put("request_rate_per_s", strategy.get("rate"), "strategy.rate", "req/s")
    elif kind == "throughput":
        run.put("concurrency", strategy.get("max_concurrency"), "strategy.max_concurrency", "requests")
        run.warnings.append("saturation point (strategy throughput): its latencies are queueing")


def check_total(run: Run) -> None:
    """The mean of the total-token rate distribution is thrown off by prompts that arrive in one instant."""
    if not (run.output_tokens_per_s and run.total_tokens_per_s and run.input_tokens and run.output_tokens):
        return
    expected = run.output_tokens_per_s * (run.input_tokens + run.output_tokens) / run.output_tokens
    if abs(run.total_tokens_per_s / expected - 1) > 0.1:
        run.warnings.append(
            f"tokens_per_second.mean {run.total_tokens_per_s:.6g} is a skewed rate distribution; "
            f"{expected:.6g} follows from the output rate"
        )
        run.total_tokens_per_s = None
        run.derive("total_tokens_per_s", expected, "output tokens/s x (input + output) / output")


class GuidellmJson:
    """benchmarks.json of 0.2 and later."""

    format = "guidellm"

    def score(self, document: Document) -> float:
        return 0.9 if _points(document.first) else 0.0

    def parse(self, document: Document) -> ParseResult:
        return report_result(document.first)


def report_result(report: dict[str, Any]) -> ParseResult:
    """All points of one report."""
    result = ParseResult()
    for benchmark in _points(report):
        outcome = benchmark_run(benchmark, report)
        result.add(outcome)
    return result


def _points(report: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        item
        for item in as_list(report.get("benchmarks"))
        if isinstance(item, dict)
        and isinstance(item.get("metrics"), dict)
        and item.keys() & {"run_stats", "config", "scheduler_metrics", "args", "type_", "run_id"}
    ]


class GuidellmFirst:
    """0.1: raw results of single requests, gathered here."""

    format = "guidellm-0.1"

    def score(self, document: Document) -> float:
        return (
            0.9
            if any(
                "results" in as_dict(item) and "concurrencies" in as_dict(item)
                for item in as_list(document.first.get("benchmarks"))
            )
            else 0.0
        )

    def parse(self, document: Document) -> ParseResult:
        result = ParseResult()
        for benchmark in map(as_dict, as_list(document.first.get("benchmarks"))):
            outcome = raw_run(benchmark)
            result.add(outcome)
        return result


def raw_run(benchmark: dict[str, Any]) -> Run | Refusal:
    """Means and percentiles over the single results of a benchmark; times in seconds."""
    results = [
        item for item in map(as_dict, as_list(benchmark.get("results"))) if number(item.get("output_token_count"))
    ]
    if not results:
        return Refusal(f"{benchmark.get('mode', 'benchmark')}: no request succeeded")
    run = Run(kind="serving")
    put_text(run, "label", benchmark.get("mode"), "mode")
    run.put("request_rate_per_s", benchmark.get("rate"), "rate", "req/s")
    run.put("completed", len(results), "results", "requests")
    run.put("failed", len(as_list(benchmark.get("errors"))), "errors", "requests")
    for field, key in (("input_tokens", "prompt_token_count"), ("output_tokens", "output_token_count")):
        counts = [value for item in results if (value := number(item.get(key)))]
        if counts:
            run.put(field, sum(counts) / len(counts), f"mean of {key}", "tokens")
    _put_raw_times(run, results)
    return run


def _put_raw_times(run: Run, results: list[dict[str, Any]]) -> None:
    starts = [value for item in results if (value := number(item.get("start_time")))]
    ends = [value for item in results if (value := number(item.get("end_time")))]
    if starts and ends and max(ends) > min(starts):
        run.put("duration_s", max(ends) - min(starts), "last end_time - first start_time", "s")
        run.derive("requests_per_s", len(results) / (max(ends) - min(starts)), "requests / duration")
        if run.output_tokens:
            run.derive(
                "output_tokens_per_s",
                run.output_tokens * len(results) / (max(ends) - min(starts)),
                "output tokens / duration",
            )
    series = {"e2e": [], "ttft": [], "tpot": []}  # type: dict[str, list[float]]
    for item in results:
        total, first, count = (
            number(item.get(key)) for key in ("request_latency", "first_token_time", "output_token_count")
        )
        total = total or _span(item)
        if first is None:
            decode = number(item.get("time_to_first_token"))
            first = decode
        if total:
            series["e2e"].append(total)
        if first:
            series["ttft"].append(first)
        if total and first and count and count > 1 and total > first:
            series["tpot"].append((total - first) / (count - 1))
    for metric, values in series.items():
        if values:
            run.put(f"{metric}_mean_s", sum(values) / len(values), f"mean {metric} of results", "s")
            run.put(f"{metric}_p50_s", median(values), f"median {metric} of results", "s")
            run.put(f"{metric}_p99_s", percentile(values, 99), f"p99 {metric} of results", "s")


def _span(item: dict[str, Any]) -> float | None:
    start, end = number(item.get("start_time")), number(item.get("end_time"))
    return end - start if start and end and end > start else None
