"""A scenario with ranges is a space of scenarios. Pure: no Django.

Anywhere in a scenario a value may be `{"values": [a, b]}` or `{"from": 1, "to": 64, "factor": 2}` (or `"step"`). The
space is the product of all its ranges, numbered like an odometer: the last range turns fastest. A point is made from
its number, so that a space of any size costs nothing until it is walked.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from roofline.errors import ScenarioError

MOST_VALUES = 10_000
LARGEST = 1e18  # of a number in a range: no field of a scenario goes beyond
_RANGE_KEYS = {"from", "to", "factor", "step"}
_NUMBER = r"[-+]?\d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d+)?"
_SPAN = re.compile(rf"^({_NUMBER})\s*(?:\.\.\.?|…|to)\s*({_NUMBER})(?:\s*([x×*+])\s*({_NUMBER}))?$")


def _refusal(path: str, message: str) -> ScenarioError:
    return ScenarioError({path: [message]})


@dataclass(frozen=True)
class Axis:
    """One range of a space: where it stands and the values that it takes."""

    path: str
    values: tuple[Any, ...]


def is_range(value: Any) -> bool:
    """Whether a value of a scenario stands for several."""
    if not isinstance(value, Mapping) or not value:
        return False
    keys = set(value)
    return keys == {"values"} or ({"from", "to"} <= keys <= _RANGE_KEYS)


def space_axes(space: Mapping[str, Any]) -> list[Axis]:
    """All ranges of a space, in the order in which they stand. Raises ScenarioError naming the path of a bad one."""
    return [Axis(path, _expand(path, value)) for path, value in _walk(space, "")]


def space_size(axes: list[Axis]) -> int:
    """How many scenarios the space holds; 1 without ranges."""
    return math.prod(len(axis.values) for axis in axes)


def space_point(space: Mapping[str, Any], axes: list[Axis], number: int) -> dict[str, Any]:
    """The scenario with that number, 0 <= number < space_size."""
    chosen: dict[str, Any] = {}
    for axis in reversed(axes):
        number, index = divmod(number, len(axis.values))
        chosen[axis.path] = axis.values[index]
    point: dict[str, Any] = _filled(space, "", chosen)
    return point


def point_values(axes: list[Axis], number: int) -> dict[str, Any]:
    """Only what the ranges say at that number: path to value."""
    chosen: dict[str, Any] = {}
    for axis in reversed(axes):
        number, index = divmod(number, len(axis.values))
        chosen[axis.path] = axis.values[index]
    return {axis.path: chosen[axis.path] for axis in axes}


def parse_range(text: str) -> Any:
    """What a person types for a range, as the scenario format has it; a single value comes back as its text.

    `8, 16, 32` is a list; `1..64 x2` multiplies; `10..50 +10` adds; `1..4` adds 1.
    """
    span = _SPAN.match(text.strip())
    if span:
        low, high, sign, amount = span.groups()
        return {
            "from": _number(low),
            "to": _number(high),
            "factor" if sign and sign != "+" else "step": _number(amount or "1"),
        }
    parts = [part.strip() for part in text.split(",") if part.strip()]
    return {"values": parts} if len(parts) > 1 else text.strip()


def range_text(value: Any) -> str:
    """The inverse of parse_range, for the form."""
    if not is_range(value):
        return str(value)
    if "values" in value:
        return ", ".join(str(entry) for entry in value["values"])
    sign, amount = ("x", value["factor"]) if "factor" in value else ("+", value.get("step", 1))
    return f"{value['from']}..{value['to']} {sign}{amount}"


def _walk(node: Any, path: str) -> Iterator[tuple[str, Any]]:
    if is_range(node):
        yield path, node
    elif isinstance(node, Mapping):
        for key, value in node.items():
            yield from _walk(value, f"{path}.{key}" if path else str(key))


def _filled(node: Any, path: str, chosen: Mapping[str, Any]) -> Any:
    if path in chosen:
        return chosen[path]
    if isinstance(node, Mapping):
        return {key: _filled(value, f"{path}.{key}" if path else str(key), chosen) for key, value in node.items()}
    return node


def _expand(path: str, value: Mapping[str, Any]) -> tuple[Any, ...]:
    if "values" in value:
        values = value["values"]
        if not isinstance(values, list) or not values:
            raise _refusal(path, "values must be a list with at least one entry.")
        _bounded(path, len(values))
        return tuple(values)
    return _progression(path, value)


def _progression(path: str, value: Mapping[str, Any]) -> tuple[Any, ...]:
    numbers = [value["from"], value["to"], value.get("factor", value.get("step", 1))]
    if not all(_is_plain(number) for number in numbers):
        raise _refusal(path, f"from, to, factor and step must be numbers up to {LARGEST:g}.")
    low, high, amount = numbers
    if "factor" in value and "step" in value:
        raise _refusal(path, "give either factor or step, not both.")
    if high < low:
        raise _refusal(path, f"to ({high}) must not be below from ({low}).")
    return _geometric(path, low, high, amount) if "factor" in value else _arithmetic(path, low, high, amount)


def _geometric(path: str, low: float, high: float, factor: float) -> tuple[Any, ...]:
    if factor <= 1 or low <= 0:
        raise _refusal(path, "factor must be above 1 and from above 0.")
    count = _count(path, (math.log(high) - math.log(low)) / math.log(factor))
    return tuple(_tidy(low * factor**power) for power in range(count))


def _arithmetic(path: str, low: float, high: float, step: float) -> tuple[Any, ...]:
    if step <= 0:
        raise _refusal(path, "step must be above 0.")
    count = _count(path, (high - low) / step)
    return tuple(_tidy(low + step * index) for index in range(count))


def _is_plain(number: Any) -> bool:
    return isinstance(number, int | float) and not isinstance(number, bool) and -LARGEST <= number <= LARGEST


def _count(path: str, steps: float) -> int:
    """Values of a range of so many steps; an endless one is refused like any that is too long."""
    count = math.floor(min(steps, 1e15) + 1e-9) + 1
    _bounded(path, count)
    return count


def _bounded(path: str, count: int) -> None:
    if count > MOST_VALUES:
        raise _refusal(path, f"a range may hold at most {MOST_VALUES:,} values; this one has {count:,}.")


def _tidy(number: float) -> int | float:
    """Whole numbers stay integers; 0.1 + 0.2 is 0.3."""
    rounded = round(number, 12)
    return int(rounded) if rounded == int(rounded) and isinstance(number, int | float) else rounded


def _number(text: str) -> int | float:
    value = float(text.replace("_", ""))
    return int(value) if value.is_integer() else value
