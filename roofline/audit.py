"""Claim audit: what a claimed figure implies, which roof or record it breaks, and which reading would make it
consistent.

Pure arithmetic on what a claim says, the model's size and the hardware's roofs; no fitted coefficient takes part.
Every finding carries the
numbers and the sentence that derives them, so that a reader can redo it by hand.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from roofline.columns import Model
from roofline.hardware import Gpu
from roofline.units import DAY, GIGA, HOUR, MEGA, TERA

HOURS_PER_YEAR = 8760.0
# Figures that a claim may state: name -> (unit, sentence for forms and documentation).
CLAIMS: dict[str, tuple[str, str]] = {
    "tokens_per_s_per_gpu": ("tokens/s/GPU", "Training or serving throughput of one GPU."),
    "tokens_per_s": ("tokens/s", "Throughput of the whole system (serving: output tokens)."),
    "time_days": ("days", "Time of the run."),
    "mfu": ("share", "Model FLOPs utilisation, 0 to 1."),
    "tpot_s": ("s", "Time of one output token of one request."),
    "usd_per_million_tokens": ("$", "Price of a million tokens."),
    "usd_per_hour": ("$/h", "Price of the whole machine for an hour."),
    "usd_saved": ("$", "What the change saves in one run."),
    "usd_wasted_per_year": ("$/year", "What is lost in a year for want of tuning."),
}
# Dearer than any dated on-demand offer, cheaper than any: outside of this a $/GPU/h needs a reason.
USUAL_USD_PER_GPU_HOUR = (0.5, 12.0)
SAME = 0.05  # two figures within 5 % say the same
MOST_SERVING_BANDWIDTH = 1.0


@dataclass(frozen=True)
class Record:
    """The published record of a class of runs: median and best MFU, and where the best is from."""

    label: str
    runs: int
    median_mfu: float
    best_mfu: float
    source: str


@dataclass(frozen=True)
class Finding:
    """`kind`: implied (a derived figure), consistent, inconsistent, roof (broken), record (beyond it), reading (what
    would repair it)."""

    kind: str
    quantity: str
    value: float | None
    unit: str
    sentence: str


@dataclass(frozen=True)
class Subject:
    """What the claim is about."""

    workload: str
    model: Model
    gpu: Gpu
    gpus: int
    precision: str  # of the matrix products
    weight_bytes: float  # as stored
    market_usd_per_gpu_hour: tuple[float, float] = USUAL_USD_PER_GPU_HOUR
    record: Record | None = None


Figures = Mapping[str, float]


def _states(claim: Figures, before: Figures) -> Iterator[tuple[Figures, str]]:
    """What a claim compares, with the word for it."""
    if before:
        yield before, "before"
    yield claim, "after" if before else "claimed"


def audit(subject: Subject, claim: Figures, before: Figures | None = None) -> dict[str, Any]:
    """Findings and a verdict for `claim`, and for the state `before` where the claim compares.

    Unknown figures raise KeyError.
    """
    for name in (*claim, *(before or {})):
        CLAIMS[name]
    findings = list(_findings(subject, claim, before or {}))
    return {"verdict": verdict(findings), "findings": [asdict(finding) for finding in findings]}


def verdict(findings: list[Finding]) -> str:
    """plausible, plausible only if …, beyond the published record, beyond the roof, inconsistent."""
    kinds = {finding.kind for finding in findings}
    readings = [finding.sentence for finding in findings if finding.kind == "reading"]
    if "roof" in kinds and not readings:
        return "beyond the roof"
    if readings:
        return f"plausible only if {readings[0][0].lower()}{readings[0][1:].rstrip('.')}"
    if "record" in kinds:
        return "beyond the published record"
    return "inconsistent" if "inconsistent" in kinds else "plausible"


def _findings(subject: Subject, claim: Figures, before: Figures) -> Iterator[Finding]:
    if subject.workload == "training":
        yield from _training_rate(subject, claim)
        yield from _same_work(subject, claim, before)
    else:
        yield from _decode_floor(subject, claim, before)
    yield from _mfu(subject, claim)
    yield from _hourly_price(subject, claim, before)
    yield from _saving(subject, claim, before)
    yield from _waste(subject, claim, before)


def _rate_per_gpu(subject: Subject, figures: Figures) -> float | None:
    if "tokens_per_s_per_gpu" in figures:
        return figures["tokens_per_s_per_gpu"]
    return figures["tokens_per_s"] / subject.gpus if "tokens_per_s" in figures else None


def training_flops_per_token(model: Model) -> float:
    """6 N: FLOPs of one trained token without attention scores, N the active parameters."""
    return 6.0 * float(model.active_params)


def _training_rate(subject: Subject, claim: Figures) -> Iterator[Finding]:
    rate = _rate_per_gpu(subject, claim)
    if rate is None:
        return
    achieved = training_flops_per_token(subject.model) * rate
    billions = float(subject.model.active_params) / GIGA
    yield Finding(
        "implied",
        "tflops_per_gpu",
        achieved / TERA,
        "TFLOP/s",
        f"6 x {billions:,.4g}e9 x {rate:,.4g} tokens/s = {achieved / TERA:,.4g} TFLOP/s per GPU.",
    )
    shares = {dtype: achieved / peak for dtype in ("bf16", "fp8", "fp4") if (peak := subject.gpu.peak(dtype))}
    for dtype, share in shares.items():
        yield Finding(
            "implied",
            f"mfu_{dtype}",
            share,
            "share",
            f"{share:.1%} of the dense {dtype.upper()} peak of {subject.gpu.peak(dtype) / TERA:,.4g} TFLOP/s.",
        )
    yield from _against_record(subject, shares)


def _against_record(subject: Subject, shares: Mapping[str, float]) -> Iterator[Finding]:
    own = "fp8" if subject.precision in ("fp8", "mxfp8") else "fp4" if subject.precision == "nvfp4" else "bf16"
    share, record = shares.get(own), subject.record
    if share is None:
        return
    if share >= 1:
        yield Finding("roof", f"mfu_{own}", share, "share", f"More than the {own.upper()} roof of the hardware.")
    elif record and share > record.best_mfu:
        yield _beyond(record, share)
    else:
        return
    best = record.best_mfu if record else 0.6
    for dtype, other in shares.items():
        if dtype != own and other <= best < share:
            yield Finding(
                "reading",
                f"mfu_{dtype}",
                other,
                "share",
                f"The products run in {dtype.upper()}: then it is {other:.1%} of that peak.",
            )
            return


def _beyond(record: Record, share: float) -> Finding:
    return Finding(
        "record",
        "mfu",
        record.best_mfu,
        "share",
        f"{share:.1%} is above the best of {record.runs:,} published runs of {record.label}: "
        f"{record.best_mfu:.1%} (median {record.median_mfu:.1%}; {record.source}).",
    )


def _mfu(subject: Subject, claim: Figures) -> Iterator[Finding]:
    share = claim.get("mfu")
    if share is None:
        return
    if share >= 1:
        yield Finding("roof", "mfu", share, "share", "An MFU of 100 % or more is beyond the roof.")
    elif subject.record and share > subject.record.best_mfu:
        yield _beyond(subject.record, share)


def _same_work(subject: Subject, claim: Figures, before: Figures) -> Iterator[Finding]:
    """Rate times time is the number of tokens: it must be the same before and after."""
    tokens = {
        word: rate * subject.gpus * figures["time_days"] * DAY
        for figures, word in _states(claim, before)
        if "time_days" in figures and (rate := _rate_per_gpu(subject, figures)) is not None
    }
    for word, total in tokens.items():
        sentence = f"Rate x {subject.gpus} GPUs x days = {total / GIGA:,.1f}e9 tokens ({word})."
        yield Finding("implied", f"tokens_{word}", total, "tokens", sentence)
    if len(tokens) == 2:
        ratio = tokens["after"] / tokens["before"]
        kind, word = (
            ("consistent", "the same work") if abs(ratio - 1) <= SAME else ("inconsistent", "not the same work")
        )
        yield Finding(kind, "tokens_ratio", ratio, "ratio", f"After / before = {ratio:.3f}: {word}.")


def _decode_floor(subject: Subject, claim: Figures, before: Figures) -> Iterator[Finding]:
    """A decode step reads every weight once: on one GPU, and shared by all."""
    if "tpot_s" not in claim and "tpot_s" not in before:
        return
    one = subject.weight_bytes / subject.gpu.bandwidth
    shared = one / subject.gpus
    yield Finding(
        "implied",
        "weights_read_s",
        shared,
        "s",
        f"{subject.weight_bytes / GIGA:,.4g} GB of weights take {one * 1e3:.1f} ms on one GPU, "
        f"{shared * 1e3:.1f} ms on {subject.gpus} with tensor parallelism.",
    )
    for figures, word in _states(claim, before):
        if tpot := figures.get("tpot_s"):
            times = f"{tpot / one:.0f} to {tpot / shared:.0f} times"
            sentence = f"{tpot * 1e3:.0f} ms per token ({word}) is {times} the memory floor."
            yield Finding("implied", f"times_floor_{word}", tpot / one, "ratio", sentence)
            if tpot < shared * MOST_SERVING_BANDWIDTH:
                yield Finding(
                    "roof", "tpot_s", tpot, "s", f"Faster than the weights can be read ({shared * 1e3:.2f} ms)."
                )


def _hourly_price(subject: Subject, claim: Figures, before: Figures) -> Iterator[Finding]:
    """Dollars per token times tokens per hour is the price of the machine."""
    low, high = subject.market_usd_per_gpu_hour
    for figures, word in _states(claim, before):
        rate = figures.get("tokens_per_s") or (figures.get("tokens_per_s_per_gpu", 0.0) * subject.gpus)
        price = figures.get("usd_per_million_tokens")
        if not rate or price is None:
            continue
        hourly = price * rate * HOUR / MEGA
        each = hourly / subject.gpus
        yield Finding(
            "implied",
            f"usd_per_hour_{word}",
            hourly,
            "$/h",
            f"${price:g} per million x {rate:,.4g} tokens/s = ${hourly:.2f} per hour, "
            f"${each:.2f} per GPU-hour ({word}).",
        )
        if each < low:
            yield Finding(
                "inconsistent",
                f"usd_per_gpu_hour_{word}",
                each,
                "$/GPU/h",
                f"${each:.2f} per GPU-hour is below the market (${low:.2f} to ${high:.2f}).",
            )
            if low <= hourly <= high:
                yield Finding(
                    "reading",
                    f"usd_per_gpu_hour_{word}",
                    hourly,
                    "$/GPU/h",
                    "The throughput is that of one GPU, or the price is for one GPU.",
                )
        elif each > high:
            yield Finding(
                "inconsistent",
                f"usd_per_gpu_hour_{word}",
                each,
                "$/GPU/h",
                f"${each:.2f} per GPU-hour is above the market (${low:.2f} to ${high:.2f}).",
            )


def _saving(subject: Subject, claim: Figures, before: Figures) -> Iterator[Finding]:
    if not {"usd_saved", "time_days"} <= claim.keys() or "time_days" not in before:
        return
    hours = subject.gpus * (before["time_days"] - claim["time_days"]) * 24
    if hours <= 0:
        yield Finding("inconsistent", "gpu_hours_saved", hours, "GPU-h", "The run got no shorter, so nothing is saved.")
        return
    each = claim["usd_saved"] / hours
    low, high = subject.market_usd_per_gpu_hour
    days = before["time_days"] - claim["time_days"]
    saved = f"{subject.gpus} GPUs x {days:g} days x 24 h = {hours:,.0f} GPU-hours saved"
    sentence = f"{saved}: ${each:.2f} per GPU-hour."
    yield Finding("implied", "usd_per_gpu_hour", each, "$/GPU/h", sentence)
    if not low <= each <= high:
        yield Finding(
            "inconsistent",
            "usd_per_gpu_hour",
            each,
            "$/GPU/h",
            f"Outside the market (${low:.2f} to ${high:.2f} per GPU-hour).",
        )


def wasted_gpu_hours(achieved: float, achievable: float, gpus: float, hours: float = HOURS_PER_YEAR) -> float:
    """GPU-hours lost when `achieved` is reached where `achievable` could be: (achievable - achieved) / achievable x
    GPUs x hours."""
    return (achievable - achieved) / achievable * gpus * hours


def _waste(subject: Subject, claim: Figures, before: Figures) -> Iterator[Finding]:
    if "usd_wasted_per_year" not in claim or "mfu" not in claim or "mfu" not in before:
        return
    hours = wasted_gpu_hours(before["mfu"], claim["mfu"], subject.gpus)
    each = claim["usd_wasted_per_year"] / hours
    share = f"({claim['mfu']:.2f} - {before['mfu']:.2f}) / {claim['mfu']:.2f}"
    sentence = f"{share} x {subject.gpus} GPUs x 8,760 h = {hours:,.0f} GPU-hours: ${each:.2f} per GPU-hour."
    yield Finding("implied", "gpu_hours_wasted", hours, "GPU-h", sentence)
    yield Finding("implied", "usd_per_gpu_hour", each, "$/GPU/h", f"${each:.2f} per GPU-hour.")
