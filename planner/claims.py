"""What a published claim implies: throughput against FLOP/s, money against GPU-hours, latency against the memory floor. Pure.

Each function takes the facts of a claim and gives rows of `{label, arithmetic, value, verdict}`; a verdict is "ok", "only_if", "record"
(beyond the published record) or "roof" (beyond what the hardware can do).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from planner.formats import percent, seconds, sig, usd

Claim = Mapping[str, Any]
SECONDS_PER_DAY = 86_400.0
VERDICTS = ("ok", "only_if", "record", "roof")


@dataclass(frozen=True)
class Hardware:
    """Peaks of the GPU that a claim names: dense FLOP/s and bytes/s."""

    name: str
    bf16: float
    fp8: float
    bandwidth: float


@dataclass(frozen=True)
class Implied:
    """One thing that a claim implies."""

    label: str
    arithmetic: str
    value: str
    verdict: str = "ok"
    note: str = ""


def implied(claim: Claim, hardware: Hardware, record: Mapping[str, Any], market: tuple[float, float]) -> list[Implied]:
    """Everything that the claim's figures imply, in the order in which a reader would check them."""
    if claim["kind"] == "training":
        return [*_tokens(claim), *_flops(claim, hardware, record), *_utilisation(claim, record), *_saving(claim, market)]
    return [*_machine_price(claim, market), *_memory_floor(claim, hardware), *_little(claim)]


def worst(rows: list[Implied]) -> str:
    """The verdict of a claim: the worst of its rows."""
    return max((row.verdict for row in rows), key=VERDICTS.index, default="ok")


def _tokens(claim: Claim) -> list[Implied]:
    runs = [claim[side] for side in ("baseline", "optimised")]
    if not all("days" in run and "tokens_per_s_per_gpu" in run for run in runs):
        return []
    totals = [run["tokens_per_s_per_gpu"] * claim["gpus"] * run["days"] * SECONDS_PER_DAY for run in runs]
    arithmetic = "; ".join(
        f"{run['tokens_per_s_per_gpu']:,} × {claim['gpus']} × {run['days']} d = {total / 1e9:.1f}e9" for run, total in zip(runs, totals, strict=True)
    )
    agree = abs(totals[0] / totals[1] - 1) < 0.05
    return [Implied(
        _("Tokens of the run"), arithmetic, _("consistent") if agree else _("inconsistent"), "ok" if agree else "only_if",
    )]  # fmt: skip


def _flops(claim: Claim, hardware: Hardware, record: Mapping[str, Any]) -> list[Implied]:
    """6 FLOPs a parameter and token, against the dense peaks."""
    rows = []
    for side, label in (("baseline", _("Model FLOP/s of the baseline")), ("optimised", _("Model FLOP/s of the optimised run"))):
        speed = claim[side].get("tokens_per_s_per_gpu")
        if speed:
            rows.append(_flops_row(label, speed, claim.get("active_params_b", claim["params_b"]), hardware, record))
    return rows


def _flops_row(label: str, speed: float, params_b: float, hardware: Hardware, record: Mapping[str, Any]) -> Implied:
    flops = 6 * params_b * 1e9 * speed
    of_bf16, of_fp8 = flops / hardware.bf16, flops / hardware.fp8 if hardware.fp8 else None
    arithmetic = f"6 × {params_b:g}e9 × {speed:,} = {flops / 1e12:.0f} TFLOP/s"
    value = _("%(share)s of the dense BF16 peak (%(peak)s TFLOP/s)") % {"share": percent(of_bf16), "peak": sig(hardware.bf16 / 1e12, 4)}
    if of_fp8:
        value += _(", %(share)s of the FP8 peak") % {"share": percent(of_fp8)}
    verdict = _mfu_verdict(of_bf16, record["mfu"])
    if verdict == "ok":
        return Implied(label, arithmetic, value)
    if of_fp8 and of_fp8 <= record["mfu"]:
        note = _("In BF16 this is above anything published (%(source)s); it is possible only if mixed precision means FP8.") % {"source": _(record["source"])}
        return Implied(label, arithmetic, value, "only_if", note)
    return Implied(label, arithmetic, value, verdict, _(record["source"]))


def _mfu_verdict(mfu: float, record: float) -> str:
    return "roof" if mfu > 1 else "record" if mfu > record else "ok"


def _utilisation(claim: Claim, record: Mapping[str, Any]) -> list[Implied]:
    rows = []
    for side, label in (("baseline", _("MFU of the baseline")), ("optimised", _("MFU of the optimised run"))):
        mfu = claim[side].get("mfu")
        if mfu:
            verdict = _mfu_verdict(mfu, record["mfu"])
            note = _("Published: %(source)s.") % {"source": _(record["source"])} if verdict != "ok" else ""
            arithmetic = _("stated; the record is %(record)s") % {"record": percent(record["mfu"])}
            rows.append(Implied(label, arithmetic, percent(mfu), verdict, note))
    if len(rows) == 2:
        rows.append(Implied(_("Speed-up"), f"{claim['optimised']['mfu']:g} / {claim['baseline']['mfu']:g}", f"{claim['optimised']['mfu'] / claim['baseline']['mfu']:.2f}×"))
    return rows


def _saving(claim: Claim, market: tuple[float, float]) -> list[Implied]:
    saving = claim.get("saving_usd")
    if not saving or "days" not in claim["baseline"]:
        return []
    days = claim["baseline"]["days"] - claim["optimised"]["days"]
    hours = claim["gpus"] * days * 24
    price = saving / hours
    row = _price_row(_("Price of a GPU-hour"), f"{claim['gpus']} × {days} d × 24 h = {hours:,} GPU-h; {usd(saving)} / {hours:,}", price, market)
    return [row]


def _price_row(label: str, arithmetic: str, price: float, market: tuple[float, float]) -> Implied:
    low, high = market
    if price > high:
        note = _("%(times)s times the dearest hour on the market (%(high)s).") % {"times": sig(price / high, 2), "high": usd(high)}
    elif price < low:
        note = _("Far below the market (%(low)s to %(high)s).") % {"low": usd(low), "high": usd(high)}
    else:
        note = ""
    return Implied(label, arithmetic, usd(price), "only_if" if note else "ok", note)


def _machine_price(claim: Claim, market: tuple[float, float]) -> list[Implied]:
    """Dollars for the machine's hour, from the price of tokens and their rate."""
    rows = []
    for side, label in (("baseline", _("GPU-hour, baseline")), ("optimised", _("GPU-hour, optimised"))):
        figures = claim[side]
        hour = figures["usd_per_million_tokens"] * figures["tokens_per_s"] * 3600 / 1e6
        arithmetic = f"{usd(figures['usd_per_million_tokens'])} × {figures['tokens_per_s']:,} × 3,600 s / 1e6 = {usd(hour)} / h; / {claim['gpus']}"
        row = _price_row(label, arithmetic, hour / claim["gpus"], market)
        if row.verdict != "ok" and market[0] <= hour <= market[1]:
            note = _("Consistent only if the throughput is that of one GPU, or the price that of one.")
            row = Implied(row.label, row.arithmetic, row.value, "only_if", f"{row.note} {note}")
        rows.append(row)
    return rows


def _memory_floor(claim: Claim, hardware: Hardware) -> list[Implied]:
    """Time in which the 16-bit weights can be read: no token is faster, however few requests run."""
    weights = claim["params_b"] * 1e9 * 2
    one, all_of_them = weights / hardware.bandwidth, weights / hardware.bandwidth / claim["gpus"]
    rows = []
    for side, label in (("baseline", _("Time per token, baseline")), ("optimised", _("Time per token, optimised"))):
        tpot = claim[side]["tpot_s"]
        arithmetic = _("%(weights)s GB of 16-bit weights: %(one)s on one GPU, %(all)s on %(count)d") % {
            "weights": sig(weights / 1e9), "one": seconds(one), "all": seconds(all_of_them), "count": claim["gpus"],
        }  # fmt: skip
        value = _("%(low)s to %(high)s times the memory floor") % {"low": sig(tpot / one, 2), "high": sig(tpot / all_of_them, 2)}
        verdict = "roof" if tpot < all_of_them else "ok"
        note = _("A badly batched baseline: there is room.") if tpot > 10 * one else ""
        rows.append(Implied(label, arithmetic, value, verdict, note))
    return rows


def _little(claim: Claim) -> list[Implied]:
    """Requests in flight = tokens/s x seconds per token."""
    return [
        Implied(label, f"{claim[side]['tokens_per_s']:,} / s × {claim[side]['tpot_s'] * 1e3:g} ms", sig(claim[side]["tokens_per_s"] * claim[side]["tpot_s"]))
        for side, label in (("baseline", _("Requests in flight, baseline")), ("optimised", _("Requests in flight, optimised")))
    ]
