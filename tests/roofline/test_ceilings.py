"""The roof, the ridge and what binds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline import ceilings, codes
from roofline.elementwise import roof_flops

positive = st.floats(1e-9, 1e3)


def test_ridge_points_of_an_h100():
    assert round(ceilings.ridge_point(1979e12, 3.35e12)) == 591  # sparse 16-bit, or dense FP8
    assert round(ceilings.ridge_point(989.4e12, 3.35e12)) == 295


def test_element_wise_example_to_the_digit():
    assert 10 / 4 == 2.5
    assert ceilings.attainable_flops(2.5, 312e12, 1.5e12) == 3.75e12
    assert roof_flops(10.0, 4.0, 312e12, 1.5e12) == 3.75e12


def test_attainable_flops_stop_at_the_peak():
    assert ceilings.attainable_flops(1e6, 989.4e12, 3.35e12) == 989.4e12


@given(positive, positive, st.floats(0, 1))
def test_overlapped_lies_between_maximum_and_sum(first, second, overlap):
    time = ceilings.overlapped(first, second, overlap)
    assert max(first, second) * (1 - 1e-9) <= time <= (first + second) * (1 + 1e-9)


def test_overlapped_ends_are_maximum_and_sum():
    assert ceilings.overlapped(3.0, 4.0, 0.0) == pytest.approx(4.0)
    assert ceilings.overlapped(3.0, 4.0, 1.0) == pytest.approx(7.0)


@pytest.mark.parametrize(("parts", "name"), [((3, 2, 1), "compute"), ((2, 3, 1), "memory"), ((1, 2, 3), "latency")])
def test_the_largest_part_binds(parts, name):
    op = ceilings.OpTime(sum(parts), 1.0, 1.0, *parts)
    assert codes.BOUNDS[int(ceilings.bound(op))] == name


def test_intensity_of_nothing_moved_is_finite():
    assert np.isfinite(ceilings.intensity(ceilings.OpTime(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)))
