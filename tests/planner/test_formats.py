"""How numbers are written."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import formats


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (2310.4, "2,310"),
        (9.996, "10.0"),
        (0.012345, "0.0123"),
        (0.5, "0.5"),
        (1e6, "1,000,000"),
        (1.5e13, "1.50e13"),
        (-3.14159, "-3.14"),
        (None, "–"),
        (math.nan, "–"),
        (math.inf, "–"),
        (True, "–"),
        ("text", "–"),
    ],
)
def test_three_significant_digits(value: object, text: str) -> None:
    assert formats.sig(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 s"),
        (2.3e-5, "23.0 µs"),
        (0.0239, "23.9 ms"),
        (0.9999, "1.00 s"),
        (100, "100 s"),
        (7200, "2.00 h"),
        (691_200, "8.00 d"),
    ],
)
def test_durations_take_the_unit_that_reads_best(value: float, text: str) -> None:
    assert formats.seconds(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "$0.00"),
        (0.01234, "$0.0123"),
        (0.29, "$0.29"),
        (15.625, "$15.63"),
        (999.999, "$1,000"),
        (240_000, "$240,000"),
        (9_876.5, "$9,876"),
        (232_140, "$232,000"),
        (3_132_934, "$3.13 M"),
        (999_700, "$1.00 M"),
        (-5, "-$5.00"),
    ],
)
def test_dollars(value: float, text: str) -> None:
    assert formats.usd(value) == text


def test_units() -> None:
    assert formats.si(9.894e14, "FLOP/s") == "989 TFLOP/s"
    assert formats.gib(85e9) == "79.2 GiB"
    assert formats.gib(1_000_000) == "0.954 MiB"
    assert formats.percent(0.431) == "43.1 %"
    assert formats.ratio(2.27) == "2.27×"
    assert formats.energy(0.526) == "526 Wh"
    assert formats.energy(0) == "–"


def test_range_says_its_unit_once() -> None:
    assert formats.ranged(1840, (1610, 2050)) == "1,840 (1,610–2,050)"
    assert formats.ranged(0.0239, (0.021, 0.027), "seconds") == "23.9 ms (21.0–27.0 ms)"
    assert formats.ranged(5, None) == "5.00"


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_no_number_breaks_a_page(value: float) -> None:
    for write in formats.FORMATS.values():
        assert write(value)
