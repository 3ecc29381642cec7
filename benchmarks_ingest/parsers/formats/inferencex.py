"""InferenceX (InferenceMAX): aggregated JSON and the CSV that its site exports.

tput_per_gpu is (input + output) tokens over all GPUs. The site's columns say "(ms)" while some exports hold seconds,
which is found out from interactivity = 1 / TPOT.
"""

from collections.abc import Mapping
from typing import Any

from ..canonical import Run
from ..decode import Document
from ..protocol import ParseResult, Refusal
from ..values import integer, number
from .common import put_percentiles, put_text, whole

METRICS = {"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2el": "e2e"}
COLUMNS = {"TTFT": "ttft", "TPOT": "tpot", "ITL": "itl", "E2E Latency": "e2e"}
TRUE = {"true", "1", "yes"}


def gpu_total(prefill: Any, decode: Any, tp: Any, pp: Any, disaggregated: bool) -> int | None:
    """Prefill and decode GPUs of a split deployment, else tp x pp."""
    if disaggregated:
        parts = [whole(prefill), whole(decode)]
        return sum(part for part in parts if part) or None
    return (whole(tp) or 0) * (whole(pp) or 1) or None


def put_rates(run: Run, total: Any, output: Any, decode_gpus: int | None, names: tuple[str, str]) -> None:
    """System rates from rates per GPU; a split deployment divides its output by the decode GPUs only."""
    per_gpu, output_per_gpu = number(total), number(output)
    if per_gpu and run.gpu_count:
        run.put("total_tokens_per_s", per_gpu * run.gpu_count, f"{names[0]} x {run.gpu_count} GPUs", "tok/s")
    divisor = decode_gpus or run.gpu_count
    if output_per_gpu and divisor:
        run.put("output_tokens_per_s", output_per_gpu * divisor, f"{names[1]} x {divisor} GPUs", "tok/s")


def aggregated_run(record: dict[str, Any]) -> Run | Refusal:
    """One agg_*.json object; times without _ms are in seconds."""
    run = Run(kind="serving")
    for field, key in (
        ("model", "model"),
        ("engine", "framework"),
        ("weights", "precision"),
        ("gpu", "hw"),
        ("engine_version", "image"),
    ):
        put_text(run, field, record.get(key), key)
    for field, key in (
        ("tp", "tp"),
        ("pp", "pp"),
        ("ep", "ep"),
        ("concurrency", "conc"),
        ("input_tokens", "isl"),
        ("output_tokens", "osl"),
    ):
        run.put(field, record.get(key), key)
    split = str(record.get("disagg", "false")).lower() in TRUE
    run.put(
        "gpu_count",
        gpu_total(
            record.get("num_prefill_gpu"), record.get("num_decode_gpu"), record.get("tp"), record.get("pp"), split
        ),
        "GPUs of the layout",
    )
    put_rates(
        run,
        record.get("tput_per_gpu"),
        record.get("output_tput_per_gpu"),
        whole(record.get("num_decode_gpu")) if split else None,
        ("tput_per_gpu", "output_tput_per_gpu"),
    )
    unit, suffix = ("ms", "_ms") if "mean_ttft_ms" in record else ("s", "")
    for source, metric in METRICS.items():
        run.put(f"{metric}_mean_s", record.get(f"mean_{source}{suffix}"), f"mean_{source}{suffix}", unit)
        run.put(f"{metric}_p50_s", record.get(f"median_{source}{suffix}"), f"median_{source}{suffix}", unit)
    put_percentiles(run, record, METRICS, unit, suffix)
    run.notes.append("tput_per_gpu is (input + output) tokens per GPU; times without _ms are in seconds")
    return run if run.has_result() else Refusal("no measured figure")


class InferencexJson:
    """Aggregated JSON."""

    format = "inferencex"

    def score(self, document: Document) -> float:
        return 0.95 if "tput_per_gpu" in document.first and document.first.keys() & {"hw", "conc"} else 0.0

    def parse(self, document: Document) -> ParseResult:
        result = ParseResult()
        for record in document.records:
            outcome = aggregated_run(record)
            result.add(outcome)
        return result


class InferencexTable:
    """The site's CSV, with licence lines in front."""

    format = "inferencex-table"

    def score(self, document: Document) -> float:
        return (
            0.95
            if not document.is_json and {"hardware key", "throughput/gpu (tok/s)", "isl"} <= set(document.header)
            else 0.0
        )

    def parse(self, document: Document) -> ParseResult:
        table = document.tables[0]
        runs = [table_run(row) for row in table.records()]
        result = ParseResult(
            [run for run in runs if run.has_result()],
            notes=["rates are per GPU in this table and were multiplied by the GPUs of the layout"],
        )
        if table.bad_rows:
            result.refusals.append(Refusal(f"{table.bad_rows} row(s) have another number of columns than the header"))
        return result


def table_run(row: Mapping[str, str]) -> Run:
    """One row of the site's table."""
    run = Run(kind="serving")
    for field, key in (
        ("model", "Model"),
        ("engine", "Framework"),
        ("weights", "Precision"),
        ("gpu", "Hardware"),
        ("date", "Date"),
    ):
        put_text(run, field, row.get(key), key)
    for field, key in (
        ("tp", "TP"),
        ("ep", "EP"),
        ("concurrency", "Concurrency"),
        ("input_tokens", "ISL"),
        ("output_tokens", "OSL"),
    ):
        run.put(field, row.get(key), key)
    split = str(row.get("Disaggregated", "")).lower() in TRUE
    run.put(
        "gpu_count",
        gpu_total(row.get("Num Prefill GPUs"), row.get("Num Decode GPUs"), row.get("TP"), 1, split),
        "GPUs of the layout",
    )
    put_rates(
        run,
        row.get("Throughput/GPU (tok/s)"),
        row.get("Output Throughput/GPU (tok/s)"),
        whole(row.get("Num Decode GPUs")) if split else None,
        ("Throughput/GPU (tok/s)", "Output Throughput/GPU (tok/s)"),
    )
    unit = time_unit(row)
    for label, metric in COLUMNS.items():
        for stat, suffix in (("Mean", "mean"), ("Median", "p50"), ("P99", "p99")):
            run.put(f"{metric}_{suffix}_s", row.get(f"{stat} {label} (ms)"), f"{stat} {label} (ms)", unit)
    if unit == "s":
        run.warnings.append("columns labelled (ms) hold seconds: interactivity is 1 / TPOT only if TPOT is in seconds")
    spec = text_of(row.get("Spec Decoding"))
    if spec:
        run.notes.append(f"speculative decoding: {spec}")
    return run


def text_of(value: str | None) -> str | None:
    """A cell that says something."""
    return value if value and value.lower() not in {"none", "false", "-"} else None


def time_unit(row: Mapping[str, str]) -> str:
    """ms as labelled, unless interactivity x TPOT is 1 (seconds), or a whole request would take less time than its
    tokens.
    """
    for stat in ("Median", "Mean"):
        tpot, rate = number(row.get(f"{stat} TPOT (ms)")), number(row.get(f"{stat} Interactivity (tok/s/user)"))
        if tpot and rate:
            return "s" if abs(tpot * rate - 1) < 0.2 else "ms"
    tpot, latency, length = (
        number(row.get("Mean TPOT (ms)")),
        number(row.get("Mean E2E Latency (ms)")),
        integer(row.get("OSL")),
    )
    rate, concurrency = number(row.get("Output Throughput/GPU (tok/s)")), number(row.get("Concurrency"))
    if tpot and latency and length and rate and concurrency:
        tokens_per_user = rate * (integer(row.get("TP")) or 1) / concurrency
        return "s" if tpot * tokens_per_user < 3 else "ms"
    return "ms"
