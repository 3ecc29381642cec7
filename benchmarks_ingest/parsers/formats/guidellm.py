"""GuideLLM of all versions: JSON and YAML, CSV (one or three header rows) and console tables.

Only successful requests count. inter_token_latency_ms is (E2E - TTFT) / (n - 1): TPOT here. Its own time_per_output_token_ms is E2E / n, TTFT
included, and is never read as TPOT. request_latency is in seconds.
"""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from ..canonical import Run
from ..decode import Document
from ..protocol import ParseResult, Refusal
from ..values import median, number, percentile
from .common import as_dict, as_list, put_percentile, put_text

LATENCIES = {"time_to_first_token_ms": ("ttft", "ms"), "inter_token_latency_ms": ("tpot", "ms"), "request_latency": ("e2e", "s")}
MEANS = {
    "requests_per_second": ("requests_per_s", "req/s"),
    "request_concurrency": ("concurrency_achieved", "requests"),
    "prompt_token_count": ("input_tokens", "tokens"),
    "output_token_count": ("output_tokens", "tokens"),
    "output_tokens_per_second": ("output_tokens_per_s", "tok/s"),
    "tokens_per_second": ("total_tokens_per_s", "tok/s"),
}
PERCENTS = {"p001": "0.1", "p01": "1", "p05": "5", "p10": "10", "p25": "25", "p50": "50", "p75": "75", "p90": "90", "p95": "95", "p99": "99", "p999": "99.9"}
LIST_PERCENTS = ("min", "0.1", "1", "5", "10", "25", "75", "90", "95", "99", "max")
TPOT_NOTE = "inter_token_latency_ms is (E2E - TTFT) / (n - 1): read as TPOT; the tool's time_per_output_token_ms includes TTFT and is not"


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
    _check_total(run)
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
        run.notes.append(f"{outside:.0f} requests were made, {inside:.0f} lie inside the measuring window (warm-up and cool-down left out)")


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


def _check_total(run: Run) -> None:
    """The mean of the total-token rate distribution is thrown off by prompts that arrive in one instant."""
    if not (run.output_tokens_per_s and run.total_tokens_per_s and run.input_tokens and run.output_tokens):
        return
    expected = run.output_tokens_per_s * (run.input_tokens + run.output_tokens) / run.output_tokens
    if abs(run.total_tokens_per_s / expected - 1) > 0.1:
        run.warnings.append(f"tokens_per_second.mean {run.total_tokens_per_s:.6g} is a skewed rate distribution; {expected:.6g} follows from the output rate")
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
        (result.runs if isinstance(outcome, Run) else result.refusals).append(outcome)  # type: ignore[arg-type]
    return result


def _points(report: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        item
        for item in as_list(report.get("benchmarks"))
        if isinstance(item, dict) and isinstance(item.get("metrics"), dict) and item.keys() & {"run_stats", "config", "scheduler_metrics", "args", "type_", "run_id"}
    ]


class GuidellmFirst:
    """0.1: raw results of single requests, gathered here."""

    format = "guidellm-0.1"

    def score(self, document: Document) -> float:
        return 0.9 if any("results" in as_dict(item) and "concurrencies" in as_dict(item) for item in as_list(document.first.get("benchmarks"))) else 0.0

    def parse(self, document: Document) -> ParseResult:
        result = ParseResult()
        for benchmark in map(as_dict, as_list(document.first.get("benchmarks"))):
            outcome = raw_run(benchmark)
            (result.runs if isinstance(outcome, Run) else result.refusals).append(outcome)  # type: ignore[arg-type]
        return result


def raw_run(benchmark: dict[str, Any]) -> Run | Refusal:
    """Means and percentiles over the single results of a benchmark; times in seconds."""
    results = [item for item in map(as_dict, as_list(benchmark.get("results"))) if number(item.get("output_token_count"))]
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
            run.derive("output_tokens_per_s", run.output_tokens * len(results) / (max(ends) - min(starts)), "output tokens / duration")
    series = {"e2e": [], "ttft": [], "tpot": []}  # type: dict[str, list[float]]
    for item in results:
        total, first, count = (number(item.get(key)) for key in ("request_latency", "first_token_time", "output_token_count"))
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


GROUPED = {
    ("request latency", "sec"): ("e2e", "s"),
    ("time to first token", "ms"): ("ttft", "ms"),
    ("inter token latency", "ms"): ("tpot", "ms"),
}
GROUPED_MEANS = {
    ("server throughput", "requests/sec"): ("requests_per_s", "req/s"),
    ("server throughput", "concurrency"): ("concurrency_achieved", "requests"),
    ("token metrics", "input tokens"): ("input_tokens", "tokens"),
    ("token metrics", "output tokens"): ("output_tokens", "tokens"),
    ("token throughput", "output tokens/sec"): ("output_tokens_per_s", "tok/s"),
    ("token throughput", "total tokens/sec"): ("total_tokens_per_s", "tok/s"),
}


class GuidellmCsv:
    """benchmarks.csv: one header row up to 0.3 ("Successful Requests per second mean"), three (group, field, unit) from 0.4 on."""

    format = "guidellm-csv"

    def score(self, document: Document) -> float:
        if document.is_json or not document.tables:
            return 0.0
        header = document.tables[0].header
        flat = "Successful Requests" in header and any(cell.startswith("Successful Request") and cell.endswith(" mean") for cell in header)
        return 0.92 if flat or (header[:1] == ["Run Info"] and "Timings" in header) else 0.0

    def parse(self, document: Document) -> ParseResult:
        table = document.tables[0]
        result = ParseResult()
        grouped = table.header[0] == "Run Info"
        for row in table.rows[2:] if grouped else table.rows:
            outcome = grouped_run(list(zip(table.header, *table.rows[:2], row, strict=False))) if grouped else flat_run(dict(zip(table.header, row, strict=False)))
            (result.runs if isinstance(outcome, Run) else result.refusals).append(outcome)  # type: ignore[arg-type]
        return result


def flat_run(row: dict[str, str]) -> Run | Refusal:
    """One row under a single header row."""
    run = Run(kind="serving")
    put_text(run, "label", row.get("Name"), "Name")
    put_text(run, "date", row.get("Start Time"), "Start Time")
    run.put("completed", row.get("Successful Requests"), "Successful Requests", "requests")
    run.put("failed", row.get("Errored Requests"), "Errored Requests", "requests")
    run.put("duration_s", row.get("Duration"), "Duration", "s")
    if run.completed == 0:
        return Refusal(f"{run.label or 'row'}: no request succeeded")
    for name, (metric, unit) in LATENCIES.items():
        base = f"Successful {name.replace('_', ' ').capitalize()}"
        run.put(f"{metric}_mean_s", row.get(f"{base} mean"), f"{base} mean", unit)
        run.put(f"{metric}_p50_s", row.get(f"{base} median"), f"{base} median", unit)
        _put_list(run, metric, next((value for key, value in row.items() if key.startswith(f"{base} [")), ""), base, unit)
    for name, (field, unit) in MEANS.items():
        base = f"Successful {name.replace('_', ' ').capitalize()} mean"
        run.put(field, row.get(base), base, unit)
    _finish_csv(run, row.get("Backend", ""), row.get("Profile", ""))
    return run


def _finish_csv(run: Run, *texts: str) -> None:
    for content in texts:
        match = re.search(r'"(?:model|backend_model)":\s*"([^"]+)"', content or "")
        if match and run.model is None:
            put_text(run, "model", match[1], "Backend.model")
    if run.label == "synchronous":
        run.put("concurrency", 1, "strategy synchronous", "requests")
    _check_total(run)
    run.notes.append(TPOT_NOTE)


def _put_list(run: Run, metric: str, cell: str, source: str, unit: str) -> None:
    """A cell such as "[min, p0.1, p1, …, p99, max]"."""
    try:
        values = json.loads(cell.replace("None", "null"))
    except (ValueError, RecursionError):
        return
    for percent, value in zip(LIST_PERCENTS, as_list(values), strict=False):
        if percent not in {"min", "max", "0.1", "1"}:
            put_percentile(run, metric, percent, value, f"{source} percentiles", unit)


def grouped_run(columns: list[tuple[str, ...]]) -> Run | Refusal:
    """One row under three header rows: (group, field, unit, value) for each column."""
    run = Run(kind="serving")
    texts = {(group.lower(), field.lower()): value for group, field, _, value in columns}
    put_text(run, "label", texts.get(("benchmark", "strategy")), "Benchmark.Strategy")
    put_text(run, "date", texts.get(("timings", "start time")), "Timings.Start Time")
    run.put("completed", texts.get(("request counts", "successful")), "Request Counts.Successful", "requests")
    run.put("failed", texts.get(("request counts", "errored")), "Request Counts.Errored", "requests")
    run.put("duration_s", texts.get(("timings", "duration")), "Timings.Duration", "s")
    if run.completed == 0:
        return Refusal(f"{run.label or 'row'}: no request succeeded")
    for group, field, stat, value in columns:
        if field.lower().startswith("successful "):
            _put_column(run, (group.lower(), field.lower().removeprefix("successful ")), stat, value, f"{group}.{field}.{stat}")
    _finish_csv(run, texts.get(("run info", "backend"), ""))
    return run


def _put_column(run: Run, key: tuple[str, str], stat: str, value: str, source: str) -> None:
    if key in GROUPED:
        metric, unit = GROUPED[key]
        if stat in {"Mean", "Median"}:
            run.put(f"{metric}_{'mean' if stat == 'Mean' else 'p50'}_s", value, source, unit)
        elif stat == "Percentiles":
            _put_list(run, metric, value, source, unit)
    elif key in GROUPED_MEANS and stat == "Mean":
        run.put(GROUPED_MEANS[key][0], value, source, GROUPED_MEANS[key][1])


CONSOLE_FIELDS = {
    ("ttft", "mdn"): ("ttft_p50_s", "ms"), ("ttft", "median"): ("ttft_p50_s", "ms"), ("ttft", "mean"): ("ttft_mean_s", "ms"),
    ("ttft", "p99"): ("ttft_p99_s", "ms"), ("ttft", "p95"): ("ttft_p95_s", "ms"),
    ("itl", "mdn"): ("tpot_p50_s", "ms"), ("itl", "median"): ("tpot_p50_s", "ms"), ("itl", "mean"): ("tpot_mean_s", "ms"),
    ("itl", "p99"): ("tpot_p99_s", "ms"), ("itl", "p95"): ("tpot_p95_s", "ms"),
    ("latency", "mdn"): ("e2e_p50_s", "s"), ("latency", "median"): ("e2e_p50_s", "s"), ("latency", "mean"): ("e2e_mean_s", "s"),
    ("latency", "p99"): ("e2e_p99_s", "s"), ("latency", "p95"): ("e2e_p95_s", "s"),
}  # fmt: skip
_STRATEGY = re.compile(r"^\|?\s*((?:synchronous|throughput|concurrent|constant|poisson|async)(?:@[\d.]+)?)\s*\|")


class GuidellmConsole:
    """Console tables, printed with several header lines whose cells span columns."""

    format = "guidellm-console"

    def score(self, document: Document) -> float:
        if document.is_json:
            return 0.0
        text = document.text
        if re.search(r"Request Latency Statistics|Benchmarks? (?:Stats|Info|Metadata):|Run Summary Info", text) and re.search(r"TTFT|Requests Made|Benchmark", text):
            return 0.85
        return 0.4 if "guidellm" in text.lower() and re.search(r"command not found|guidellm benchmark|GuideLLM", text) else 0.0

    def parse(self, document: Document) -> ParseResult:
        rows: dict[str, Run] = {}
        for strategy, cells in console_cells(document.lines):
            run = rows.setdefault(strategy, Run(kind="serving", label=strategy))
            _put_cells(run, cells)
        runs = [_console_finish(run, document.text) for run in rows.values() if run.has_result()]
        if not runs:
            missing = "guidellm: command not found" in document.text
            return ParseResult.refused("the benchmark never ran: guidellm was not found" if missing else "a GuideLLM log without any result table")
        return ParseResult(runs, notes=["read from console tables: figures are rounded"])


def console_cells(lines: list[str]) -> Iterator[tuple[str, list[tuple[tuple[str, ...], str]]]]:
    """(strategy, [(header path of a column, cell), …]) for each data row of each table."""
    headers: list[list[str]] = []
    for line in lines:
        if "|" not in line or re.match(r"^[\s|]*[=\-|+]{5,}\s*$", line):
            if re.match(r"^[\s|]*={5,}[\s=|]*$", line) and not headers:
                headers = []
            elif "|" not in line:
                headers = []
            continue
        cells = [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]
        match = _STRATEGY.match(line.strip())
        if match:
            yield match[1], list(zip(_paths(headers, len(cells)), cells, strict=False))
        else:
            headers = [*headers[-2:], _filled(cells)] if not _is_first_header(cells) else [_filled(cells)]


def _is_first_header(cells: list[str]) -> bool:
    return cells[0] in {"Benchmark", "Metadata"} and "" in cells


def _filled(cells: list[str]) -> list[str]:
    """Empty cells repeat the one to their left: a header that spans columns."""
    filled: list[str] = []
    for cell in cells:
        filled.append(cell or (filled[-1] if filled else ""))
    return filled


def _paths(headers: list[list[str]], width: int) -> list[tuple[str, ...]]:
    padded = [row + [row[-1] if row else ""] * (width - len(row)) for row in headers]
    return [tuple(row[index].lower() for row in padded) for index in range(width)]


def _put_cells(run: Run, cells: list[tuple[tuple[str, ...], str]]) -> None:
    for path, cell in cells:
        joined = " ".join(path)
        stat = path[-1] if path else ""
        for (word, wanted), (field, unit) in CONSOLE_FIELDS.items():
            if stat == wanted and (word in path[0].split() or word in joined.split()) and not (word == "latency" and "request latency" not in joined and "req latency" not in joined):
                run.put(field, cell, joined, unit)
        _put_console_rates(run, path, joined, stat, cell)


def _put_console_rates(run: Run, path: tuple[str, ...], joined: str, stat: str, cell: str) -> None:
    first = path[0] if path else ""
    per_second = path[1:2] == ("per sec",)
    if stat == "mean" and first == "requests" and per_second or joined.endswith("per second") and "request stats" in joined:
        run.put("requests_per_s", cell, joined, "req/s")
    elif stat == "mean" and "concurrency" in joined or stat == "concurrency":
        run.put("concurrency_achieved", cell, joined, "requests")
    elif stat == "mean" and first == "output tokens" and per_second and run.output_tokens_per_s is None or joined.startswith("out tok/sec"):
        run.put("output_tokens_per_s", cell, joined, "tok/s")
    elif stat == "mean" and first == "total tokens" and per_second or joined.startswith("tot tok/sec"):
        run.put("total_tokens_per_s", cell, joined, "tok/s")
    elif "input tok per req" in joined and stat == "mdn" or "prompt tok/req" in joined and stat == "comp":
        run.put("input_tokens", cell, joined, "tokens")
    elif "output tok per req" in joined and stat == "mdn" or "output tok/req" in joined and stat == "comp":
        run.put("output_tokens", cell, joined, "tokens")
    elif "dur" in path[1:2] or stat.startswith("duration"):
        run.put("duration_s", cell, joined, "s")
    elif "requests made" in first and stat in {"comp", "err"}:
        run.put("completed" if stat == "comp" else "failed", cell, joined, "requests")


def _console_finish(run: Run, text: str) -> Run:
    model = re.search(r"backend validated with model (\S+)|'model': '([^']+)'|\"model\": \"([^\"]+)\"", text)
    if model:
        put_text(run, "model", model[1] or model[2] or model[3], "backend validated with model")
    kind, _, rate = (run.label or "").partition("@")
    if kind == "synchronous":
        run.put("concurrency", 1, "strategy synchronous", "requests")
    elif rate:
        run.put("concurrency" if kind == "concurrent" else "request_rate_per_s", rate, "strategy", "req/s")
    run.notes.append(TPOT_NOTE)
    return run
