"""DeepSpeed: throughput timer lines of all versions, DeepSpeed-Chat's lines, RLHF lines and the flops profiler's
report.
"""

import re

from ..canonical import Run
from ..decode import Document
from ..protocol import ParseResult
from ..values import number, quantity
from .steps import Step, put_steps

_TIMER = re.compile(
    r"RunningAvgSamplesPerSec=([\d.]+), CurrSamplesPerSec=([\d.]+)"
    r"(?:, MemAllocated=[\d.]+GB, MaxMemAllocated=([\d.]+)GB)?"
)
_OLD = re.compile(r"(?<!Avg)(?<!Curr)(?<!Cur)\bSamplesPerSec=([\d.]+)")
_RLHF = re.compile(r"\|E2E latency=([\d.]+)s.{0,200}?CurSamplesPerSec=([\d.]+)")
_CHAT = re.compile(
    r"Model Parameters: ([\d.]+) B, Latency: ([\d.]+)s, TFLOPs: ([\d.]+), Samples/sec: ([\d.]+),"
    r"(?:.{0,40}?Batch Size: (\d+), Sequence Length: (\d+))?"
)
_PROFILE = "DeepSpeed Flops Profiler"


class DeepspeedLog:
    """Training logs and profiler reports."""

    format = "deepspeed-log"

    def score(self, document: Document) -> float:
        text = document.text
        if document.is_json:
            return 0.0
        if _TIMER.search(text) or _RLHF.search(text) or _CHAT.search(text) or _OLD.search(text):
            return 0.75
        return 0.7 if _PROFILE in text and "fwd latency" in text else 0.0

    def parse(self, document: Document) -> ParseResult:
        text = document.text
        for pattern, reader in ((_RLHF, rlhf_run), (_CHAT, chat_run), (_TIMER, timer_run), (_OLD, old_run)):
            if pattern.search(text):
                run = reader(text)
                return ParseResult([run]) if run.has_result() else ParseResult.refused("no step with a speed")
        return ParseResult([profiler_run(text)])


def _positive(value: str) -> float:
    return number(value) or 0.0


def timer_run(text: str) -> Run:
    """Global samples/s; the timer itself skips the first two steps."""
    run = Run(kind="training", engine="deepspeed")
    steps: list[Step] = [
        {"samples_per_s": _positive(current), "peak_memory_bytes": _positive(memory) * 1e9}
        for _, current, memory in _TIMER.findall(text)
        if _positive(current)
    ]
    put_steps(run, steps, {"samples_per_s": "CurrSamplesPerSec", "peak_memory_bytes": "MaxMemAllocated"})
    run.notes.append("samples/s are of the whole job")
    return run


def old_run(text: str) -> Run:
    """SamplesPerSec= of 2020: a running mean, so the last one counts."""
    run = Run(kind="training", engine="deepspeed")
    run.put("samples_per_s", _OLD.findall(text)[-1], "last SamplesPerSec", "samples/s")
    run.notes.append("SamplesPerSec of old versions is a running mean of the whole job; the last line is read")
    return run


def rlhf_run(text: str) -> Run:
    """One RLHF iteration: generation and both trainings together."""
    run = Run(kind="training", engine="deepspeed")
    steps: list[Step] = [
        {"step_time_s": _positive(time), "samples_per_s": _positive(rate)} for time, rate in _RLHF.findall(text)
    ]
    put_steps(run, steps, {"step_time_s": "E2E latency", "samples_per_s": "CurSamplesPerSec"})
    run.warnings.append(
        "an RLHF step holds generation and two trainings: not comparable with pretraining or fine-tuning steps"
    )
    return run


def chat_run(text: str) -> Run:
    """DeepSpeed-Chat, printed by every rank: equal lines count once."""
    run = Run(kind="training", engine="deepspeed")
    rows = list(dict.fromkeys(_CHAT.findall(text)))
    steps: list[Step] = [{"step_time_s": _positive(row[1])} for row in rows if _positive(row[1])]
    put_steps(run, steps, {"step_time_s": "Latency"})
    if rows and rows[-1][5]:
        run.put("micro_batch", rows[-1][4], "Batch Size")
        run.put("seq_len", rows[-1][5], "Sequence Length")
    run.notes.append("TFLOPs and Samples/sec of these lines mix one rank's batch with all ranks and are not read")
    return run


PROFILE = {
    "iter latency": ("step_time_s", {"s": "s", "ms": "ms", "us": "us"}),
    "world size": ("gpu_count", {"": ""}),
    "batch size per GPU": ("micro_batch", {"": ""}),
    "samples/second": ("samples_per_s", {"": "samples/s", "samples/s": "samples/s"}),
}


def profiler_run(text: str) -> Run:
    """The report of one profiled step."""
    run = Run(kind="training", engine="deepspeed")
    for line in text.split("\n"):
        label, _, value = line.rpartition(":")
        parsed = quantity(value)
        field = PROFILE.get(label.strip())
        if parsed is None:
            continue
        if field and parsed[1] in field[1]:
            run.put(field[0], parsed[0], label.strip(), field[1][parsed[1]])
        elif label.strip().startswith(("FLOPS per GPU = 3", "fwd+bwd FLOPS per GPU")) and parsed[1] in {
            "TFLOPS",
            "GFLOPS",
        }:
            run.put("tflops_per_gpu", parsed[0], label.strip(), f"{parsed[1][0]}FLOP/s")
    run.warnings.append("one profiled step, slowed by the profiler itself: low confidence")
    return run
