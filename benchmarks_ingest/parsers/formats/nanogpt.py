"""The nanoGPT family: nanoGPT, build-nanogpt, nanochat, llm.c and modded-nanogpt.

MFU is printed against an A100's peak whatever the GPU is; -100 % stands for "not yet known".
"""

import re

from ..canonical import Run
from ..decode import Document
from ..protocol import ParseResult
from ..values import number
from .steps import Step, put_nvidia_smi, put_steps

_NANOGPT = re.compile(r"(?:^|[\s\]])iter (\d+): loss [\d.naif]+, time ([\d.]+)ms(?:, mfu (-?[\d.]+)%)?", re.MULTILINE)
_LLMC = re.compile(
    r"(?:^|[\s\]])step +(\d+)/\d+ \| (?:train )?loss .{0,120}?\| *([\d.]+) ms \|(?: *(-?[\d.]+)% \w+ MFU \|)? *([\d.]+) tok/s",
    re.MULTILINE,
)
_DT = re.compile(
    r"(?:^|[\s\]])step +(\d+)(?:/\d+)?\b.{0,160}?\bdt: *([\d.]+) ?ms.{0,20}?\btok/sec: *([\d,.]+)(?:.{0,40}?\bmfu: *([\d.]+))?",
    re.MULTILINE,
)
NAMES = {"step_time_s": "time", "tokens_per_s": "tok/s", "mfu_reported": "mfu"}


def _steps(text: str) -> list[Step]:
    rows: list[tuple[str, str, str]] = []
    rows += [(time, "", mfu) for _, time, mfu in _NANOGPT.findall(text)]
    rows += [(time, rate, mfu) for _, time, mfu, rate in _LLMC.findall(text)]
    rows += [(time, rate, mfu) for _, time, rate, mfu in _DT.findall(text)]
    steps: list[Step] = []
    for time, rate, mfu in rows:
        figures = {
            "step_time_s": (number(time) or 0) / 1e3,
            "tokens_per_s": number(rate.rstrip(".,")) or 0,
            "mfu_reported": (number(mfu) or 0) / 100,
        }
        steps.append({key: value for key, value in figures.items() if value > 0})
    return steps


class NanoGpt:
    """Iteration lines."""

    format = "nanogpt-log"

    def score(self, document: Document) -> float:
        text = document.text
        return (
            0.8 if not document.is_json and (_NANOGPT.search(text) or _LLMC.search(text) or _DT.search(text)) else 0.0
        )

    def parse(self, document: Document) -> ParseResult:
        text = "\n".join(document.lines)
        run = Run(kind="training", engine="nanogpt")
        if not put_steps(run, _steps(text), NAMES):
            return ParseResult.refused("no iteration with a time")
        match = re.search(r"tokens per iteration will be: ([\d,]+)", text)
        tokens = number(match[1].rstrip(",")) if match else None
        if tokens and run.step_time_s:
            run.derive("tokens_per_s", tokens / run.step_time_s, "tokens per iteration / time")
        put_nvidia_smi(run, text)
        if run.mfu_reported:
            run.notes.append("MFU of this family is against an A100's 312 TFLOP/s unless changed in its code")
        return ParseResult([run])


_MODDED = re.compile(
    r"(?:^|[\s\]])step:(\d+)/(\d+)\b.{0,80}?train_time:([\d.]+)(ms|s) step_avg:([\d.]+|nan)ms", re.MULTILINE
)
_LOSS_ONLY = re.compile(r"^s:\d+ (?:tel|trl|tl):[\d.]+", re.MULTILINE)


class ModdedNanoGpt:
    """ "step:3350/3375 … train_time:1621.300s step_avg:478.90ms" below the whole source code; the average leaves
    out the first steps.
    """

    format = "modded-nanogpt-log"

    def score(self, document: Document) -> float:
        if document.is_json:
            return 0.0
        return 0.9 if _MODDED.search(document.text) else (0.7 if len(_LOSS_ONLY.findall(document.head)) >= 3 else 0.0)

    def parse(self, document: Document) -> ParseResult:
        rows = [
            (int(step), number(time), unit, number(average))
            for step, _, time, unit, average in _MODDED.findall(document.text)
        ]
        known = [row for row in rows if row[3]]
        if not known:
            return ParseResult.refused("a loss curve without times: nothing about speed")
        run = Run(kind="training", engine="modded_nanogpt")
        step, spent, unit, average = known[-1]
        run.put("step_time_s", average, "step_avg of the last line", "ms")
        run.put("time_to_train_s", spent, "train_time of the last line", unit)
        run.notes.append(
            f"step_avg at step {step} is the mean since the start; the tool leaves out its first steps as warm-up"
        )
        put_nvidia_smi(run, document.text)
        return ParseResult([run])
