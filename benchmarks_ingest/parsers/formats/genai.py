"""genai-perf and its successor aiperf: JSON, CSV and console tables.

Their inter_token_latency is (request latency - TTFT) / (output length - 1), so it is TPOT here; aiperf's
inter_chunk_latency is ITL.
"""

import re
import shlex
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from ..canonical import Run
from ..decode import Document
from ..protocol import ParseResult, Refusal
from ..tables import Table
from ..values import UNIT_SCALE, number
from .common import as_dict, as_list, derive_rates, put_percentile, put_text

LATENCIES = {
    "time_to_first_token": "ttft",
    "inter_token_latency": "tpot",
    "inter_chunk_latency": "itl",
    "request_latency": "e2e",
}
SINGLE = {
    "request_throughput": ("requests_per_s", "req/s"),
    "output_token_throughput": ("output_tokens_per_s", "tok/s"),
    "total_token_throughput": ("total_tokens_per_s", "tok/s"),
    "request_count": ("completed", "requests"),
    "error_request_count": ("failed", "requests"),
    "benchmark_duration": ("duration_s", "s"),
    "output_sequence_length": ("output_tokens", "tokens"),
    "input_sequence_length": ("input_tokens", "tokens"),
}
ALIASES = {
    "num_output_token": "output_sequence_length",
    "num_input_token": "input_sequence_length",
    "output_token_throughput_per_request": "",
    "total_isl": "total_input_sequence_length",
    "total_osl": "total_output_sequence_length",
}


def metric_name(label: str) -> tuple[str, str]:
    """ "Time to First Token (ms)" as ("time_to_first_token", "ms")."""
    match = re.fullmatch(r"(.*?)\s*(?:\(([^)]*)\))?", label.strip(" │┃|"))
    name = re.sub(r"[^a-z0-9]+", "_", (match[1] if match else label).lower()).strip("_")
    return ALIASES.get(name, name), (match[2] or "" if match else "")


def put_metric(run: Run, name: str, unit: str, stats: dict[str, Any]) -> None:
    """One metric with its statistics: avg, p50 … of a latency, avg of a rate."""
    unit = {"sec": "s", "seconds": "s", "milliseconds": "ms"}.get(unit, unit)
    if name in LATENCIES:
        for stat, value in stats.items():
            if stat in {"avg", "mean"}:
                run.put(f"{LATENCIES[name]}_mean_s", value, f"{name}.{stat}", unit if unit in UNIT_SCALE else "ms")
            elif re.fullmatch(r"p\d{1,2}(\.\d+)?", stat):
                put_percentile(
                    run, LATENCIES[name], stat[1:], value, f"{name}.{stat}", unit if unit in UNIT_SCALE else "ms"
                )
    elif name in SINGLE:
        field, own_unit = SINGLE[name]
        run.put(
            field,
            stats.get("avg", stats.get("value")),
            f"{name}.avg",
            unit if field == "duration_s" and unit in UNIT_SCALE else own_unit,
        )


def finish(run: Run, input_total: float | None = None, output_total: float | None = None) -> Run | Refusal:
    """Derived rates; no completed request is no measurement."""
    if run.completed == 0 or not run.has_result():
        return Refusal("no request succeeded: nothing was measured")
    derive_rates(run, input_total, output_total)
    if run.tpot_mean_s:
        run.notes.append("inter token latency of this tool is (latency - TTFT) / (output tokens - 1): TPOT")
    return run


class AiperfJson:
    """profile_export_aiperf.json."""

    format = "aiperf"

    def score(self, document: Document) -> float:
        first = document.first
        marks = first.keys() & {"aiperf_version", "was_cancelled", "telemetry_data", "error_summary", "run_info"}
        return 0.92 if _is_export(first) and marks else 0.0

    def parse(self, document: Document) -> ParseResult:
        return _sorted(export_run(record) for record in document.records if _is_export(record))


class AiperfSweep:
    """profile_export_aiperf_sweep.json: the metrics of each combination of swept parameters."""

    format = "aiperf-sweep"

    def score(self, document: Document) -> float:
        return 0.95 if isinstance(document.first.get("per_combination_metrics"), list) else 0.0

    def parse(self, document: Document) -> ParseResult:
        points = [as_dict(point) for point in document.first["per_combination_metrics"]]
        return _sorted(
            export_run({**as_dict(point.get("metrics")), "input_config": as_dict(point.get("parameters"))})
            for point in points
        )


class GenaiPerfJson:
    """profile_export_genai_perf.json."""

    format = "genai-perf"

    def score(self, document: Document) -> float:
        return 0.9 if _is_export(document.first) else 0.0

    def parse(self, document: Document) -> ParseResult:
        return _sorted(export_run(record) for record in document.records if _is_export(record))


def _is_export(record: dict[str, Any]) -> bool:
    return any(
        isinstance(record.get(key), dict) and "avg" in record[key]
        for key in ("request_throughput", "request_latency", "time_to_first_token")
    ) and ("input_config" in record or "request_throughput" in record)


def _sorted(outcomes: Any) -> ParseResult:
    result = ParseResult()
    for outcome in outcomes:
        result.add(outcome)
    return result


def export_run(record: dict[str, Any]) -> Run | Refusal:
    """One JSON export."""
    run = Run(kind="serving")
    for name, stats in record.items():
        if isinstance(stats, dict) and "unit" in stats:
            put_metric(run, name, str(stats.get("unit") or ""), stats)
    _put_errors(run, record)
    put_config(run, as_dict(record.get("input_config")), str(as_dict(record.get("run_info")).get("cli_command") or ""))
    put_telemetry(run, as_dict(record.get("telemetry_data")))
    put_text(run, "date", record.get("start_time"), "start_time")
    put_text(run, "label", record.get("benchmark_id"), "benchmark_id")
    if record.get("was_cancelled"):
        run.warnings.append("the benchmark was cancelled before its end")
    totals = [number(as_dict(record.get(key)).get("avg")) for key in ("total_isl", "total_osl")]
    return finish(run, *totals)


def _put_errors(run: Run, record: dict[str, Any]) -> None:
    errors = sum(int(number(as_dict(item).get("count")) or 0) for item in as_list(record.get("error_summary")))
    if run.failed is None and ("error_summary" in record or "error_request_count" in record):
        run.put("failed", errors, "error_summary", "requests")


def put_config(run: Run, config: dict[str, Any], command: str) -> None:
    """Model and load from input_config (three layouts) or the command line it quotes."""
    endpoint, load = as_dict(config.get("endpoint")), as_dict(config.get("loadgen"))
    models = as_list(endpoint.get("model_names")) or as_list(config.get("model_names")) or _items(config.get("models"))
    put_text(run, "model", next(iter(models), config.get("model")), "input_config.model")
    phases = [
        as_dict(phase) for phase in as_list(config.get("phases")) if not as_dict(phase).get("exclude_from_results")
    ]
    stimulus = as_dict(as_dict(config.get("perf_analyzer")).get("stimulus"))
    for source in (load, config, stimulus, *phases):
        if run.concurrency is None and "concurrency" in source:
            run.put("concurrency", source["concurrency"], "input_config.concurrency", "requests")
        if run.request_rate_per_s is None and "request_rate" in source:
            run.put("request_rate_per_s", source["request_rate"], "input_config.request_rate", "req/s")
    put_command(run, command or str(config.get("cli_command") or ""))


def _items(models: Any) -> list[Any]:
    return [as_dict(item).get("name") for item in as_list(as_dict(models).get("items"))] or as_list(models)


def put_command(run: Run, command: str) -> None:
    """What only the command line says."""
    try:
        words = shlex.split(command[:20_000])
    except ValueError:
        return
    options = {word: following for word, following in pairwise(words) if word.startswith("-")}
    if run.model is None:
        put_text(run, "model", options.get("--model") or options.get("-m"), "cli_command --model")
    for field, option in (("concurrency", "--concurrency"), ("request_rate_per_s", "--request-rate")):
        if getattr(run, field) is None and re.fullmatch(
            r"\d+(?:\.\d+)?", options.get(option, "")
        ):  # no list of a sweep
            run.put(field, options[option], f"cli_command {option}")


def put_telemetry(run: Run, telemetry: dict[str, Any]) -> None:
    """GPU names, where the server's own monitor answered; they may include GPUs that the server did not use."""
    gpus = {
        (host, key): str(as_dict(gpu).get("gpu_name") or "")
        for host, end in as_dict(telemetry.get("endpoints")).items()
        for key, gpu in as_dict(as_dict(end).get("gpus")).items()
    }
    names = {name for name in gpus.values() if name}
    if len(names) == 1:
        run.put("gpu", names.pop(), "telemetry_data.gpu_name")
        run.notes.append(f"the monitor saw {len(gpus)} such GPU(s); how many served the model is not stated")
    elif names:
        run.warnings.append(f"the monitor saw different GPUs: {', '.join(sorted(names))}")


class AiperfCsv:
    """The CSV export: a table of statistics, a table of single values, and GPU telemetry, stacked."""

    format = "aiperf-csv"

    def score(self, document: Document) -> float:
        header = document.header[:3]
        return 0.9 if header[:2] == ["metric", "avg"] and not _is_genai(document) else 0.0

    def parse(self, document: Document) -> ParseResult:
        return _sorted([csv_run(document)])


class GenaiPerfCsv:
    """genai-perf's CSV, with thousands separators inside quotes."""

    format = "genai-perf-csv"

    def score(self, document: Document) -> float:
        return 0.9 if document.header[:2] == ["metric", "avg"] and _is_genai(document) else 0.0

    def parse(self, document: Document) -> ParseResult:
        return _sorted([csv_run(document)])


def _is_genai(document: Document) -> bool:
    """aiperf has many more metrics, and counts of errors."""
    return "aiperf" not in document.basename.lower() and not re.search(
        r"(?i)^\"?(Benchmark Duration|Inter Chunk|HTTP |Error Request|Total Token)", document.head, re.MULTILINE
    )


def csv_run(document: Document) -> Run | Refusal:
    """Both tables of a CSV export."""
    run = Run(kind="serving")
    totals: dict[str, float | None] = {}
    for label, stats in _csv_metrics(document.tables):
        name, unit = metric_name(label)
        put_metric(run, name, unit, stats)
        totals[name] = number(stats.get("value"))
    return finish(run, totals.get("total_input_sequence_length"), totals.get("total_output_sequence_length"))


def _csv_metrics(tables: list[Table]) -> Iterator[tuple[str, dict[str, Any]]]:
    for table in tables:
        header = [cell.strip().lower() for cell in table.header]
        if header[:1] != ["metric"]:
            continue
        for row in table.rows:
            cells = dict(zip(header, row, strict=False))
            yield cells.pop("metric"), cells


_BOX = re.compile(r"[│┃|]")


class GenaiConsole:
    """The console table "LLM Metrics" of either tool; 24.06 printed nanoseconds."""

    format = "genai-perf-console"

    def score(self, document: Document) -> float:
        if document.is_json:
            return 0.0
        if re.search(r"[┃│|]\s*Statistic\s*[┃│|]\s*avg\s*[┃│|]", document.text) or re.search(
            r"[┃│|]\s*Metric\s*[┃│|]\s*avg\s*[┃│|]", document.text
        ):
            return 0.9
        return 0.3 if "GenAI-Perf" in document.head and "Time to First Token" in document.head else 0.0

    def parse(self, document: Document) -> ParseResult:
        result = _sorted(console_run(block) for block in _console_blocks(document.lines))
        if not result.runs and not result.refusals:
            return ParseResult.refused("text about GenAI-Perf without a table of results")
        return result


def _console_blocks(lines: list[str]) -> Iterator[list[list[str]]]:
    """The cell rows of each table, header first; wrapped labels are joined to the row below."""
    block: list[list[str]] = []
    for line in lines:
        cells = [cell.strip() for cell in _BOX.split(line.strip())]
        cells = cells[1:-1] if len(cells) > 2 else []
        if cells and cells[0] in {"Statistic", "Metric"} and "avg" in cells:
            if block:
                yield block
            block = [cells]
        elif block and len(cells) == len(block[0]):
            block.append(cells)
        elif block and re.match(r"\s*[└╰]", line):
            yield block
            block = []
    if block:
        yield block


def console_run(block: list[list[str]]) -> Run | Refusal:
    """One console table."""
    run = Run(kind="serving")
    header = [cell.lower() for cell in block[0]]
    carried = ""
    for row in block[1:]:
        label = f"{carried} {row[0]}".strip()
        if not any(row[1:]):
            carried = label
            continue
        carried = ""
        name, unit = metric_name(label)
        put_metric(run, name, unit, dict(zip(header[1:], row[1:], strict=False)))
    return finish(run)


class AiperfPerRequest:
    """profile_export.jsonl: one record a request; the aggregated export beside it is the result."""

    format = "aiperf-per-request"

    def score(self, document: Document) -> float:
        first = document.first
        return (
            0.85
            if {"metadata", "metrics"} <= first.keys()
            and isinstance(as_dict(first["metrics"]).get("request_latency"), dict)
            else 0.0
        )

    def parse(self, document: Document) -> ParseResult:
        return ParseResult.refused(
            "single requests of an aiperf run: upload the aggregated profile_export_aiperf.json beside it"
        )
