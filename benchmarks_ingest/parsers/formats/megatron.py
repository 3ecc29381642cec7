"""Megatron-LM and its family: iteration lines of all forks, the argument dump above them, and Megatron-Bridge's
golden values.

A line gives means over the log interval. TFLOP/s are the tool's own formula. Primus writes "instant/average": the
first is read.
"""

import re
from collections.abc import Iterator
from typing import Any

from ..canonical import Run
from ..decode import Document
from ..protocol import ParseResult
from ..values import integer, number
from .common import as_dict
from .steps import Step, put_nvidia_smi, put_steps, put_tokens

_ITERATION = re.compile(r"\biteration[:\s]+(\d+)\s*/\s*(\d+)\s*\|")
_FIELD = r":?\s*([\d.,]+(?:[eE][+-]?\d+)?)"
FIELDS = {
    "elapsed_ms": re.compile(r"elapsed time per iteration \(ms\)" + _FIELD),
    "elapsed_s": re.compile(r"elapsed time per iteration \(s\)" + _FIELD),
    "tflops_per_gpu": re.compile(r"(?:throughput per GPU \(TFLOP/s/GPU\)|(?<![\w(])TFLOP/s/GPU|TFLOPs)" + _FIELD),
    "tokens_per_s_per_gpu": re.compile(
        r"(?:tokens per GPU \(tokens/s/GPU\)|tokens/s/GPU|tokens per gpu per second \(tgs\))" + _FIELD
    ),
    "samples_per_s": re.compile(r"samples per second" + _FIELD),
    "global_batch": re.compile(r"global batch size:\s*(\d+)"),
    "seq_len": re.compile(r"(?:actual seqlen|sequence length):\s*(\d+)"),
}
NAMES = {
    "step_time_s": "elapsed time per iteration",
    "tflops_per_gpu": "throughput per GPU (TFLOP/s/GPU)",
    "tokens_per_s_per_gpu": "tokens per GPU (tokens/s/GPU)",
    "samples_per_s": "samples per second",
    "peak_memory_bytes": "max memory",
}
ARGUMENTS = {
    "world_size": "gpu_count",
    "seq_length": "seq_len",
    "micro_batch_size": "micro_batch",
    "global_batch_size": "global_batch",
    "tensor_model_parallel_size": "tp",
    "pipeline_model_parallel_size": "pp",
    "context_parallel_size": "cp",
    "expert_model_parallel_size": "ep",
    "data_parallel_size": "dp",
}
_ARGUMENT = re.compile(r"^(?:\[?\w*\d*\]?:?\s*)?(\w+) \.{3,} (\S+)\s*$", re.MULTILINE)
_WORLD = re.compile(
    r"using world size: (\d+), data-parallel-size: (\d+),"
    r".*?tensor-model-parallel size: (\d+),.*?pipeline-model-parallel size: (\d+)"
)
_BRIDGE = re.compile(r"Step Time ?: ?([\d.]+)s.{0,40}?GPU utilization: ?([\d.]+) ?MODEL_TFLOP/s/GPU")


def iteration_steps(text: str) -> Iterator[dict[str, float]]:
    """One step an iteration line, lines wrapped by a document or glued to the next print included."""
    marks = list(_ITERATION.finditer(text))
    for index, mark in enumerate(marks):
        end = marks[index + 1].start() if index + 1 < len(marks) else len(text)
        segment = re.split(r"\n\s*\n|```", text[mark.end() : min(end, mark.end() + 1500)], maxsplit=1)[0].replace(
            "\n", " "
        )
        found = {
            name: value
            for name, pattern in FIELDS.items()
            if (match := pattern.search(segment)) and (value := number(match[1].rstrip(".,")))
        }
        milliseconds, seconds = found.pop("elapsed_ms", None), found.pop("elapsed_s", None)
        if milliseconds or seconds:
            found["step_time_s"] = milliseconds / 1e3 if milliseconds else seconds or 0.0
        yield {"iteration": float(mark[1]), **found}


def put_arguments(run: Run, text: str) -> None:
    """The argument dump ("seq_length ........ 2048") and the world-size line."""
    values = dict(_ARGUMENT.findall(text))
    for key, field in ARGUMENTS.items():
        if integer(values.get(key)):
            run.put(field, values[key], f"argument {key}")
    for key in ("bf16", "fp16", "fp8"):
        if values.get(key) not in (None, "False", "None"):
            run.put("weights", key, f"argument {key}")
    world = _WORLD.search(text)
    if world:
        for field, value in zip(("gpu_count", "dp", "tp", "pp"), world.groups(), strict=True):
            run.derive(field, float(value), "using world size …")


class MegatronLog:
    """Training logs, whole or pasted."""

    format = "megatron-log"

    def score(self, document: Document) -> float:
        if document.is_json:
            return 0.0
        if re.search(
            r"iteration[:\s]+\d+\s*/\s*\d+\s*\|.{0,200}?elapsed time per iteration \((?:ms|s)\)",
            document.text,
            re.DOTALL,
        ):
            return 0.85
        return 0.8 if _BRIDGE.search(document.text) else 0.0

    def parse(self, document: Document) -> ParseResult:
        text = "\n".join(document.lines)
        steps: list[Step] = [step for step in iteration_steps(text) if "step_time_s" in step]
        if not steps:
            steps = [
                {"step_time_s": float(time), "tflops_per_gpu": float(rate)}
                for time, rate in _BRIDGE.findall(text)
                if number(time)
            ]
        run = Run(kind="training", engine="megatron", context=text[:3000])
        put_arguments(run, text)
        if not put_steps(run, steps, NAMES):
            return ParseResult.refused("no iteration line with a time")
        _put_batch(run, steps)
        _put_memory(run, text)
        put_nvidia_smi(run, text)
        put_tokens(run)
        if all(step.get("iteration", 2) <= 1 for step in steps):
            run.warnings.append("only iteration 1 is logged, which includes compilation and warm-up: no steady speed")
        return ParseResult([run])


def _put_batch(run: Run, steps: list[Step]) -> None:
    for field in ("global_batch", "seq_len"):
        values = [step[field] for step in steps if step.get(field)]
        if values:
            run.put(field, values[-1], "global batch size" if field == "global_batch" else "sequence length")
            if min(values) != max(values):
                run.warnings.append(f"{field} changes during the run, from {min(values):.0f} to {max(values):.0f}")


def _put_memory(run: Run, text: str) -> None:
    found = [float(value) for value in re.findall(r"mem-max-allocated-gigabytes: ([\d.]{1,12})", text) if number(value)]
    if found:
        run.put("peak_memory_bytes", max(found), "mem-max-allocated-gigabytes", "GB")
        return
    found = [
        float(value)
        for value in re.findall(r"memory \(MB\) \|.{0,80}?max allocated: ([\d.]{1,12})", text)
        if number(value)
    ]
    if found:
        run.put("peak_memory_bytes", max(found), "memory (MB) max allocated", "MiB")


class MegatronGolden:
    """Golden values: {"0": {"elapsed time per iteration (ms)": …, "GPU utilization": TFLOP/s per GPU}}."""

    format = "megatron-golden"

    def score(self, document: Document) -> float:
        values = [as_dict(value) for value in list(document.first.values())[:3]]
        return 0.9 if any("elapsed time per iteration (ms)" in value for value in values) else 0.0

    def parse(self, document: Document) -> ParseResult:
        run = Run(kind="training", engine="megatron")
        keyed = sorted(
            (int(key), as_dict(value)) for key, value in document.first.items() if key.isdigit() and len(key) < 9
        )
        steps = [step for _, value in keyed if (step := _golden_step(value))]
        if not put_steps(run, steps, NAMES):
            return ParseResult.refused("no step with a time")
        run.notes.append('"GPU utilization" of this file is model TFLOP/s per GPU, not a percentage')
        return ParseResult([run])


def _golden_step(value: dict[str, Any]) -> dict[str, float]:
    step = {
        "step_time_s": (number(value.get("elapsed time per iteration (ms)")) or 0.0) / 1e3,
        "tflops_per_gpu": number(value.get("GPU utilization")) or 0.0,
    }
    return {key: figure for key, figure in step.items() if figure}
