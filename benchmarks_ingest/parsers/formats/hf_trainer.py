"""Hugging Face Trainer: result JSON files, trainer_state.json, console output, and LLaMA-Factory's trainer_log.jsonl.

train_runtime includes evaluations and checkpoints; rates are rounded to three decimals; after a resume they are
inflated.
"""

import ast
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from ..canonical import Run
from ..decode import Document
from ..protocol import ParseResult
from ..values import integer, median, number, seconds
from .common import as_dict, as_list

RUNTIME_NOTE = "train_runtime includes evaluations and checkpoints"
ROUNDED = 0.05  # a rate of three decimals below this is off by more than 1 %


def summary_run(values: Mapping[str, Any], steps: float | None = None) -> Run:
    """A run from train_* figures and the number of optimizer steps, where it is known."""
    run = Run(kind="training", engine="transformers")
    runtime = seconds(values.get("train_runtime"))
    run.put("duration_s", runtime, "train_runtime", "s")
    per_second = number(values.get("train_steps_per_second"))
    if runtime and steps:
        run.put("step_time_s", runtime / steps, "train_runtime / steps", "s")
    elif per_second and per_second >= ROUNDED:
        run.put("step_time_s", 1 / per_second, "1 / train_steps_per_second", "s")
    elif per_second is not None:
        run.warnings.append(f"train_steps_per_second {per_second} is rounded too coarsely to be used")
    if per_second is None and _counts_steps(values, runtime):
        stated = number(values["train_samples_per_second"])
        run.put("step_time_s", 1 / stated if stated else None, "1 / train_samples_per_second", "s")
        run.warnings.append("train_samples_per_second of versions before May 2021 counts steps, not samples")
    else:
        run.put("samples_per_s", values.get("train_samples_per_second"), "train_samples_per_second", "samples/s")
    _put_tokens(run, values, runtime)
    _put_batch(run)
    run.notes.append(RUNTIME_NOTE)
    return run


def _counts_steps(values: Mapping[str, Any], runtime: float | None) -> bool:
    """Whether train_samples_per_second is older than its name: it does not agree with samples x epochs / runtime."""
    stated, samples = number(values.get("train_samples_per_second")), number(values.get("train_samples"))
    if stated is None:
        return False
    if samples is None or runtime is None:
        return True
    expected = samples * (number(values.get("epoch")) or 1.0) / runtime
    return abs(stated / expected - 1) > 0.05 if expected else True


def _put_tokens(run: Run, values: Mapping[str, Any], runtime: float | None) -> None:
    run.put("tokens_per_s", values.get("train_tokens_per_second"), "train_tokens_per_second", "tok/s")
    seen = number(values.get("num_input_tokens_seen"))
    if seen and runtime:
        run.derive("tokens_per_s", seen / runtime, "num_input_tokens_seen / train_runtime")
    memory = number(values.get("memory(GiB)"))
    if memory:
        run.put("peak_memory_bytes", memory, "memory(GiB)", "GiB")


def _put_batch(run: Run) -> None:
    """samples/s x time of a step is the global batch, where it comes out whole."""
    if run.samples_per_s and run.step_time_s:
        batch = run.samples_per_s * run.step_time_s
        if batch >= 1 and abs(batch / round(batch) - 1) < 0.01:
            run.derive("global_batch", round(batch), "train_samples_per_second x step time")


class HfResults:
    """train_results.json and all_results.json."""

    format = "hf-trainer"

    def score(self, document: Document) -> float:
        first = document.first
        if "log_history" in first and "global_step" in first:
            return 0.9
        return (
            0.85
            if first.keys() & {"train_runtime", "predict_runtime", "eval_runtime"}
            and not isinstance(first.get("train_runtime"), dict)
            else 0.0
        )

    def parse(self, document: Document) -> ParseResult:
        if "log_history" in document.first:
            return state_result(document.first)
        if "train_runtime" not in document.first:
            return ParseResult.refused("only prediction or evaluation metrics: nothing about training speed")
        return ParseResult([summary_run(document.first)])


def state_result(state: dict[str, Any]) -> ParseResult:
    """trainer_state.json: no time per step; the last entry of log_history may repeat the summary."""
    history = [as_dict(entry) for entry in as_list(state.get("log_history"))]
    summary = next((entry for entry in reversed(history) if "train_runtime" in entry), None)
    if summary is None:
        return ParseResult.refused("a loss curve: trainer_state.json without train_runtime holds no time")
    run = summary_run(
        {**summary, "num_input_tokens_seen": state.get("num_input_tokens_seen")}, number(state.get("global_step"))
    )
    run.put("micro_batch", state.get("train_batch_size"), "train_batch_size")
    return ParseResult([run])


_NOT_FINITE = re.compile(r"(?<=: )-?(?:nan|inf)(?=[,}])")
_TABLE = re.compile(
    r"\b(train_runtime|train_samples_per_second|train_steps_per_second|train_samples"
    r"|train_tokens_per_second)\s*=\s*([\d.:]+(?: days?, [\d:.]+)?)"
)


_STARTED = re.compile(r"^\{'loss': [\d.]+, .{0,300}?'epoch': |\*{5} Running training \*{5}", re.MULTILINE)


class HfStdout:
    """Console output: Python dicts with single quotes, or the "***** train metrics *****" table."""

    format = "hf-trainer-stdout"

    def score(self, document: Document) -> float:
        if document.is_json:
            return 0.0
        text = document.text
        if "'train_runtime':" in text or re.search(r"\*{5} train metrics \*{5}", text):
            return 0.78
        if _STARTED.search(text):
            return 0.4
        return 0.15 if re.search(r"\b(?:run_clm\.py|TrainingArguments|transformers/trainer)", document.head) else 0.0

    def parse(self, document: Document) -> ParseResult:
        values = stdout_values(document.text)
        if "train_runtime" not in values:
            return ParseResult.refused("the log breaks off before train_runtime: no time of the whole run")
        steps = _counted_steps(document.text, values)
        run = summary_run(values, steps)
        batch = re.findall(r"Total train batch size[^=\n]{0,80}= ?([\d,]+)", document.text)
        if batch and number(batch[-1].rstrip(",")):
            run.put("global_batch", number(batch[-1].rstrip(",")), "Total train batch size")
        return ParseResult([run])


def stdout_values(text: str) -> dict[str, Any]:
    """train_* figures of the last summary, as dict or as table."""
    values: dict[str, Any] = dict(_TABLE.findall(text))
    for line in text.split("\n"):
        if "'train_runtime'" in line and "{'" in line:
            try:
                found = ast.literal_eval(_NOT_FINITE.sub("None", line[line.index("{'") : line.rindex("}") + 1][:4000]))
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                continue
            values.update(as_dict(found))
    return values


def _counted_steps(text: str, values: Mapping[str, Any]) -> float | None:
    done = re.match(r"(\d+)/\d+", str(values.get("global_step/max_steps") or ""))
    total = re.findall(r"Total optimization steps ?= ?([\d,]+)", text)
    return float(done[1]) if done else (number(total[-1].rstrip(",")) if total else None)


class LlamaFactoryLog:
    """trainer_log.jsonl: current_steps and elapsed_time, to the second."""

    format = "llamafactory-trainer-log"

    def score(self, document: Document) -> float:
        return 0.95 if {"current_steps", "percentage"} <= document.first.keys() else 0.0

    def parse(self, document: Document) -> ParseResult:
        rows = [record for record in document.records if "current_steps" in record]
        if not any("loss" in row or "lr" in row or "learning_rate" in row for row in rows):
            return ParseResult.refused("a prediction or evaluation run: no loss, no training step")
        run = Run(kind="training", engine="llamafactory")
        points = [
            (step, time)
            for row in rows
            if (step := integer(row.get("current_steps"))) and (time := seconds(row.get("elapsed_time"))) is not None
        ]
        _put_pace(run, points)
        rates = [value for row in rows if (value := number(row.get("throughput")))]
        if rates:
            run.put("tokens_per_s", rates[-1], "last throughput (tokens seen / elapsed time)", "tok/s")
        if not run.has_result():
            return ParseResult.refused("fewer than two steps with a time")
        run.notes.append("elapsed_time includes evaluations and checkpoints")
        return ParseResult([run])


def _put_pace(run: Run, points: list[tuple[int, float]]) -> None:
    """Median time between logged steps, the first interval left out; the whole slope where seconds are too coarse."""
    intervals = [
        ((later - earlier) / (b - a), later - earlier)
        for (a, earlier), (b, later) in pairwise(points)
        if b > a and later > earlier
    ]
    intervals = intervals[1:] or intervals
    if not intervals:
        return
    if median([width for _, width in intervals]) >= 20:
        run.put("step_time_s", median([value for value, _ in intervals]), "median time between logged steps", "s")
    else:
        (first, start), (last, end) = points[0], points[-1]
        if last > first and end > start:
            run.put(
                "step_time_s", (end - start) / (last - first), "elapsed time / steps, first log interval left out", "s"
            )
    run.notes.append("the first log interval (start-up) is left out")
