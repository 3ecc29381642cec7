"""The console block "Serving Benchmark Result" of vLLM and SGLang, pasted anywhere: logs, READMEs, shell comments,
issues.
"""

import re
from collections.abc import Iterator

from ..canonical import Run
from ..decode import Document
from ..protocol import ParseResult, Refusal
from ..values import integer, number
from .common import derive_rates, put_engine, put_percentile, put_text

TITLE = re.compile(r"Serving Benchmark Result *={4}[= ]{0,80}")
_STAT = re.compile(r"(mean|median|p(\d{1,2}(?:\.\d+)?)|max|std) (ttft|tpot|itl|e2el|e2e latency) \(ms\)")
_ARGUMENT = re.compile(
    r"\b(model|backend|dataset_name|random_input_len|random_output_len|num_prompts|request_rate|max_concurrency|tokenizer)=('[^']*'|\"[^\"]*\"|[^,\s)]+)"
)
REDACTED = re.compile(r"(?i)^(?:x+|\.+|…|-+|n/?a|tbd|\?+)$")
METRICS = {"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2el": "e2e", "e2e latency": "e2e"}
LABELS = {
    "successful requests": ("completed", "requests"),
    "failed requests": ("failed", "requests"),
    "benchmark duration (s)": ("duration_s", "s"),
    "request throughput (req/s)": ("requests_per_s", "req/s"),
    "output token throughput (tok/s)": ("output_tokens_per_s", "tok/s"),
    "total token throughput (tok/s)": ("total_tokens_per_s", "tok/s"),
    "total throughput (tok/s)": ("total_tokens_per_s", "tok/s"),
    "request rate configured (rps)": ("request_rate_per_s", "req/s"),
    "traffic request rate": ("request_rate_per_s", "req/s"),
    "maximum request concurrency": ("concurrency", "requests"),
    "max request concurrency": ("concurrency", "requests"),
    "max reqeuest concurrency": ("concurrency", "requests"),
    "concurrency": ("concurrency_achieved", "requests"),
}


OTHER_LABELS = (
    "total input tokens",
    "total generated tokens",
    "backend",
    "peak output token throughput (tok/s)",  # not the mean, and must not be taken for it
    "input token throughput (tok/s)",
    "peak concurrent requests",
)
_LABELS = "|".join(sorted(map(re.escape, (*LABELS, *OTHER_LABELS)), key=len, reverse=True))
_ROW = re.compile(
    rf"(?i)(?<![\w-])({_LABELS}|{_STAT.pattern.replace('(', '(?:', 1)})\s*:\s+(?P<value>\S[^\n|]{{0,80}})"
)


class ServeStdout:
    """Every block of a text is one run; redacted ones (xxx) are refused."""

    format = "bench-serve-stdout"

    def score(self, document: Document) -> float:
        return 0.9 if not document.is_json and TITLE.search(document.text) else 0.0

    def parse(self, document: Document) -> ParseResult:
        result = ParseResult()
        for number_, (before, block) in enumerate(blocks("\n".join(document.lines)), 1):
            outcome = block_run(before, block)
            if isinstance(outcome, Refusal):
                outcome = Refusal(outcome.reason, f"block {number_}")
                result.refusals.append(outcome)
            else:
                result.runs.append(outcome)
        return result


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """(text between the previous block and this one, the block) for each title."""
    titles = list(TITLE.finditer(text))
    end = 0
    for index, title in enumerate(titles):
        limit = titles[index + 1].start() if index + 1 < len(titles) else len(text)
        closing = re.compile(r"={40,}\s*$", re.MULTILINE).search(text, title.end(), limit)
        before = text[max(end, title.start() - 20_000) : title.start()]
        end = closing.end() if closing else min(limit, title.end() + 5000)
        yield before, text[title.end() : end]


def pairs(text: str) -> dict[str, str]:
    """The known labels and their values, whatever stands before them on the line; labels lower-cased."""
    found: dict[str, str] = {}
    for line in text.split("\n"):
        match = _ROW.search(" ".join(line[:400].split())) if ":" in line else None
        if match:
            found.setdefault(match[1].lower(), match["value"].strip(" `*"))
    return found


def block_run(before: str, block: str) -> Run | Refusal:
    """One block, with the arguments and load lines printed above it."""
    rows = pairs(block)
    if rows and not any(
        number(value) is not None for label, value in rows.items() if label in LABELS or _STAT.fullmatch(label)
    ):
        return Refusal(
            "the values are redacted or missing"
            if any(REDACTED.match(value) for value in rows.values())
            else "the block holds no numbers"
        )
    run = Run(kind="serving", context=before[-3000:])
    for label, value in {**_load_lines(before), **rows}.items():
        _put(run, label, value)
    if run.completed == 0:
        return Refusal("no request completed: the zeros in it are no measurement")
    if not run.has_result() and any(REDACTED.match(value) for value in rows.values()):
        return Refusal("the values are redacted")
    _put_totals(run, rows)
    _put_arguments(run, before)
    return run


def _load_lines(before: str) -> dict[str, str]:
    """Load settings that are printed before the block."""
    wanted = {label for label, (field, _) in LABELS.items() if field in {"request_rate_per_s", "concurrency"}}
    return {label: value for label, value in pairs(before[-3000:]).items() if label in wanted}


def _put(run: Run, label: str, value: str) -> None:
    stat = _STAT.fullmatch(label)
    if label in LABELS:
        field, unit = LABELS[label]
        run.put(field, value, label, unit)
    elif label == "backend":
        put_engine(run, value, label)
    elif stat and stat[1] in {"mean", "median"}:
        run.put(f"{METRICS[stat[3]]}_{'mean' if stat[1] == 'mean' else 'p50'}_s", value, label, "ms")
    elif stat and stat[2]:
        put_percentile(run, METRICS[stat[3]], stat[2], value, label, "ms")


def _put_totals(run: Run, rows: dict[str, str]) -> None:
    """Mean lengths from token totals over successful requests."""
    total_in, total_out = number(rows.get("total input tokens")), number(rows.get("total generated tokens"))
    for field, total, label in (
        ("input_tokens", total_in, "Total input tokens"),
        ("output_tokens", total_out, "Total generated tokens"),
    ):
        if total and run.completed:
            run.put(field, total / run.completed, f"{label} / Successful requests", "tokens")
    derive_rates(run, total_in, total_out)


def _put_arguments(run: Run, before: str) -> None:
    """The last Namespace(...) or benchmark_args= line above the block."""
    start = max(before.rfind("Namespace("), before.rfind("benchmark_args="))
    if start < 0:
        return
    arguments = {key: value.strip("'\"") for key, value in _ARGUMENT.findall(before[start : start + 6000])}
    put_text(run, "model", arguments.get("model"), "Namespace.model")
    put_text(run, "dataset", arguments.get("dataset_name"), "Namespace.dataset_name")
    if run.engine is None:
        put_engine(run, arguments.get("backend"), "Namespace.backend")
    for field, key in (("request_rate_per_s", "request_rate"), ("concurrency", "max_concurrency")):
        if getattr(run, field) is None and key in arguments:
            run.put(field, arguments[key], f"Namespace.{key}")
    asked = integer(arguments.get("num_prompts"))
    if asked is not None and run.failed is None and run.completed is not None and asked >= run.completed:
        run.put("failed", asked - run.completed, "Namespace.num_prompts - Successful requests", "requests")
