"""GuideLLM's console tables, whose headers span columns over several lines."""

import re
from collections.abc import Iterator

from ..canonical import Run
from ..decode import Document
from ..protocol import ParseResult
from .common import put_text
from .guidellm import TPOT_NOTE

CONSOLE_FIELDS = {
    ("ttft", "mdn"): ("ttft_p50_s", "ms"),
    ("ttft", "median"): ("ttft_p50_s", "ms"),
    ("ttft", "mean"): ("ttft_mean_s", "ms"),
    ("ttft", "p99"): ("ttft_p99_s", "ms"),
    ("ttft", "p95"): ("ttft_p95_s", "ms"),
    ("itl", "mdn"): ("tpot_p50_s", "ms"),
    ("itl", "median"): ("tpot_p50_s", "ms"),
    ("itl", "mean"): ("tpot_mean_s", "ms"),
    ("itl", "p99"): ("tpot_p99_s", "ms"),
    ("itl", "p95"): ("tpot_p95_s", "ms"),
    ("latency", "mdn"): ("e2e_p50_s", "s"),
    ("latency", "median"): ("e2e_p50_s", "s"),
    ("latency", "mean"): ("e2e_mean_s", "s"),
    ("latency", "p99"): ("e2e_p99_s", "s"),
    ("latency", "p95"): ("e2e_p95_s", "s"),
}
_STRATEGY = re.compile(r"^\|?\s*((?:synchronous|throughput|concurrent|constant|poisson|async)(?:@[\d.]+)?)\s*\|")


class GuidellmConsole:
    """Console tables, printed with several header lines whose cells span columns."""

    format = "guidellm-console"

    def score(self, document: Document) -> float:
        if document.is_json:
            return 0.0
        text = document.text
        if re.search(
            r"Request Latency Statistics|Benchmarks? (?:Stats|Info|Metadata):|Run Summary Info", text
        ) and re.search(r"TTFT|Requests Made|Benchmark", text):
            return 0.85
        return (
            0.4
            if "guidellm" in text.lower() and re.search(r"command not found|guidellm benchmark|GuideLLM", text)
            else 0.0
        )

    def parse(self, document: Document) -> ParseResult:
        rows: dict[str, Run] = {}
        for strategy, cells in console_cells(document.lines):
            run = rows.setdefault(strategy, Run(kind="serving", label=strategy))
            _put_cells(run, cells)
        runs = [_console_finish(run, document.text) for run in rows.values() if run.has_result()]
        if not runs:
            missing = "guidellm: command not found" in document.text
            return ParseResult.refused(
                "the benchmark never ran: guidellm was not found"
                if missing
                else "a GuideLLM log without any result table"
            )
        return ParseResult(runs, notes=["read from console tables: figures are rounded"])


def console_cells(lines: list[str]) -> Iterator[tuple[str, list[tuple[tuple[str, ...], str]]]]:
    """(strategy, [(header path of a column, cell), …]) for each data row of each table."""
    headers: list[list[str]] = []
    for line in lines:
        if "|" not in line or re.match(r"^[\s|]*[=\-|+]{5,}\s*$", line):
            if (re.match(r"^[\s|]*={5,}[\s=|]*$", line) and not headers) or "|" not in line:
                headers = []
            continue
        cells = [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]
        match = _STRATEGY.match(line.strip())
        if match:
            yield match[1], list(zip(_paths(headers, len(cells)), cells, strict=False))
        else:
            headers = [*headers[-2:], _filled(cells)] if not _is_first_header(cells) else [_filled(cells)]


def _is_first_header(cells: list[str]) -> bool:
    return cells[0] in {"Benchmark", "Metadata"} and "" in cells


def _filled(cells: list[str]) -> list[str]:
    """Empty cells repeat the one to their left: a header that spans columns."""
    filled: list[str] = []
    for cell in cells:
        filled.append(cell or (filled[-1] if filled else ""))
    return filled


def _paths(headers: list[list[str]], width: int) -> list[tuple[str, ...]]:
    padded = [row + [row[-1] if row else ""] * (width - len(row)) for row in headers]
    return [tuple(row[index].lower() for row in padded) for index in range(width)]


def _put_cells(run: Run, cells: list[tuple[tuple[str, ...], str]]) -> None:
    for path, cell in cells:
        joined = " ".join(path)
        stat = path[-1] if path else ""
        for (word, wanted), (field, unit) in CONSOLE_FIELDS.items():
            if (
                stat == wanted
                and (word in path[0].split() or word in joined.split())
                and not (word == "latency" and "request latency" not in joined and "req latency" not in joined)
            ):
                run.put(field, cell, joined, "ms" if "(ms)" in path[0] else "s" if "(sec)" in path[0] else unit)
        _put_console_rates(run, path, joined, stat, cell)


def _put_console_rates(run: Run, path: tuple[str, ...], joined: str, stat: str, cell: str) -> None:
    first = path[0] if path else ""
    per_second = path[1:2] == ("per sec",)
    if (stat == "mean" and first == "requests" and per_second) or (
        joined.endswith("per second") and "request stats" in joined
    ):
        run.put("requests_per_s", cell, joined, "req/s")
    elif (stat == "mean" and "concurrency" in joined) or stat == "concurrency":
        run.put("concurrency_achieved", cell, joined, "requests")
    elif (
        stat == "mean" and first == "output tokens" and per_second and run.output_tokens_per_s is None
    ) or joined.startswith("out tok/sec"):
        run.put("output_tokens_per_s", cell, joined, "tok/s")
    elif (stat == "mean" and first == "total tokens" and per_second) or joined.startswith("tot tok/sec"):
        run.put("total_tokens_per_s", cell, joined, "tok/s")
    elif ("input tok per req" in joined and stat == "mdn") or ("prompt tok/req" in joined and stat == "comp"):
        run.put("input_tokens", cell, joined, "tokens")
    elif ("output tok per req" in joined and stat == "mdn") or ("output tok/req" in joined and stat == "comp"):
        run.put("output_tokens", cell, joined, "tokens")
    elif "dur" in path[1:2] or stat.startswith("duration"):
        run.put("duration_s", cell, joined, "s")
    elif "requests made" in first and stat in {"comp", "err"}:
        run.put("completed" if stat == "comp" else "failed", cell, joined, "requests")


def _console_finish(run: Run, text: str) -> Run:
    model = re.search(r"backend validated with model (\S+)|'model': '([^']+)'|\"model\": \"([^\"]+)\"", text)
    if model:
        put_text(run, "model", model[1] or model[2] or model[3], "backend validated with model")
    kind, _, rate = (run.label or "").partition("@")
    if kind == "synchronous":
        run.put("concurrency", 1, "strategy synchronous", "requests")
    elif rate:
        run.put("concurrency" if kind == "concurrent" else "request_rate_per_s", rate, "strategy", "req/s")
    run.notes.append(TPOT_NOTE)
    return run
