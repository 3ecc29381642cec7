"""What a column of a hand-kept table means: guesses from its label, its unit and its values, to be confirmed by a
person.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from .values import number, quantity

TOTAL_INPUT, TOTAL_OUTPUT, ASKED, BOTH_LENGTHS, AMBIGUOUS_RATE = (
    "total_input",
    "total_output",
    "asked",
    "both_lengths",
    "rate",
)

# Labels after normalisation (lower case, single spaces, no _ or -): (field, unit).
EXACT: Mapping[str, tuple[str, str]] = {
    "successful requests": ("completed", "requests"),
    "completed": ("completed", "requests"),
    "request count": ("completed", "requests"),
    "completed requests": ("completed", "requests"),
    "num requests": ("completed", "requests"),
    "failed requests": ("failed", "requests"),
    "failed": ("failed", "requests"),
    "error requests": ("failed", "requests"),
    "errors": ("failed", "requests"),
    "num prompts": (ASKED, "requests"),
    "total requests": (ASKED, "requests"),
    "total input tokens": (TOTAL_INPUT, "tokens"),
    "total generated tokens": (TOTAL_OUTPUT, "tokens"),
    "total output tokens": (TOTAL_OUTPUT, "tokens"),
    "benchmark duration": ("duration_s", "s"),
    "duration": ("duration_s", "s"),
    "elapsed time": ("duration_s", "s"),
    "request throughput": ("requests_per_s", "req/s"),
    "requests per second": ("requests_per_s", "req/s"),
    "rps": ("requests_per_s", "req/s"),
    "rps mean": ("requests_per_s", "req/s"),
    "req/s": ("requests_per_s", "req/s"),
    "requests/s": ("requests_per_s", "req/s"),
    "output throughput": ("output_tokens_per_s", "tok/s"),
    "output token throughput": ("output_tokens_per_s", "tok/s"),
    "output tokens/s": ("output_tokens_per_s", "tok/s"),
    "output tok/s": ("output_tokens_per_s", "tok/s"),
    "output tokens per second": ("output_tokens_per_s", "tok/s"),
    "generation throughput": ("output_tokens_per_s", "tok/s"),
    "total token throughput": ("total_tokens_per_s", "tok/s"),
    "total throughput": ("total_tokens_per_s", "tok/s"),
    "total tokens/s": ("total_tokens_per_s", "tok/s"),
    "total tok/s": ("total_tokens_per_s", "tok/s"),
    "total tokens per second": ("total_tokens_per_s", "tok/s"),
    "eval rate": ("decode_tokens_per_s", "tok/s"),
    "prompt eval rate": ("prefill_tokens_per_s", "tok/s"),
    "decode tokens/s": ("decode_tokens_per_s", "tok/s"),
    "prefill tokens/s": ("prefill_tokens_per_s", "tok/s"),
    "prompt processing": ("prefill_tokens_per_s", "tok/s"),
    "token generation": ("decode_tokens_per_s", "tok/s"),
    "request rate": ("request_rate_per_s", "req/s"),
    "qps": ("request_rate_per_s", "req/s"),
    "rate": ("request_rate_per_s", "req/s"),
    "max concurrency": ("concurrency", "requests"),
    "concurrency": ("concurrency", "requests"),
    "concurrent requests": ("concurrency", "requests"),
    "users": ("concurrency", "requests"),
    "concurrency mean": ("concurrency_achieved", "requests"),
    "batch size": ("batch_size", ""),
    "batch": ("batch_size", ""),
    "bs": ("batch_size", ""),
    "input len": ("input_tokens", "tokens"),
    "input length": ("input_tokens", "tokens"),
    "input tokens": ("input_tokens", "tokens"),
    "isl": ("input_tokens", "tokens"),
    "prompt len": ("input_tokens", "tokens"),
    "prompt length": ("input_tokens", "tokens"),
    "prompt tokens mean": ("input_tokens", "tokens"),
    "prompt tokens": ("input_tokens", "tokens"),
    "input": ("input_tokens", "tokens"),
    "output len": ("output_tokens", "tokens"),
    "out len": ("output_tokens", "tokens"),
    "in len": ("input_tokens", "tokens"),
    "output length": ("output_tokens", "tokens"),
    "output tokens": ("output_tokens", "tokens"),
    "osl": ("output_tokens", "tokens"),
    "output tokens mean": ("output_tokens", "tokens"),
    "output": ("output_tokens", "tokens"),
    "input output length": (BOTH_LENGTHS, "tokens"),
    "model": ("model", ""),
    "model id": ("model", ""),
    "model name": ("model", ""),
    "model path": ("model", ""),
    "llm": ("model", ""),
    "gpu": ("gpu", ""),
    "gpu type": ("gpu", ""),
    "gpu name": ("gpu", ""),
    "gpu model": ("gpu", ""),
    "hardware": ("gpu", ""),
    "accelerator": ("gpu", ""),
    "system": ("gpu", ""),
    "device": ("gpu", ""),
    "gpus": ("gpu_count", ""),
    "# gpus": ("gpu_count", ""),
    "gpu count": ("gpu_count", ""),
    "num gpus": ("gpu_count", ""),
    "n gpus": ("gpu_count", ""),
    "number of gpus": ("gpu_count", ""),
    "num gpu": ("gpu_count", ""),
    "n gpu": ("gpu_count", ""),
    "num of hardware": ("gpu_count", ""),
    "#gpus": ("gpu_count", ""),
    "framework": ("engine", ""),
    "backend": ("engine", ""),
    "engine": ("engine", ""),
    "inference engine": ("engine", ""),
    "serving engine": ("engine", ""),
    "backend version": ("engine_version", ""),
    "engine version": ("engine_version", ""),
    "vllm version": ("engine_version", ""),
    "tp": ("tp", ""),
    "tp size": ("tp", ""),
    "tensor parallel": ("tp", ""),
    "tensor parallel size": ("tp", ""),
    "pp": ("pp", ""),
    "pp size": ("pp", ""),
    "ep": ("ep", ""),
    "precision": ("weights", ""),
    "quantization": ("weights", ""),
    "quant": ("weights", ""),
    "dtype": ("weights", ""),
    "weights": ("weights", ""),
    "date": ("date", ""),
    "tokens/s/gpu": ("tokens_per_s_per_gpu", "tok/s"),
    "tok/s/gpu": ("tokens_per_s_per_gpu", "tok/s"),
    "tokens/sec/gpu": ("tokens_per_s_per_gpu", "tok/s"),
    "tokens per second per gpu": ("tokens_per_s_per_gpu", "tok/s"),
    "throughput (t/s/gpu)": ("tokens_per_s_per_gpu", "tok/s"),
    "throughput (t/s)": ("tokens_per_s", "tok/s"),
    "throughput (s/s)": ("samples_per_s", "samples/s"),
    "mfu": ("mfu_reported", "mfu"),
    "tflops/gpu": ("tflops_per_gpu", "TFLOP/s"),
    "tflop/s/gpu": ("tflops_per_gpu", "TFLOP/s"),
    "tflops": ("tflops_per_gpu", "TFLOP/s"),
    "seqlen (t)": ("seq_len", ""),
    "seq len": ("seq_len", ""),
    "sequence length": ("seq_len", ""),
    "seqlen": ("seq_len", ""),
    "global batch size": ("global_batch", ""),
    "globalbatchsize": ("global_batch", ""),
    "gbs": ("global_batch", ""),
    "micro batch size": ("micro_batch", ""),
    "microbatchsize": ("micro_batch", ""),
    "mbs": ("micro_batch", ""),
}
METRICS = (
    ("ttft", r"\bttft\b|time to first token|first token latency"),
    ("tpot", r"\btpot\b|time per output token|time per token"),
    ("itl", r"\bitl\b|inter token latency"),
    (
        "e2e",
        r"\be2el?\b|end to end|end latency|req(?:uest)? latency|\b(?:avg|average|mean|p\d\d|total) latency|^latency",
    ),
)
STATS = (
    (r"\bmean\b|\bavg\b|\baverage\b", "mean"),
    (r"\bmedian\b|\bmdn\b|\bp50\b|50th", "p50"),
    (r"\bp(\d{2}(?:\.\d+)?)\b", ""),
    (r"\b(\d{2})(?:th|st|nd|rd)\b", ""),
)
MAX_LABEL = 200
IGNORED = re.compile(
    r"\b(?:min|max|std|stddev|deviation|power|watts?|temperature|price|cost|memory|speedup|goodput|burstiness)\b|\bstd\b"
)
TIME_UNITS = {
    "ms": "ms",
    "milliseconds": "ms",
    "s": "s",
    "sec": "s",
    "seconds": "s",
    "us": "us",
    "µs": "us",
    "ns": "ns",
    "ms/token": "ms",
    "s/token": "s",
}
LARGE = {"k": 1e3, "K": 1e3, "M": 1e6}
RATE_UNITS = re.compile(r"^(?:tok(?:en)?s?|t)\s?(?:/|per )\s?s(?:ec(?:ond)?)?$")
_LLAMA = re.compile(r"^(pp|tg) ?(\d{1,6})(?: ?\((?:t/s|tok/s)\))?$")


@dataclass(frozen=True)
class Column:
    """What one column is taken for: a canonical field and the unit of its cells; unit "?" is still to be found out."""

    index: int
    label: str
    field: str
    unit: str
    confidence: float

    def to_json(self) -> dict[str, Any]:
        """For the mapping page."""
        return {
            "index": self.index,
            "label": self.label,
            "field": self.field,
            "unit": self.unit,
            "confidence": self.confidence,
        }


def normal(label: str) -> str:
    """Lower case, markup and separators gone."""
    text = re.sub(r"<[^>]{0,40}>|\*|`", "", label)
    return " ".join(re.sub(r"[_\-]+", " ", text.lower()).split())


def guess_column(label: str, index: int = 0) -> Column | None:
    """The meaning of a column by its label alone; None where it says nothing we know."""
    if not 0 < len(label) <= MAX_LABEL:
        return None
    found = _guess_label(label)
    return replace(found, index=index) if found and index else found


@lru_cache(maxsize=4096)
def _guess_label(label: str, index: int = 0) -> Column | None:
    clean = normal(label)
    if not clean or len(clean) > 80:
        return None
    body, unit = split_unit(clean)
    for candidate, confidence in ((clean, 0.9), (body, 0.85)):
        if candidate in EXACT:
            field, own = EXACT[candidate]
            return Column(index, label, field, TIME_UNITS.get(unit, own) if field == "duration_s" else own, confidence)
    llama = _LLAMA.match(clean)
    if llama:
        return Column(index, label, "prefill_tokens_per_s" if llama[1] == "pp" else "decode_tokens_per_s", "tok/s", 0.9)
    if IGNORED.search(body):
        return None
    return _latency(label, index, body, unit) or _rate(label, index, clean, body, unit)


def split_unit(clean: str) -> tuple[str, str]:
    """ "mean ttft (ms)" as ("mean ttft", "ms"); "ttft mean ms" as ("ttft mean", "ms")."""
    bracket = re.search(r"[(\[]([^)\]]{1,20})[)\]]", clean)
    unit = ""
    if bracket and (
        bracket[1].strip() in TIME_UNITS or "/" in bracket[1] or bracket[1].strip() in {"%", "gb", "mb", "gib"}
    ):
        unit = bracket[1].strip()
        clean = " ".join((clean[: bracket.start()] + " " + clean[bracket.end() :]).split())
    clean = " ".join(re.sub(r"[()\[\]:,]", " ", clean).split())
    last = clean.rsplit(" ", 1)[-1]
    if not unit and last in TIME_UNITS and " " in clean:
        unit, clean = last, clean.rsplit(" ", 1)[0]
    return clean, unit


def _latency(label: str, index: int, body: str, unit: str) -> Column | None:
    metric = next((name for name, pattern in METRICS if re.search(pattern, body)), None)
    if metric is None and re.fullmatch(r"p\d{2}", body):
        metric = "e2e"
    if metric is None:
        return None
    stat, sure = "mean", 0.6
    for pattern, name in STATS:
        match = re.search(pattern, body)
        if match:
            stat, sure = name or f"p{match[1]}", 0.8
            break
    return Column(index, label, f"{metric}_{stat}_s", TIME_UNITS.get(unit, "?"), sure)


def _rate(label: str, index: int, clean: str, body: str, unit: str) -> Column | None:
    """A rate of tokens without a word on which tokens; rates a GPU, a user, a watt or a dollar are none of the system."""
    if re.search(r"gpu|chip|device|user|request\b|watt|/ ?m?w\b|usd|\$|dollar|cost", clean):
        return None
    if unit in {"req/s", "requests/s", "reqs/s", "rps", "requests/sec", "req/sec"} and "throughput" in body:
        return Column(index, label, "requests_per_s", "req/s", 0.8)
    if (
        RATE_UNITS.match(unit)
        or RATE_UNITS.match(body)
        or re.search(r"\btokens?(?:/| per )s(?:ec(?:ond)?)?\b|\btok/s\b|\bt/s\b", clean)
    ):
        if re.search(r"prompt|prefill|input", body):
            return Column(index, label, "prefill_tokens_per_s", "tok/s", 0.5)
        if re.search(r"total", body):
            return Column(index, label, "total_tokens_per_s", "tok/s", 0.6)
        if re.search(r"output|generat|decode", body):
            return Column(index, label, "output_tokens_per_s", "tok/s", 0.6)
        return Column(index, label, AMBIGUOUS_RATE, "tok/s", 0.4)
    if re.search(r"\bthroughput\b", body) and not unit:
        return Column(index, label, AMBIGUOUS_RATE, "tok/s", 0.3)
    return None


def cell_number(cell: str, decimal_comma: bool = False) -> float | None:
    """The number of a cell, without bold marks, footnotes, links, "± x" and units; None for "-", "N/A", "OOM"."""
    text = re.sub(r"<sup>.{0,20}?</sup>|<[^>]{0,40}>|\*|`", "", cell[:200]).split("±")[0].strip()
    direct = number(text, decimal_comma)
    if direct is not None:
        return direct
    if text.endswith("%"):
        return number(text[:-1].strip(), decimal_comma)
    if decimal_comma:
        leading = re.match(r"[+-]?[\d.]*,?\d+", text)
        return number(leading[0], True) if leading else None
    parsed = quantity(text)
    if parsed is None or not re.fullmatch(r"[A-Za-zµ/ ]{0,16}", parsed[1]):
        return None
    return parsed[0] * LARGE.get(parsed[1].split(" ")[0], 1.0)


def cell_unit(cell: str) -> str:
    """The unit of time that a cell itself states ("250 ms"); empty for none."""
    parsed = quantity(re.sub(r"\*|`", "", cell[:100]).strip())
    return TIME_UNITS.get(parsed[1].lower(), "") if parsed else ""


def cell_text(cell: str) -> str:
    """The words of a cell: link targets, footnotes and bold marks gone."""
    text = re.sub(r"<sup>.{0,20}?</sup>|<[^>]{0,40}>|\*\*|`", "", cell[:500])
    return re.sub(r"\[([^\]]{0,200})\]\([^)]{0,400}\)", r"\1", text).strip()


def uses_decimal_comma(rows: list[list[str]], delimiter: str) -> bool:
    """Whether numbers are written 12,5: there are such cells, none like 12.5, and commas do not separate the
    columns.
    """
    cells = [cell.strip() for row in rows[:200] for cell in row]
    commas = sum(bool(re.fullmatch(r"[+-]?\d+,\d+", cell)) for cell in cells)
    dots = sum(bool(re.fullmatch(r"[+-]?\d+\.(?!\d{3}$)\d+", cell)) for cell in cells)  # 1.234 may be a thousand
    other_lengths = any(re.fullmatch(r"[+-]?\d+,(?:\d{1,2}|\d{4,})", cell) for cell in cells)
    return bool(commas) and not dots and (delimiter in {";", "\t"} or other_lengths)


def split_count(name: str) -> tuple[str, int | None]:
    """ "4090 24GB * 2" as ("4090 24GB", 2), "8xH100" as ("H100", 8)."""
    for pattern, order in ((r"(\d{1,4})\s?[x×]\s?(?=[A-Za-z])(.+)", (2, 1)), (r"(.+?)\s*[*×x]\s*(\d{1,4})", (1, 2))):
        match = re.fullmatch(pattern, name.strip())
        if match:
            return match[order[0]].strip(), int(match[order[1]])
    return name.strip(), None
