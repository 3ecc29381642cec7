"""How numbers are written on every page: three significant digits, thousands separated, SI for rates, GiB for sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal

EMPTY = "–"
_SI = (
    (1e18, "E"),
    (1e15, "P"),
    (1e12, "T"),
    (1e9, "G"),
    (1e6, "M"),
    (1e3, "k"),
    (1.0, ""),
    (1e-3, "m"),
    (1e-6, "µ"),
    (1e-9, "n"),
)
_SECONDS = (  # from how many seconds on, seconds of the unit, unit
    (172_800.0, 86_400.0, "d"),
    (7_200.0, 3_600.0, "h"),
    (120.0, 60.0, "min"),
    (0.9995, 1.0, "s"),
    (0.9995e-3, 1e-3, "ms"),
    (0.0, 1e-6, "µs"),
)


def is_number(value: object) -> bool:
    """True for a finite int or float (bool is no number here)."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def sig(value: object, digits: int = 3) -> str:
    """`digits` significant digits, thousands separated: 2310.4 -> 2,310; 0.012345 -> 0.0123."""
    if not is_number(value):
        return EMPTY
    number = float(value)  # type: ignore[arg-type]
    if number == 0:
        return "0"
    rounded = float(f"{number:.{digits - 1}e}")
    if abs(rounded) >= 1e12:
        return f"{rounded:.{digits - 1}e}".replace("e+", "e")
    decimals = digits - 1 - math.floor(math.log10(abs(rounded)))
    text = f"{rounded:,.{max(decimals, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text and abs(rounded) < 1 else text


def whole(value: object) -> str:
    """All digits of a count, thousands separated."""
    return f"{round(float(value)):,}" if is_number(value) else EMPTY  # type: ignore[arg-type]


def si(value: object, unit: str = "") -> str:
    """With an SI prefix: 9.89e14, FLOP/s -> 989 TFLOP/s."""
    if not is_number(value):
        return EMPTY
    number = float(value)  # type: ignore[arg-type]
    scale, prefix = next(((s, p) for s, p in _SI if abs(number) >= s * 0.9995), (1.0, ""))
    return f"{sig(number / scale)} {prefix}{unit}".rstrip()


def gib(value: object) -> str:
    """Bytes as GiB, or MiB below a hundredth."""
    if not is_number(value):
        return EMPTY
    number = float(value)  # type: ignore[arg-type]
    if 0 < abs(number) < 2**30 / 100:
        return f"{sig(number / 2**20)} MiB"
    return f"{sig(number / 2**30)} GiB"


def seconds(value: object) -> str:
    """A duration in the unit that reads best, from µs to days."""
    if not is_number(value):
        return EMPTY
    number = float(value)  # type: ignore[arg-type]
    if number == 0:
        return "0 s"
    scale, unit = next(((scale, unit) for least, scale, unit in _SECONDS if abs(number) >= least), _SECONDS[-1][1:])
    return f"{sig(number / scale)} {unit}"


def usd(value: object) -> str:
    """Dollars: cents up to a thousand, whole dollars up to ten thousand, else three digits; $3.13 M from a million on."""
    if not is_number(value):
        return EMPTY
    number = float(value)  # type: ignore[arg-type]
    sign, size = ("-" if number < 0 else ""), abs(number)
    if size >= 999_500:
        return f"{sign}${sig(size / 1e6)} M"
    if size >= 9_999.5:
        return f"{sign}${sig(size)}"
    if size >= 999.995:
        return f"{sign}${size:,.0f}"
    if 0 < size < 0.1:
        return f"{sign}${sig(size)}"
    return f"{sign}${Decimal(size).quantize(Decimal('0.01'), ROUND_HALF_UP)}"


def energy(value: object) -> str:
    """kWh with the prefix that reads best: 0.526 -> 526 Wh; unknown where it is nothing."""
    return si(float(value) * 1e3, "Wh") if is_number(value) and value else EMPTY  # type: ignore[arg-type]


def power(value: object) -> str:
    """Watts with the prefix that reads best; unknown where it is nothing."""
    return si(value, "W") if value else EMPTY


def percent(value: object, digits: int = 3) -> str:
    """A share as per cent: 0.4312 -> 43.1 %."""
    return f"{sig(float(value) * 100, digits)} %" if is_number(value) else EMPTY  # type: ignore[arg-type]


def exact(value: object) -> str:
    """A published figure with all its digits: 1,923."""
    return f"{float(value):,.10g}" if is_number(value) else EMPTY  # type: ignore[arg-type]


def ratio(value: object) -> str:
    """A factor: 2.27x."""
    return f"{sig(value)}×" if is_number(value) else EMPTY


FORMATS = {
    "energy": energy,
    "exact": exact,
    "power": power,
    "sig": sig,
    "whole": whole,
    "gib": gib,
    "seconds": seconds,
    "usd": usd,
    "percent": percent,
    "ratio": ratio,
}


def formatted(value: object, kind: str) -> str:
    """Writes a value by the name of its format; `si:UNIT` carries its unit."""
    if kind.startswith("si:"):
        return si(value, kind.removeprefix("si:"))
    return FORMATS[kind](value)


def ranged(value: object, pair: Sequence[float] | None, kind: str = "sig") -> str:
    """`1,840 (1,610–2,050)`; the unit of the value stands once, at the end of the bracket's partner."""
    text = formatted(value, kind)
    if not is_number(value) or not pair or len(pair) != 2 or not all(is_number(end) for end in pair):
        return text
    low, high = (formatted(end, kind) for end in pair)
    return f"{text} ({_strip_unit(low, high)}–{high})"


def _strip_unit(low: str, high: str) -> str:
    """Leaves the unit out of the low end where both ends have the same."""
    number, _, unit = low.partition(" ")
    return number if unit and high.endswith(f" {unit}") else low
