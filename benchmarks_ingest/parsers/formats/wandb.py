"""Weights & Biases exports: chart CSV, runs-table CSV, wandb-summary.json and config.yaml. Only named speed metrics
are read.
"""

import re
from collections.abc import Mapping

from ..canonical import Run
from ..decode import Document
from ..protocol import ParseResult
from ..tables import Table
from ..values import number
from .steps import Step, put_steps

METRICS = (
    (
        (
            r"tokens?[_ /]?per[_ /]?sec(?:ond)?[_ /]?per[_ /]?(?:gpu|device)|tps_per_gpu|tokens/s/gpu"
            r"|throughput/device/tokens_per_sec"
        ),
        "tokens_per_s_per_gpu",
        1.0,
    ),
    (r"tokens?[_ /]?per[_ /]?sec(?:ond)?$|tokens/s(?:ec)?$|tok/sec$|(?:^|/)tps$", "tokens_per_s", 1.0),
    (
        r"tflops?[_ /]?per[_ /]?(?:gpu|device)|tflop/s/gpu|model_tflops_per_gpu|(?:^|/)tflops$|throughput/tflops",
        "tflops_per_gpu",
        1.0,
    ),
    (r"(?:^|/)mfu(?:\(%\))?$", "mfu_reported", 0.0),
    (
        r"(?:step|iter(?:ation)?)[_ -]?time(?:[_ ]?\(?s(?:ec)?\)?)?$|train_step_timing in s|seconds_per_step",
        "step_time_s",
        1.0,
    ),
    (r"(?:step|iter(?:ation)?)[_ -]?time[_ ]?\(?ms\)?$|time_per_iteration_ms|iteration-time-ms", "step_time_s", 1e-3),
    (r"samples?[_ /]?per[_ /]?sec(?:ond)?$|samples/s(?:ec)?$", "samples_per_s", 1.0),
)


def metric_of(name: str) -> tuple[str, float] | None:
    """The canonical field and factor of a metric's name; factor 0 marks a fraction or a percentage, to be told
    apart by size.
    """
    lowered = name.strip().lower()
    return next(((field, factor) for pattern, field, factor in METRICS if re.search(pattern, lowered)), None)


def convert(value: float, factor: float) -> float:
    """MFU above 1.5 is a percentage."""
    if factor == 0.0:
        return value / 100 if value > 1.5 else value
    return value * factor


class WandbChart:
    """A chart: "Step", "<run> - <metric>", …__MIN, …__MAX."""

    format = "wandb"

    def score(self, document: Document) -> float:
        if document.is_json or not document.tables:
            return 0.0
        header = document.tables[0].header
        if header[0].strip().lower() in {
            "step",
            "relative time (process)",
            "relative time (wall)",
            "wall time",
            "global_step",
        } and any(cell.endswith("__MIN") for cell in header):
            return 0.95
        return (
            0.9
            if [cell.strip() for cell in header[:2]] == ["Name", "Runtime"]
            or ({"Name", "Runtime"} <= set(header) and "State" in header)
            else 0.0
        )

    def parse(self, document: Document) -> ParseResult:
        table = document.tables[0]
        return chart(table) if any(cell.endswith("__MIN") for cell in table.header) else runs_table(table)


def chart(table: Table) -> ParseResult:
    """One run a column of a speed metric."""
    runs = []
    names = set()
    for index, cell in enumerate(table.header[1:], 1):
        if cell.endswith(("__MIN", "__MAX")):
            continue
        label, _, metric = cell.rpartition(" - ")
        names.add(metric)
        found = metric_of(metric)
        values = [value for row in table.rows if index < len(row) and (value := number(row[index]))]
        if found and values:
            run = Run(kind="training", label=label)
            steps: list[Step] = [{found[0]: convert(value, found[1])} for value in values if value > 0]
            put_steps(run, steps, {found[0]: metric})
            if found[0] == "mfu_reported" and steps:
                run.put(
                    "mfu_reported",
                    sorted(step["mfu_reported"] for step in steps)[len(steps) // 2],
                    f"median of {metric}",
                )
            runs.append(run)
    if not runs:
        return ParseResult.refused(f"a chart of {', '.join(sorted(names))[:80]}: no metric of speed")
    return ParseResult(runs)


def runs_table(table: Table) -> ParseResult:
    """One run a row, where a speed metric was selected for the export."""
    columns = {name: found for name in table.header if (found := metric_of(name))}
    if not columns:
        return ParseResult.refused(
            "a table of runs without any metric of speed: select throughput or step time before exporting"
        )
    runs = []
    for row in table.records():
        run = Run(kind="training", label=row.get("Name"))
        for name, (field, factor) in columns.items():
            value = number(row.get(name.strip()))
            run.put(field, convert(value, factor) if value else None, name)
        _put_settings(run, row)
        if run.has_result():
            runs.append(run)
    return ParseResult(runs) if runs else ParseResult.refused("no run with a measured speed")


def _put_settings(run: Run, row: Mapping[str, str]) -> None:
    for key, field in (
        ("global_batch_size", "global_batch"),
        ("micro_batch_size", "micro_batch"),
        ("seq_length", "seq_len"),
        ("tensor_model_parallel_size", "tp"),
    ):
        if row.get(key):
            run.put(field, row[key], key)


class StepCsv:
    """A CSV of any trainer's logger: one row a step, with named speed metrics."""

    format = "step-metrics-csv"

    def score(self, document: Document) -> float:
        if document.is_json or document.is_xlsx or not document.tables:
            return 0.0
        header = document.header
        steps = {"step", "iteration", "iter", "global_step", "trainer/global_step"}
        return 0.8 if steps & set(header) and any(map(metric_of, header)) and len(document.tables[0].rows) > 1 else 0.0

    def parse(self, document: Document) -> ParseResult:
        table = document.tables[0]
        columns = {index: found for index, label in enumerate(table.header) if (found := metric_of(label))}
        steps: list[Step] = [
            {
                field: convert(value, factor)
                for index, (field, factor) in columns.items()
                if index < len(row) and (value := number(row[index]))
            }
            for row in table.rows
        ]
        run = Run(kind="training")
        names = {field: table.header[index].strip() for index, (field, _) in columns.items()}
        if not put_steps(run, [step for step in steps if step], names):
            return ParseResult.refused("no step with a speed")
        return ParseResult(
            [run],
            notes=["whether rates are of the whole job or of one GPU is told by names only"],
            needs_confirmation=True,
        )


class WandbSummary:
    """wandb-summary.json: last values only."""

    format = "wandb-summary"

    def score(self, document: Document) -> float:
        return 0.8 if "_wandb" in document.first or {"_runtime", "_step"} <= document.first.keys() else 0.0

    def parse(self, document: Document) -> ParseResult:
        run = Run(kind="training")
        for name, value in document.first.items():
            found, figure = metric_of(name), number(value)
            if found and figure and figure > 0:
                run.put(found[0], convert(figure, found[1]), name)
        if not run.has_result():
            return ParseResult.refused("last values without any metric of speed")
        run.warnings.append("last logged values only, not a mean over steps: low confidence")
        return ParseResult([run])


class WandbConfig:
    """config.yaml: settings, no result."""

    format = "wandb-config"

    def score(self, document: Document) -> float:
        return (
            0.8
            if not document.is_json
            and document.search(r"^_?wandb(?:_version)?:")
            and document.search(r"^ +(?:value|cli_version):")
            else 0.0
        )

    def parse(self, document: Document) -> ParseResult:
        return ParseResult.refused("the settings of a W&B run: no measurement in this file")
