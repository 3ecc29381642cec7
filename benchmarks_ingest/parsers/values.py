"""Numbers, durations and units as benchmark tools write them."""

import math
import re
from collections.abc import Mapping
from typing import Any

# What one of a unit is in SI. Rates stay "per second"; a percentage becomes a fraction.
UNIT_SCALE: Mapping[str, float] = {
    "": 1.0,
    "s": 1.0,
    "sec": 1.0,
    "seconds": 1.0,
    "ms": 1e-3,
    "us": 1e-6,
    "µs": 1e-6,
    "ns": 1e-9,
    "min": 60.0,
    "h": 3600.0,
    "tok/s": 1.0,
    "req/s": 1.0,
    "req/min": 1 / 60,
    "samples/s": 1.0,
    "tokens": 1.0,
    "requests": 1.0,
    "samples": 1.0,
    "B": 1.0,
    "KB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "TB": 1e12,
    "KiB": 2.0**10,
    "MiB": 2.0**20,
    "GiB": 2.0**30,
    "TiB": 2.0**40,
    "TFLOP/s": 1.0,
    "GFLOP/s": 1e-3,
    "%": 1e-2,
    "fraction": 1.0,
    "FLOP": 1.0,
    "1/s": 1.0,
}

_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_THOUSANDS_EU = re.compile(r"[+-]?\d{1,3}(?:[.\s'\u00a0\u202f]\d{3})+,\d+|[+-]?\d{1,3}(?:[\s'\u00a0\u202f]\d{3})+")
_THOUSANDS_DOTS = re.compile(r"[+-]?\d{1,3}(?:\.\d{3})+")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
_PLAIN = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_LEADING = re.compile(r"\s*~?\s*([+-]?(?:\d[\d,]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(.*)", re.DOTALL)
_HUMAN = {"K": 1e3, "M": 1e6, "G": 1e9, "B": 1e9, "T": 1e12, "P": 1e15, "k": 1e3}
_GO_DURATION = re.compile(r"(\d+(?:\.\d+)?)(h|ms|µs|us|ns|m|s)")
_ISO_DURATION = re.compile(r"P(?:(\d+)D)?T?(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?")
_CLOCK = re.compile(r"(?:(\d+)\s+days?,\s*)?(\d+):(\d{2}):(\d{2}(?:\.\d+)?)")


def number(value: Any, decimal_comma: bool = False) -> float | None:
    """A finite float, or None for anything that is not one (NaN, Infinity, "inf", text, booleans, None)."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return _finite(value)
    return _from_text(value.strip(), decimal_comma) if isinstance(value, str) and len(value) < 64 else None


def _finite(value: float) -> float | None:
    try:
        result = float(value)
    except OverflowError:
        return None
    return result if math.isfinite(result) else None


def _from_text(text: str, decimal_comma: bool) -> float | None:
    if not decimal_comma and _THOUSANDS.fullmatch(text):
        text = text.replace(",", "")
    elif _THOUSANDS_EU.fullmatch(text) or (decimal_comma and _THOUSANDS_DOTS.fullmatch(text)):
        text = re.sub(r"[.\s'\u00a0\u202f]", "", text).replace(",", ".")
    elif _DECIMAL_COMMA.fullmatch(text):
        text = text.replace(",", ".")
    return _finite(float(text)) if _PLAIN.fullmatch(text) else None


def integer(value: Any) -> int | None:
    """A whole number, or None; 8.0 and "8" count, 8.5 does not."""
    result = number(value)
    return int(result) if result is not None and result == int(result) else None


def text(value: Any) -> str | None:
    """A non-empty string of at most 300 characters, or None."""
    if not isinstance(value, str):
        return None
    value = value.strip()
    return value[:300] if value and value.lower() not in {"none", "null", "n/a", "unknown", "-"} else None


def quantity(value: str) -> tuple[float, str] | None:
    """ "1.20 Tokens/s" as (1.2, "Tokens/s"), "140W" as (140.0, "W"); None where no number leads."""
    match = _LEADING.fullmatch(value[:200])
    if match is None:
        return None
    parsed = number(match[1])
    return None if parsed is None else (parsed, match[2].strip())


def human(value: str) -> float | None:
    """ "14.2K" as 14200.0, "75.2M", "1.5G" or "1.5B": the suffixes of human-readable log lines."""
    value = value.strip()
    if value[-1:] in _HUMAN:
        base = number(value[:-1])
        return None if base is None else base * _HUMAN[value[-1]]
    return number(value)


def seconds(value: Any) -> float | None:
    """Seconds of a number, "0:32:48", "9 days, 21:39:23", "PT49.97S", "1m2.345s" or "12.5ms"."""
    if not isinstance(value, str):
        return number(value)
    value = value.strip()
    plain = number(value)
    return plain if plain is not None else _clock(value) or _iso(value) or _go(value)


def _clock(value: str) -> float | None:
    match = _CLOCK.fullmatch(value)
    if match is None:
        return None
    return int(match[1] or 0) * 86400 + int(match[2]) * 3600 + int(match[3]) * 60 + float(match[4])


def _iso(value: str) -> float | None:
    match = _ISO_DURATION.fullmatch(value) if value.startswith("P") and len(value) < 40 else None
    if match is None or not any(match.groups()):
        return None
    days, hours, minutes, secs = (float(part or 0) for part in match.groups())
    return days * 86400 + hours * 3600 + minutes * 60 + secs


def _go(value: str) -> float | None:
    if len(value) > 40 or not re.fullmatch(r"(?:\d+(?:\.\d+)?(?:h|ms|µs|us|ns|m|s))+", value):
        return None
    scale = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "µs": 1e-6, "us": 1e-6, "ns": 1e-9}
    return sum(float(amount) * scale[unit] for amount, unit in _GO_DURATION.findall(value))


def median(values: list[float]) -> float:
    """The middle value; the mean of the middle two for an even count. Raises ValueError on an empty list."""
    if not values:
        raise ValueError("median of nothing")
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def percentile(values: list[float], percent: float) -> float:
    """Linear-interpolated percentile, as numpy's default. Raises ValueError on an empty list."""
    if not values:
        raise ValueError("percentile of nothing")
    ordered = sorted(values)
    position = (len(ordered) - 1) * percent / 100
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)
