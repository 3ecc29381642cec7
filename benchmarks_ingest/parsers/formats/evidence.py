"""What is recognised but is no result by itself: GPU monitors (attached to a run as evidence), traces, network
tests, loss curves, server logs.
"""

import re

from ..decode import Document
from ..protocol import ParseResult, Refusal
from ..values import median, quantity

_MONITOR_COLUMNS = ("power.draw", "utilization.gpu", "temperature.gpu", "clocks.", "memory.used")


class GpuMonitor:
    """nvidia-smi --query-gpu CSV, DCGM CSV, and monitors that found no GPU."""

    format = "gpu-monitor"

    def score(self, document: Document) -> float:
        if document.text.strip() in {"[]", "{}"}:
            return 0.9 if re.search(r"(?i)gpu|monitor", document.basename) else 0.0
        if document.is_json or document.is_xlsx:
            return 0.0
        header = document.header
        if any(cell.startswith("dcgm_") for cell in header):
            return 0.95
        smi = sum(any(cell.startswith(name) for name in _MONITOR_COLUMNS) for cell in header)
        return 0.95 if smi >= 2 or (smi and "index" in header) else 0.0

    def parse(self, document: Document) -> ParseResult:
        if document.text.strip() in {"[]", "{}"}:
            return ParseResult.refused("an empty list: the monitor found no GPU")
        evidence = monitor_evidence(document)
        return ParseResult(
            refusals=[Refusal("a GPU monitor's log: evidence to attach to a run, no result by itself")],
            evidence=evidence,
        )


def monitor_evidence(document: Document) -> dict[str, object]:
    """Median and largest value of each numeric column, the number of GPUs, and the GPU's name."""
    table = document.tables[0]
    evidence: dict[str, object] = {"samples": len(table.rows)}
    for index, title in enumerate(table.header):
        name = title.strip()
        cells = [row[index].strip() for row in table.rows if index < len(row)]
        if name.lower() in {"index", "gpu", "gpu_id"}:
            evidence["gpu_count"] = len(set(cells))
        elif name.lower() in {"name", "gpu_name"} and cells:
            evidence["gpu"] = cells[0][:100]
        elif "time" not in name.lower():
            values = [parsed[0] for cell in cells if (parsed := quantity(cell))]
            if values:
                evidence[name[:60]] = {"median": median(values), "max": max(values)}
    return evidence


class ProfilerTrace:
    """PyTorch profiler and Chrome traces."""

    format = "profiler-trace"

    def score(self, document: Document) -> float:
        return (
            0.95
            if '"traceEvents"' in document.head
            or ("schemaVersion" in document.first and "deviceProperties" in document.first)
            else 0.0
        )

    def parse(self, document: Document) -> ParseResult:
        return ParseResult.refused("a profiler trace: it shows single kernels, not the speed of a run")


class NcclTable:
    """nccl-tests output and tables of network throughput."""

    format = "nccl-table"

    def score(self, document: Document) -> float:
        header = " ".join(document.header)
        if "nccl algo" in header or ("(gb/s)" in header and "throughput" in header) or "busbw" in header:
            return 0.9
        return (
            0.9
            if re.search(r"#\s+size\s+count\s+type\s+redop|\balgbw\s+busbw\b|# nThread \d+ nGpus", document.head)
            else 0.0
        )

    def parse(self, document: Document) -> ParseResult:
        return ParseResult.refused("a network (NCCL) test: its Gb/s are no tokens/s of a model")


class LossCurve:
    """CSV with steps and losses only."""

    format = "loss-curve"

    def score(self, document: Document) -> float:
        header = set(document.header)
        step = header & {"step", "iteration", "iter", "epoch", "global_step"}
        loss = {
            cell
            for cell in header
            if "loss" in cell or cell in {"lr", "learning_rate", "grad_norm", "ppl", "perplexity", "accuracy"}
        }
        others = header - step - loss - {"", "time", "timestamp", "wall time", "wall_time"}
        return 0.85 if step and loss and not others else 0.0

    def parse(self, document: Document) -> ParseResult:
        return ParseResult.refused("a loss curve: nothing about speed")


class ServerLog:
    """The log of an inference server or of a crashed program: its "Avg prompt throughput" lines are no measurement,
    a crashed run has none at all.
    """

    format = "server-log"

    def score(self, document: Document) -> float:
        if document.is_json:
            return 0.0
        if re.search(r"Avg (?:prompt|generation) throughput: [\d.]+ tokens/s", document.text):
            return 0.3
        if re.search(r"^# (?:HELP|TYPE) \w", document.head, re.MULTILINE):
            return 0.3
        if "Traceback (most recent call last)" in document.text:
            return 0.2
        marks = (
            r"Loading model weights took|# GPU blocks: \d+|vLLM API server"
            r"|Capturing (?:the model for )?CUDA graph|server is fired up|KV Cache is allocated"
        )
        return 0.3 if re.search(marks, document.text) else 0.0

    def parse(self, document: Document) -> ParseResult:
        errors = re.findall(r"^(\w+(?:\.\w+)*(?:Error|Exception|Interrupt)\b[^\n]{0,120})", document.text, re.MULTILINE)
        if errors and "Traceback (most recent call last)" in document.text:
            return ParseResult.refused(f"the program crashed before any result: {errors[-1]}")
        return ParseResult.refused(
            "the log of a server, without the block of a finished benchmark: its throughput lines are "
            "momentary averages"
        )
