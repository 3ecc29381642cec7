"""Claim audit: what a claimed figure implies, which roof or record it breaks, and which reading would make it
consistent.

Pure arithmetic on what a claim says, the model's size and the hardware's roofs; no fitted coefficient takes part.
Every finding carries the
numbers and the sentence that derives them, so that a reader can redo it by hand.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from roofline.columns import Model
from roofline.hardware import Gpu
from roofline.units import DAY, GIGA, HOUR, HOURS_PER_YEAR, MEGA, TERA

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
BEST_MFU = 0.6  # of published training, where no record of the class is known
MOST_TOKENS_A_STEP = 4.0  # that speculative decoding is known to yield in the mean
TRAINED_FLOPS, ADAPTER_FLOPS = 6.0, 4.0  # FLOPs of a parameter and token: all weights trained, or adapters beside them


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
    weight_bytes: float  # of the parameters that one token uses, as stored
    market_usd_per_gpu_hour: tuple[float, float] = USUAL_USD_PER_GPU_HOUR
    record: Record | None = None  # of runs in this precision
    other_records: Mapping[str, Record] = field(default_factory=dict)  # of the other types that a reading may name
    flops_per_param: float = TRAINED_FLOPS
    run_tokens: float | None = None  # of the whole run, where the scenario says so


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
    """plausible, plausible only if …, beyond the published record, beyond the roof, inconsistent.

    A reading repairs what is wrong with figures of its own kind (MFU, time, dollars), and nothing else.
    """
    readings = {_topic(finding): finding.sentence for finding in findings if finding.kind == "reading"}
    wrong = [finding for finding in findings if finding.kind in FAULTS and _topic(finding) not in readings]
    kinds = {finding.kind for finding in wrong}
    for kind, words in FAULTS.items():
        if kind in kinds and (kind != "inconsistent" or not readings):
            return words
    if not readings:
        return "plausible"
    reasons = [f"{sentence[0].lower()}{sentence[1:].rstrip('.')}" for sentence in readings.values()]
    doubts = [finding.sentence.rstrip(".") for finding in wrong]
    return "; but ".join([f"plausible only if {' and '.join(reasons)}", *doubts])


# What speaks against a claim, the worst first, and the verdict where nothing repairs it.
FAULTS = {"roof": "beyond the roof", "record": "beyond the published record", "inconsistent": "inconsistent"}


def _topic(finding: Finding) -> str:
    """Which figure a finding is about: mfu, tpot, tokens, usd, gpu."""
    return finding.quantity.partition("_")[0]


def _dollars(value: float) -> str:
    """Dollars and cents, half a cent up."""
    return f"${Decimal(value).quantize(Decimal('0.01'), ROUND_HALF_UP):,}"


def _findings(subject: Subject, claim: Figures, before: Figures) -> Iterator[Finding]:
    if subject.workload == "training":
        yield from _training_rate(subject, claim)
        yield from _same_work(subject, claim, before)
    else:
        yield from _decode_floor(subject, claim, before)
        yield from _serving_rate(subject, claim)
        yield from _in_flight(subject, claim, before)
    yield from _mfu(subject, claim)
    yield from _hourly_price(subject, claim, before)
    yield from _stated_price(subject, claim, before)
    yield from _saving(subject, claim, before)
    yield from _waste(subject, claim, before)


def _rate_per_gpu(subject: Subject, figures: Figures) -> float | None:
    if "tokens_per_s_per_gpu" in figures:
        return figures["tokens_per_s_per_gpu"]
    if "tokens_per_s" in figures:
        return figures["tokens_per_s"] / subject.gpus
    if subject.run_tokens and "time_days" in figures:  # the length of the run and its time say the rate
        return subject.run_tokens / (figures["time_days"] * DAY * subject.gpus)
    return None


def _training_rate(subject: Subject, claim: Figures) -> Iterator[Finding]:
    """FLOPs of training without attention scores: 6 for each active parameter and token, 4 where it is frozen."""
    rate = _rate_per_gpu(subject, claim)
    if rate is None:
        return
    achieved = subject.flops_per_param * float(subject.model.active_params) * rate
    yield _achieved(subject.flops_per_param, float(subject.model.active_params), rate, achieved)
    shares = {dtype: achieved / peak for dtype in ("bf16", "fp8", "fp4") if (peak := subject.gpu.peak(dtype))}
    for dtype, share in shares.items():
        yield _share_of_peak(subject, dtype, share)
    yield from _against_record(subject, shares)


def _achieved(factor: float, params: float, rate: float, achieved: float) -> Finding:
    arithmetic = f"{factor:g} x {params / GIGA:,.4g}e9 x {rate:,.4g} tokens/s"
    sentence = f"{arithmetic} = {achieved / TERA:,.4g} TFLOP/s per GPU."
    return Finding("implied", "tflops_per_gpu", achieved / TERA, "TFLOP/s", sentence)


def _share_of_peak(subject: Subject, dtype: str, share: float) -> Finding:
    sentence = f"{share:.1%} of the dense {dtype.upper()} peak of {subject.gpu.peak(dtype) / TERA:,.4g} TFLOP/s."
    return Finding("implied", f"mfu_{dtype}", share, "share", sentence)


def peak_of(precision: str) -> str:
    """The type whose peak a precision of training or serving is measured against: bf16, fp8, int8 or fp4."""
    return {"fp8": "fp8", "fp8_block": "fp8", "mxfp8": "fp8", "int8": "int8", "nvfp4": "fp4", "mxfp4": "fp4"}.get(
        precision, "bf16"
    )


def _serving_rate(subject: Subject, claim: Figures) -> Iterator[Finding]:
    """Every token costs at least 2 FLOPs a parameter that it uses, whatever the batch."""
    rate, flops = _rate_per_gpu(subject, claim), float(subject.model.flops_per_token)
    if rate is None or not flops:
        return
    achieved = flops * rate
    yield _achieved(2.0, flops / 2.0, rate, achieved)
    peaks = {dtype: peak for dtype in ("bf16", "int8", "fp8", "fp4") if (peak := subject.gpu.peak(dtype))}
    own = peak_of(subject.precision)
    if own in peaks:
        yield _share_of_peak(subject, own, achieved / peaks[own])
    if peaks and achieved > max(peaks.values()):
        fastest = max(peaks, key=lambda dtype: peaks[dtype])
        sentence = f"More than the {fastest.upper()} roof, the fastest of the hardware."
        yield Finding("roof", f"tokens_roof_{fastest}", achieved / peaks[fastest], "share", sentence)


def _in_flight(subject: Subject, claim: Figures, before: Figures) -> Iterator[Finding]:
    """Little's law: tokens/s times the time of one is the number of requests in flight."""
    for figures, word in _states(claim, before):
        rate, tpot = _rate_per_gpu(subject, figures), figures.get("tpot_s")
        if rate is not None and tpot is not None:
            together = rate * subject.gpus * tpot
            sentence = f"{rate * subject.gpus:,.4g} tokens/s x {tpot * 1e3:.4g} ms = {together:,.3g} requests in flight"
            yield Finding("implied", f"concurrency_{word}", together, "requests", f"{sentence} ({word}).")


def _against_record(subject: Subject, shares: Mapping[str, float]) -> Iterator[Finding]:
    own = peak_of(subject.precision)
    share, record = shares.get(own), subject.record
    if share is None:
        return
    if share >= 1:
        yield Finding("roof", f"mfu_{own}", share, "share", f"More than the {own.upper()} roof of the hardware.")
    elif record and share > record.best_mfu:
        yield _beyond(record, share)
    else:
        return
    for dtype, other in shares.items():
        known = subject.other_records.get(dtype, record)
        if dtype != own and other <= (known.best_mfu if known else BEST_MFU):
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
    achieved = share * subject.gpu.peak(peak_of(subject.precision))
    if achieved and subject.workload == "training":
        rate = achieved / (subject.flops_per_param * float(subject.model.active_params))
        sentence = f"{share:.1%} is {achieved / TERA:,.4g} TFLOP/s per GPU: {rate:,.4g} tokens/s per GPU."
        yield Finding("implied", "tokens_per_s_per_gpu", rate, "tokens/s", sentence)
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
    """A decode step reads every weight that its token uses: on one GPU, and shared by all."""
    if "tpot_s" not in claim and "tpot_s" not in before:
        return
    one = subject.weight_bytes / subject.gpu.bandwidth
    shared = one / subject.gpus
    which = "active weights" if subject.model.is_moe else "weights"
    yield Finding(
        "implied",
        "weights_read_s",
        shared,
        "s",
        f"{subject.weight_bytes / GIGA:,.4g} GB of {which} take {one * 1e3:.1f} ms on one GPU, "
        f"{shared * 1e3:.1f} ms on {subject.gpus} with tensor parallelism.",
    )
    # Tables that are only looked up need not be read: no roof rests on them.
    active = float(subject.model.active_params)
    roof = shared * min(1.0, float(subject.model.flops_per_token) / 2.0 / active or 1.0)
    for figures, word in _states(claim, before):
        if tpot := figures.get("tpot_s"):
            times = " to ".join(dict.fromkeys(f"{tpot / floor:.3g}" for floor in (one, shared))) + " times"
            sentence = f"{tpot * 1e3:.4g} ms per token ({word}) is {times} the memory floor."
            yield Finding("implied", f"times_floor_{word}", tpot / one, "ratio", sentence)
            if tpot < roof:
                yield from _below_the_floor(tpot, roof)


def _below_the_floor(tpot: float, roof: float) -> Iterator[Finding]:
    yield Finding("roof", "tpot_s", tpot, "s", f"Faster than the weights can be read ({roof * 1e3:.2f} ms).")
    if roof <= tpot * MOST_TOKENS_A_STEP:
        sentence = f"Each step yields {roof / tpot:.1f} tokens, as speculative decoding can."
        yield Finding("reading", "tpot_s", roof / tpot, "tokens", sentence)


def _hourly_price(subject: Subject, claim: Figures, before: Figures) -> Iterator[Finding]:
    """Dollars per token times tokens per hour is the price of the machine."""
    for figures, word in _states(claim, before):
        rate, price = _rate_per_gpu(subject, figures), figures.get("usd_per_million_tokens")
        if not rate or price is None:
            continue
        rate *= subject.gpus
        hourly = price * rate * HOUR / MEGA
        each = hourly / subject.gpus
        yield Finding(
            "implied",
            f"usd_per_hour_{word}",
            hourly,
            "$/h",
            f"${price:g} per million x {rate:,.4g} tokens/s = {_dollars(hourly)} per hour, "
            f"{_dollars(each)} per GPU-hour ({word}).",
        )
        yield from _against_market(subject, each, f"usd_per_gpu_hour_{word}")
        low, high = subject.market_usd_per_gpu_hour
        if each < low <= hourly <= high:
            sentence = "The throughput is that of one GPU, or the price is for one GPU."
            yield Finding("reading", f"usd_per_gpu_hour_{word}", hourly, "$/GPU/h", sentence)
        if stated := figures.get("usd_per_hour"):
            yield _same_price(hourly / stated, word)


def _same_price(ratio: float, word: str) -> Finding:
    same = abs(ratio - 1) <= SAME
    sentence = f"Price of the tokens of an hour / stated price of an hour = {ratio:.3g} ({word})"
    return Finding(
        "consistent" if same else "inconsistent",
        f"usd_per_hour_ratio_{word}",
        ratio,
        "ratio",
        f"{sentence}: {'they agree' if same else 'they do not agree'}.",
    )


def _stated_price(subject: Subject, claim: Figures, before: Figures) -> Iterator[Finding]:
    """A price of the machine is one of each GPU."""
    for figures, word in _states(claim, before):
        if hourly := figures.get("usd_per_hour"):
            each = hourly / subject.gpus
            sentence = f"{_dollars(hourly)} per hour / {subject.gpus} GPUs = {_dollars(each)} per GPU-hour ({word})."
            yield Finding("implied", f"usd_per_gpu_hour_stated_{word}", each, "$/GPU/h", sentence)
            yield from _against_market(subject, each, f"usd_per_gpu_hour_stated_{word}")


def _against_market(subject: Subject, each: float, quantity: str) -> Iterator[Finding]:
    low, high = subject.market_usd_per_gpu_hour
    if not low <= each <= high:
        where = "below" if each < low else "above"
        sentence = f"{_dollars(each)} per GPU-hour is {where} the market ({_dollars(low)} to {_dollars(high)})."
        yield Finding("inconsistent", quantity, each, "$/GPU/h", sentence)


def _saving(subject: Subject, claim: Figures, before: Figures) -> Iterator[Finding]:
    if not {"usd_saved", "time_days"} <= claim.keys() or "time_days" not in before:
        return
    days = before["time_days"] - claim["time_days"]
    hours = subject.gpus * days * 24
    if hours <= 0:
        yield Finding("inconsistent", "gpu_hours_saved", hours, "GPU-h", "The run got no shorter, so nothing is saved.")
        return
    each = claim["usd_saved"] / hours
    saved = f"{subject.gpus} GPUs x {days:g} days x 24 h = {hours:,.0f} GPU-hours saved"
    yield Finding("implied", "usd_per_gpu_hour", each, "$/GPU/h", f"{saved}: {_dollars(each)} per GPU-hour.")
    yield from _against_market(subject, each, "usd_per_gpu_hour")


def wasted_gpu_hours(achieved: float, achievable: float, gpus: float, hours: float = HOURS_PER_YEAR) -> float:
    """GPU-hours lost when `achieved` is reached where `achievable` could be: (achievable - achieved) / achievable x
    GPUs x hours."""
    return (achievable - achieved) / achievable * gpus * hours


def _waste(subject: Subject, claim: Figures, before: Figures) -> Iterator[Finding]:
    if "usd_wasted_per_year" not in claim or "mfu" not in claim or "mfu" not in before:
        return
    hours = wasted_gpu_hours(before["mfu"], claim["mfu"], subject.gpus)
    if hours <= 0:
        sentence = "The MFU got no higher, so nothing was wasted."
        yield Finding("inconsistent", "gpu_hours_wasted", hours, "GPU-h", sentence)
        return
    each = claim["usd_wasted_per_year"] / hours
    share = f"({claim['mfu']:.2f} - {before['mfu']:.2f}) / {claim['mfu']:.2f}"
    sentence = f"{share} x {subject.gpus} GPUs x 8,760 h = {hours:,.0f} GPU-hours: {_dollars(each)} per GPU-hour."
    yield Finding("implied", "gpu_hours_wasted", hours, "GPU-h", sentence)
    yield Finding("implied", "usd_per_gpu_hour", each, "$/GPU/h", f"{_dollars(each)} per GPU-hour.")
    yield from _against_market(subject, each, "usd_per_gpu_hour")
