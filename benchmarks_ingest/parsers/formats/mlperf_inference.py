"""MLPerf inference: loadgen summaries and details (times in ns, output tokens of the whole system) and the
published result tables.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from ..canonical import Run
from ..decode import Document
from ..protocol import ParseResult, Refusal
from ..values import integer, number
from .common import as_dict, put_percentile, put_text

LLM = re.compile(r"(?i)llama|gpt|mixtral|mistral|deepseek|qwen|gemma|falcon|phi-|opt-\d")
SUMMARY = {
    "completed tokens per second": ("output_tokens_per_s", "tok/s"),
    "tokens per second": ("output_tokens_per_s", "tok/s"),
    "completed samples per second": ("requests_per_s", "req/s"),
    "samples per second": ("requests_per_s", "req/s"),
    "completed tokens per second (inferred)": ("output_tokens_per_s", "tok/s"),
    "tokens per second (inferred)": ("output_tokens_per_s", "tok/s"),
    "mean latency (ns)": ("e2e_mean_s", "ns"),
    "mean first token latency (ns)": ("ttft_mean_s", "ns"),
    "mean time to output token (ns)": ("tpot_mean_s", "ns"),
    "scheduled samples per second": ("request_rate_per_s", "req/s"),
}
_PERCENTILE = re.compile(r"(\d{1,2}(?:\.\d+)?) percentile (latency|first token latency|time to output token) \(ns\)")
METRICS = {"latency": "e2e", "first token latency": "ttft", "time to output token": "tpot"}


class MlperfSummary:
    """mlperf_log_summary.txt."""

    format = "mlperf-inference-summary"

    def score(self, document: Document) -> float:
        if document.is_json:
            return 0.0
        if re.search(r"^MLPerf Results Summary", document.head, re.MULTILINE):
            return 0.95
        accuracy = "No errors encountered during test" in document.head or "See detailed log" in document.head
        return 0.6 if accuracy and len(document.text) < 2000 else 0.0

    def parse(self, document: Document) -> ParseResult:
        values = summary_values(document.text)
        mode, valid = values.get("mode", ""), values.get("result is", "")
        if "scenario" not in values or "accuracy" in mode.lower():
            return ParseResult.refused("an accuracy run: it measures no performance")
        if valid.upper() != "VALID":
            return ParseResult.refused(f"the log says its result is {valid or 'not stated'}: {_failed(values)}")
        run = summary_run(values)
        if not run.has_result():
            return ParseResult.refused("no throughput and no latency in this summary")
        return ParseResult([run])


def _failed(values: Mapping[str, str]) -> str:
    wrong = [key for key, value in values.items() if key.endswith("satisfied") and value.upper().startswith("NO")]
    return ", ".join(f"{key}: NO" for key in wrong) or "a constraint was not met"


def summary_values(text: str) -> dict[str, str]:
    """key : value lines; the first of two equal keys stays."""
    values: dict[str, str] = {}
    for line in text.split("\n"):
        key, colon, value = line[:300].partition(":")
        if colon and value.strip():
            values.setdefault(" ".join(key.lower().split()), value.strip())
    return values


def summary_run(values: Mapping[str, str]) -> Run:
    """A valid performance run."""
    scenario = values["scenario"]
    run = Run(kind="offline" if scenario == "Offline" else "serving")
    put_text(run, "label", scenario, "Scenario")
    for key, (field, unit) in SUMMARY.items():
        if key in values and getattr(run, field) is None:
            run.put(field, values[key], key, unit)
            if "(inferred)" in key:
                run.warnings.append("tokens per second are inferred: samples x an assumed answer length")
    if scenario == "Offline":
        run.request_rate_per_s = None
    for key, value in values.items():
        match = _PERCENTILE.fullmatch(key)
        if match:
            put_percentile(run, METRICS[match[2]], f"{float(match[1]):g}", value, key, "ns")
    _put_lengths(run)
    run.notes.append("output tokens of the whole system; a Server scenario may be Interactive with tighter limits")
    return run


def _put_lengths(run: Run) -> None:
    if run.output_tokens_per_s and run.requests_per_s:
        run.derive(
            "output_tokens", run.output_tokens_per_s / run.requests_per_s, "tokens per second / samples per second"
        )


DETAIL = {
    "result_completed_tokens_per_second": ("output_tokens_per_s", "tok/s"),
    "result_tokens_per_second": ("output_tokens_per_s", "tok/s"),
    "result_inferred_completed_tokens_per_second": ("output_tokens_per_s", "tok/s"),
    "result_inferred_tokens_per_second": ("output_tokens_per_s", "tok/s"),
    "result_completed_samples_per_sec": ("requests_per_s", "req/s"),
    "result_samples_per_second": ("requests_per_s", "req/s"),
    "result_scheduled_samples_per_sec": ("request_rate_per_s", "req/s"),
    "result_mean_latency_ns": ("e2e_mean_s", "ns"),
    "result_first_token_mean_latency_ns": ("ttft_mean_s", "ns"),
    "result_time_to_output_token_mean": ("tpot_mean_s", "ns"),
    "result_query_count": ("completed", "requests"),
    "generated_query_duration": ("duration_s", "ns"),
}
_DETAIL_PERCENTILE = re.compile(
    r"result_(first_token_|time_per_output_token_|)(\d{1,2}\.\d+)_percentile_(?:latency_)?ns"
)
DETAIL_METRICS = {"": "e2e", "first_token_": "ttft", "time_per_output_token_": "tpot"}


class MlperfDetail:
    """mlperf_log_detail.txt: :::MLLOG lines of the loadgen."""

    format = "mlperf-inference-detail"

    def score(self, document: Document) -> float:
        return (
            0.95
            if not document.is_json and ":::MLLOG" in document.head and '"loadgen_version"' in document.head
            else 0.0
        )

    def parse(self, document: Document) -> ParseResult:
        values = mllog_values(document.text)
        mode = str(values.get("effective_test_mode") or values.get("requested_test_mode") or "")
        if "Accuracy" in mode and "Performance" not in mode:
            return ParseResult.refused("an accuracy run: it measures no performance")
        validity = values.get("result_validity")
        if validity != "VALID":
            return ParseResult.refused(
                f"the log says its result is {validity or 'not stated: the log breaks off before its end'}"
            )
        return ParseResult([detail_run(values)])


def mllog_values(text: str) -> dict[str, Any]:
    """The last value of each key of the :::MLLOG lines."""
    values: dict[str, Any] = {}
    for line in text.split("\n"):
        _, mark, body = line.partition(":::MLLOG ")
        if not mark:
            continue
        try:
            entry = json.loads(body)
        except (ValueError, RecursionError):
            continue
        if isinstance(entry, dict) and isinstance(entry.get("key"), str):
            values[entry["key"]] = entry.get("value")
    return values


def detail_run(values: Mapping[str, Any]) -> Run:
    """A valid performance run from its detail log."""
    scenario = str(values.get("effective_scenario") or values.get("requested_scenario") or "")
    run = Run(kind="offline" if scenario == "Offline" else "serving")
    put_text(run, "label", scenario, "effective_scenario")
    put_text(run, "date", values.get("test_datetime"), "test_datetime")
    for key, (field, unit) in DETAIL.items():
        if key in values and getattr(run, field) is None:
            run.put(field, values[key], key, unit)
    run.put("failed", values.get("num_errors"), "num_errors", "requests")
    if scenario == "Offline":
        run.completed = integer(values.get("generated_samples_per_query")) or run.completed
        run.duration_s = None
    for key, value in values.items():
        match = _DETAIL_PERCENTILE.fullmatch(key)
        if match:
            put_percentile(run, DETAIL_METRICS[match[1]], f"{float(match[2]):g}", value, key, "ns")
    _put_lengths(run)
    run.duration_s = None  # the time in which queries were issued, not the time until the last answer
    run.notes.append("result_token_throughput of this log is in tokens per ns and is not read")
    return run


class MlperfResultsJson:
    """MLCommons summary_results.json: one object a published result."""

    format = "mlperf-summary-results"

    def score(self, document: Document) -> float:
        return 0.95 if {"Performance_Result", "Performance_Units"} <= document.first.keys() else 0.0

    def parse(self, document: Document) -> ParseResult:
        return _rows(document.records)


class MlperfTable:
    """summary.csv of the submission checker, its JSON twin, and results tables."""

    format = "mlperf-summary-table"

    def score(self, document: Document) -> float:
        if document.is_json:
            return (
                0.9
                if any(
                    "MlperfModel" in as_dict(value) for value in [document.first, *list(document.first.values())[:2]]
                )
                else 0.0
            )
        return 0.95 if "mlperfmodel" in document.header else 0.0

    def parse(self, document: Document) -> ParseResult:
        if document.is_json:
            rows = [
                item
                for record in document.records
                for item in ([record] if "MlperfModel" in record else record.values())
                if isinstance(item, dict)
            ]
        else:
            rows = [dict(row) for table in document.tables for row in table.records()]
        return _rows(rows) if rows else ParseResult.refused("a header without any result row")


def _rows(rows: list[dict[str, Any]]) -> ParseResult:
    result = ParseResult()
    skipped: dict[str, int] = {}
    for row in rows:
        outcome = table_run(row)
        if isinstance(outcome, Run):
            result.runs.append(outcome)
        else:
            skipped[outcome] = skipped.get(outcome, 0) + 1
    result.refusals = [Refusal(f"{count} row(s): {reason}") for reason, count in skipped.items()]
    return result


def table_run(row: Mapping[str, Any]) -> Run | str:
    """One row, or why it is left out."""
    model = str(row.get("Model") or row.get("MlperfModel") or "")
    benchmark = str(row.get("MlperfModel") or row.get("UsedModel") or model)
    units = str(row.get("Performance_Units") or row.get("Units") or "")
    value = row.get("Performance_Result", row.get("Result"))
    if not LLM.search(model) and not LLM.search(benchmark):
        return "not a language model"
    if number(row.get("errors")):
        return "the submission checker found errors"
    run = Run(kind="offline" if row.get("Scenario") == "Offline" else "serving")
    if units.lower().startswith("tokens/s"):
        run.put("output_tokens_per_s", value, "Result", "tok/s")
    elif units.lower().startswith(("samples/s", "queries/s")):
        run.put("requests_per_s", value, "Result", "req/s")
    elif "latency" in units.lower():
        return f"a latency result ({units}), not a rate"
    if not run.has_result():
        return f"no rate in a known unit ({units or 'none'})"
    _put_system(run, row, model)
    return run


def _put_system(run: Run, row: Mapping[str, Any], model: str) -> None:
    put_text(run, "model", model, "Model")
    put_text(run, "label", row.get("Scenario"), "Scenario")
    put_text(run, "weights", row.get("weight_data_types"), "weight_data_types")
    put_text(run, "engine", row.get("framework") or row.get("Software"), "framework")
    accelerator = str(row.get("accelerator_model_name") or row.get("Accelerator") or "")
    counted = re.search(r"\s*\(x\s*(\d+)\)\s*$", accelerator)
    put_text(run, "gpu", accelerator[: counted.start()] if counted else accelerator, "accelerator")
    nodes = integer(row.get("number_of_nodes") or row.get("Nodes")) or 1
    per_node = integer(row.get("accelerators_per_node") or row.get("a#")) or 0
    total = integer(row.get("Total Accelerators")) or nodes * per_node
    run.put("gpu_count", int(counted[1]) if counted else total, "accelerators", "")
    if counted and total and int(counted[1]) != total:
        run.warnings.append(
            f"the accelerator's name says x{counted[1]}, the row counts {total} accelerators: per-GPU figures differ"
        )
    platform = re.match(r"(\d+)x", str(row.get("Platform") or ""))
    if platform and run.gpu_count and int(platform[1]) != run.gpu_count and not counted:
        run.warnings.append(
            f"the platform {row.get('Platform')} suggests {platform[1]} accelerators, the row counts {run.gpu_count}"
        )
    length = re.search(r"TOKENS_PER_SAMPLE: ([\d.]+)", str(row.get("Accuracy") or ""))
    if length:
        run.put("output_tokens", length[1], "Accuracy TOKENS_PER_SAMPLE", "tokens")
    if str(row.get("inferred")) in {"1", "1.0"} and run.output_tokens_per_s:
        run.notes.append("the row is marked inferred: its rate was derived from another scenario or from samples")
