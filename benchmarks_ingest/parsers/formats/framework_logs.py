"""Step lines of NeMo, torchtitan, MaxText, nanotron and litgpt."""

import re
from collections.abc import Mapping

from ..canonical import Run
from ..decode import Document
from ..protocol import ParseResult
from ..values import human, median, number
from .steps import Step, put_nvidia_smi, put_steps, put_tokens

_NEMO = re.compile(r"train_step_timing in s\"?[:=]\s*([\d.]{1,20})")


class Nemo:
    """ "Training epoch 0, iteration 10/19 | … | train_step_timing in s: 7.568", tqdm lines and DLLogger JSON."""

    format = "nemo-log"

    def score(self, document: Document) -> float:
        return 0.7 if "train_step_timing in s" in document.text else 0.0

    def parse(self, document: Document) -> ParseResult:
        run = Run(kind="training", engine="nemo")
        steps: list[Step] = []
        for line in document.lines:
            match = _NEMO.search(line)
            if match and number(match[1]):
                steps.append(
                    {
                        "step_time_s": float(match[1]),
                        **_numbers(line, {"tflops_per_gpu": r"TFLOPS_per_GPU\"?[:=]\s*([\d.]+(?:e[+-]?\d+)?)"}),
                    }
                )
        if not put_steps(run, steps, {"step_time_s": "train_step_timing in s", "tflops_per_gpu": "TFLOPS_per_GPU"}):
            return ParseResult.refused("no step with a time")
        batch = re.findall(r"global_batch_size\"?[:=]\s*(\d{1,9})", document.text)
        if batch:
            run.put("global_batch", batch[-1], "global_batch_size")
        _nemo_config(run, document.text)
        put_nvidia_smi(run, document.text)
        put_tokens(run)
        return ParseResult([run])


def _nemo_config(run: Run, text: str) -> None:
    """Values of a configuration dump in the log, where it is there."""
    for field, name in (
        ("seq_len", "seq_length"),
        ("tp", "tensor_model_parallel_size"),
        ("pp", "pipeline_model_parallel_size"),
        ("micro_batch", "micro_batch_size"),
    ):
        match = re.search(rf"\b{name}['\"]?\s*[:=]\s*(\d{{1,9}})\b", text)
        if match:
            run.put(field, match[1], name)


def _numbers(line: str, patterns: Mapping[str, str]) -> dict[str, float]:
    found = {}
    for field, pattern in patterns.items():
        match = re.search(pattern, line)
        value = number(match[1].rstrip(",.")) if match else None
        if value:
            found[field] = value
    return found


_TITAN = re.compile(r"\bstep: *(\d+) .{0,120}?\b(?:tps|wps): *([\d,.]+)(.{0,120})")


class Torchtitan:
    """ "step: 10 loss: … memory: 30.99GiB(32.62%) tps: 7,034 tflops: 407.35 mfu: 41.19%"; tps is tokens/s of one
    device, step 1 compiles.
    """

    format = "torchtitan-log"

    def score(self, document: Document) -> float:
        return 0.85 if not document.is_json and _TITAN.search(document.text) else 0.0

    def parse(self, document: Document) -> ParseResult:
        run = Run(kind="training", engine="torchtitan")
        steps = [step for line in document.lines if (step := _titan_step(line))]
        later = [step for step in steps if step["index"] > 1] or steps
        names = {
            "tokens_per_s_per_gpu": "tps",
            "tflops_per_gpu": "tflops",
            "mfu_reported": "mfu",
            "peak_memory_bytes": "memory",
        }
        if not put_steps(run, later, names):
            return ParseResult.refused("no step with a speed")
        if len(later) < len(steps):
            run.notes.append("step 1 compiles and was dropped")
        elif steps[0]["index"] == 1:
            run.warnings.append("only step 1 is logged, which includes compilation: no steady speed")
        _titan_arguments(run, document.text)
        put_tokens(run)
        return ParseResult([run])


def _titan_step(line: str) -> dict[str, float] | None:
    match = _TITAN.search(line[:2000])
    if match is None:
        return None
    step = {"index": float(match[1]), "tokens_per_s_per_gpu": number(match[2]) or 0.0}
    step.update(_numbers(match[3], {"tflops_per_gpu": r"tflops: *([\d,.]+)", "mfu_reported": r"mfu: *([\d,.]+)%"}))
    memory = re.search(r"memory: *([\d.]{1,12}) ?GiB", line)
    if memory and number(memory[1]):
        step["peak_memory_bytes"] = float(memory[1]) * 2**30
    if "mfu_reported" in step:
        step["mfu_reported"] /= 100
    return step


def _titan_arguments(run: Run, text: str) -> None:
    for field, pattern in (
        ("seq_len", r"sequence length (\d+)|seq_len[ =:]+(\d+)"),
        ("global_batch", r"global batch size (\d+)"),
        ("micro_batch", r"local batch size (\d+)"),
        ("gpu_count", r"Building \d+-D device mesh.*?\[([\d, ]+)\]"),
    ):
        match = re.search(pattern, text)
        if match:
            value = 1
            for part in next(group for group in match.groups() if group).split(","):
                value *= int(part)
            run.put(field, value, "log line of the trainer")
    peak = re.search(r"Peak FLOPS used for computing MFU: ([\d.e+]+)", text)
    if peak:
        run.notes.append(f"the log computes MFU against {peak[1]} FLOP/s")
    gpu = re.search(r"(?:CUDA|HIP|XPU) capacity: ([^\n]*?) with [\d.]+ ?GiB memory", text)
    if gpu:
        run.put("gpu", gpu[1], "capacity line")


_MAXTEXT = re.compile(
    r"completed step: (\d+), seconds: ([\d.]+)(?:, TFLOP/s/device: ([\d.]+))?"
    r"(?:, Tokens/s/device: ([\d.]+))?(?:, total_weights: (\d+))?"
)


class Maxtext:
    """ "completed step: 12, seconds: 15.516, TFLOP/s/device: 508.371, Tokens/s/device: 1055.949, total_weights:
    4194304"; steps 0 and 1 compile.
    """

    format = "maxtext-log"

    def score(self, document: Document) -> float:
        return 0.85 if "completed step: " in document.text and _MAXTEXT.search(document.text) else 0.0

    def parse(self, document: Document) -> ParseResult:
        run = Run(kind="training", engine="maxtext")
        rows = [[number(cell) for cell in match] for match in _MAXTEXT.findall(document.text)]
        keys = ("index", "step_time_s", "tflops_per_gpu", "tokens_per_s_per_gpu", "weights")
        steps: list[Step] = [
            {key: value for key, value in zip(keys, row, strict=True) if value is not None} for row in rows
        ]
        later = [step for step in steps if step.get("index", 0) > 1] or steps
        names = {
            "step_time_s": "seconds",
            "tflops_per_gpu": "TFLOP/s/device",
            "tokens_per_s_per_gpu": "Tokens/s/device",
        }
        if not put_steps(run, later, names):
            return ParseResult.refused("no step with a time")
        if len(later) < len(steps):
            run.notes.append("steps 0 and 1 compile and were dropped")
        weights = [step["weights"] for step in later if step.get("weights")]
        if weights and run.step_time_s:
            run.derive(
                "tokens_per_s",
                median(weights) / run.step_time_s,
                "total_weights (tokens of the global batch) / seconds",
            )
        if run.tokens_per_s and run.tokens_per_s_per_gpu:
            run.notes.append(
                f"tokens/s over tokens/s/device suggests {run.tokens_per_s / run.tokens_per_s_per_gpu:.1f} devices"
            )
        return ParseResult([run])


_NANOTRON = re.compile(r"iteration: \d+ ?/ ?\d+ \| consumed_tokens: ")
NANOTRON = {
    "elapsed_time_per_iteration_ms": "step_time_s",
    "time_per_iteration_ms": "step_time_s",
    "tokens_per_sec": "tokens_per_s",
    "tokens_per_sec_per_gpu": "tokens_per_s_per_gpu",
    "model_tflops_per_gpu": "tflops_per_gpu",
    "global_batch_size": "global_batch",
    "cuda_max_memory_reserved": "peak_memory_bytes",
}


class Nanotron:
    """ "iteration: 991 / 1000 | consumed_tokens: 634K | elapsed_time_per_iteration_ms: 11.5K | …": numbers in human
    form, lines torn by other ranks.
    """

    format = "nanotron-log"

    def score(self, document: Document) -> float:
        return 0.9 if _NANOTRON.search(document.text) else 0.0

    def parse(self, document: Document) -> ParseResult:
        run = Run(kind="training", engine="nanotron")
        steps = [step for line in document.lines if _NANOTRON.search(line) and (step := nanotron_step(line))]
        names = {
            "step_time_s": "time per iteration",
            "tokens_per_s": "tokens_per_sec",
            "tokens_per_s_per_gpu": "tokens_per_sec_per_gpu",
            "tflops_per_gpu": "model_tflops_per_gpu",
            "peak_memory_bytes": "cuda_max_memory_reserved",
        }
        if not put_steps(run, steps, names):
            return ParseResult.refused("no whole iteration line with a time")
        batches = [step["global_batch"] for step in steps if "global_batch" in step]
        if batches:
            run.put("global_batch", batches[-1], "global_batch_size")
        if run.tokens_per_s and run.tokens_per_s_per_gpu:
            run.derive(
                "gpu_count",
                round(run.tokens_per_s / run.tokens_per_s_per_gpu),
                "tokens_per_sec / tokens_per_sec_per_gpu",
            )
        if run.tokens_per_s and run.step_time_s and run.global_batch:
            run.notes.append(
                f"sequence length of about {run.tokens_per_s * run.step_time_s / run.global_batch:.0f} "
                "follows from tokens/s, time and batch"
            )
        run.notes.append("figures are rounded to three digits by the tool")
        return ParseResult([run])


def nanotron_step(line: str) -> dict[str, float]:
    """The figures of one line; a torn line gives what stands on it."""
    step = {}
    for part in line[_NANOTRON.search(line).start() :].split("|"):  # type: ignore[union-attr]
        name, _, text = part.partition(":")
        field = NANOTRON.get(name.strip())
        value = human(text) if field and text.strip() else None
        if field and value:
            step[field] = value / 1e3 if field == "step_time_s" else value
    return step


_LITGPT = re.compile(r"iter (\d+) step (\d+) \| loss train: .{0,60}?iter time: ([\d.]+) ms( \(step\))?")


class Litgpt:
    """ "Epoch 1 | iter 2 step 1 | … | iter time: 548.72 ms (step)": one line a micro-batch; a step is all up to its
    "(step)".
    """

    format = "litgpt-log"

    def score(self, document: Document) -> float:
        return 0.85 if _LITGPT.search(document.text) else 0.0

    def parse(self, document: Document) -> ParseResult:
        run = Run(kind="training", engine="litgpt")
        steps = litgpt_steps(_LITGPT.findall(document.text))
        if not put_steps(run, steps, {"step_time_s": "iter time, summed up to each (step)"}):
            return ParseResult.refused("no whole optimizer step is logged")
        memory = re.search(r"Memory used: ([\d.]{1,12}) GB", document.text)
        if memory:
            run.put("peak_memory_bytes", memory[1], "Memory used", "GB")
        run.notes.append(
            "iter time is of one micro-batch; the time of an optimizer step is the sum of its micro-batches"
        )
        return ParseResult([run])


def litgpt_steps(rows: list[tuple[str, str, str, str]]) -> list[Step]:
    """Sums of micro-batch times; logged intervals with gaps are scaled by nothing and left out."""
    steps: list[Step] = []
    spent, before = 0.0, None
    for index, _, milliseconds, mark in rows:
        current = int(index)
        whole = before is None or current == before + 1
        spent, before = (spent if whole else 0.0) + (number(milliseconds) or 0.0) / 1e3, current
        if mark:
            if spent:
                steps.append({"step_time_s": spent})
            spent = 0.0
    return steps


class LitgptCsv:
    """litgpt's metrics.csv: iter_time of each logged iteration."""

    format = "litgpt-metrics"

    def score(self, document: Document) -> float:
        return 0.85 if {"iter_time", "step"} <= set(document.header) and "loss" in document.header else 0.0

    def parse(self, document: Document) -> ParseResult:
        run = Run(kind="training", engine="litgpt")
        rows = list(document.tables[0].records())
        times = [value for row in rows if (value := number(row.get("iter_time")))]
        per_step = _iterations_per_step(rows)
        names = {"step_time_s": f"iter_time x {per_step:g} micro-batches a step"}
        if not put_steps(run, [{"step_time_s": value * per_step} for value in times], names):
            return ParseResult.refused("no iteration with a time")
        return ParseResult([run])


def _iterations_per_step(rows: list[dict[str, str]]) -> float:
    iterations = [number(row.get("iter")) or 0 for row in rows]
    steps = [number(row.get("step")) or 0 for row in rows]
    if len(rows) > 1 and steps[-1] > steps[0] and iterations[-1] > iterations[0]:
        return max(1.0, round((iterations[-1] - iterations[0]) / (steps[-1] - steps[0])))
    return 1.0
