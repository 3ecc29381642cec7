"""Scenarios with ranges."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.space import parse_range, point_values, range_text, space_axes, space_point, space_size
from roofline.errors import ScenarioError

SPACE = {
    "workload": "inference",
    "gpu": {"values": ["a", "b"]},
    "parallelism": {"tp": {"from": 1, "to": 8, "factor": 2}},
    "inference": {"padding": {"from": 0.1, "to": 0.5, "step": 0.1}},
}


def test_it_works() -> None:
    axes = space_axes(SPACE)
    assert [(axis.path, axis.values) for axis in axes] == [
        ("gpu", ("a", "b")),
        ("parallelism.tp", (1, 2, 4, 8)),
        ("inference.padding", (0.1, 0.2, 0.3, 0.4, 0.5)),
    ]
    assert space_size(axes) == 40


def test_each_point_has_its_own_values() -> None:
    axes = space_axes(SPACE)
    points = [tuple(point_values(axes, number).values()) for number in range(40)]
    assert len(set(points)) == 40
    assert points[27] == ("b", 2, 0.3)
    assert space_point(SPACE, axes, 27)["parallelism"] == {"tp": 2}


def test_without_ranges_there_is_one_point() -> None:
    assert space_size(space_axes({"workload": "training"})) == 1
    assert space_point({"a": {"b": 1}}, [], 0) == {"a": {"b": 1}}


def test_an_object_of_the_format_is_no_range() -> None:
    assert space_axes({"model_config": {"values": 3, "hidden_size": 8}}) == []


@pytest.mark.parametrize(
    ("value", "word"),
    [
        ({"values": []}, "at least one"),
        ({"values": 3}, "list"),
        ({"from": 8, "to": 1, "step": 1}, "below"),
        ({"from": 1, "to": 8, "factor": 1}, "above 1"),
        ({"from": 0, "to": 8, "factor": 2}, "above 0"),
        ({"from": 1, "to": 8, "step": 0}, "above 0"),
        ({"from": 1, "to": 8, "step": 1, "factor": 2}, "either"),
        ({"from": 0, "to": 1e17, "step": 1e-300}, "at most"),
        ({"from": 1e-300, "to": 1e17, "factor": 1.0000000001}, "at most"),
        ({"from": 0, "to": 10**400, "step": 1}, "numbers up to"),
        ({"from": 1, "to": "x", "step": 1}, "numbers"),
        ({"from": 1, "to": float("inf"), "step": 1}, "numbers up to"),
        ({"from": 1, "to": 1e9, "step": 1}, "at most"),
    ],
)
def test_a_bad_range_is_refused_at_its_path(value: dict[str, Any], word: str) -> None:
    with pytest.raises(ScenarioError) as refusal:
        space_axes({"inference": {"concurrency": value}})
    assert word in refusal.value.fields["inference.concurrency"][0]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1..64 x2", {"from": 1, "to": 64, "factor": 2}),
        ("1 to 64 *2", {"from": 1, "to": 64, "factor": 2}),
        ("10..50 +10", {"from": 10, "to": 50, "step": 10}),
        ("1..4", {"from": 1, "to": 4, "step": 1}),
        ("8, 16", {"values": ["8", "16"]}),
        ("h100-sxm", "h100-sxm"),
        ("64", "64"),
    ],
)
def test_ranges_as_people_type_them(text: str, value: Any) -> None:
    assert parse_range(text) == value


@given(st.integers(1, 50), st.integers(1, 50), st.integers(2, 9))
def test_a_written_range_reads_back(low: int, more: int, factor: int) -> None:
    value = {"from": low, "to": low + more, "factor": factor}
    assert parse_range(range_text(value)) == value


@given(st.lists(st.lists(st.integers(), min_size=1, max_size=4, unique=True), max_size=4))
def test_the_points_are_the_product(axes: list[list[int]]) -> None:
    space = {f"k{index}": {"values": values} for index, values in enumerate(axes)}
    found = space_axes(space)
    points = {tuple(point_values(found, number).values()) for number in range(space_size(found))}
    assert len(points) == space_size(found)
