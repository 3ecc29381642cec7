"""GuideLLM's CSV: one header row up to 0.3, three (group, field, unit) from 0.4 on."""

import json
import re

from ..canonical import Run
from ..decode import Document
from ..protocol import ParseResult, Refusal
from .common import as_list, put_percentile, put_text
from .guidellm import LATENCIES, MEANS, TPOT_NOTE, check_total

LIST_PERCENTS = ("min", "0.1", "1", "5", "10", "25", "75", "90", "95", "99", "max")
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
    """benchmarks.csv: one header row up to 0.3 ("Successful Requests per second mean"), three (group, field, unit)
    from 0.4 on.
    """

    format = "guidellm-csv"

    def score(self, document: Document) -> float:
        if document.is_json or not document.tables:
            return 0.0
        header = document.tables[0].header
        flat = "Successful Requests" in header and any(
            cell.startswith("Successful Request") and cell.endswith(" mean") for cell in header
        )
        return 0.92 if flat or (header[:1] == ["Run Info"] and "Timings" in header) else 0.0

    def parse(self, document: Document) -> ParseResult:
        table = document.tables[0]
        result = ParseResult()
        grouped = table.header[0] == "Run Info"
        for row in table.rows[2:] if grouped else table.rows:
            outcome = (
                grouped_run(list(zip(table.header, *table.rows[:2], row, strict=False)))
                if grouped
                else flat_run(dict(zip(table.header, row, strict=False)))
            )
            result.add(outcome)
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
        _put_list(
            run, metric, next((value for key, value in row.items() if key.startswith(f"{base} [")), ""), base, unit
        )
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
    check_total(run)
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
            _put_column(
                run, (group.lower(), field.lower().removeprefix("successful ")), stat, value, f"{group}.{field}.{stat}"
            )
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
