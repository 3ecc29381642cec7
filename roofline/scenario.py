"""The scenario: its JSON in, checked values by path out.

`parse` turns the JSON into a flat mapping of paths ("parallelism.tp") to values, each marked given or default, and
refuses whatever it does not know with the field's path and a sentence that says what is allowed.
"""

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from roofline import codes, rules
from roofline.errors import ScenarioError
from roofline.fields import BY_PATH, FIELDS, Field

Value = Any
Branch = str | dict[str, Any]  # the path of a field, or what is below a key

DEFAULT_OPTIMIZATIONS = {
    "training": ("flash_attention_2", "fused_kernels", "comm_overlap", "topology_aware", "hierarchical_allreduce"),
    "inference": (
        "flash_attention_2",
        "fused_kernels",
        "cuda_graphs",
        "topology_aware",
        "paged_attention",
        "continuous_batching",
        "chunked_prefill",
    ),
}

# Objects whose keys are fields themselves: "parallelism", "inference.speculative", …
BRANCHES: frozenset[str] = frozenset(path.rpartition(".")[0] for path in BY_PATH if "." in path) | {
    "inference.disaggregated"
}
LONGEST_TEXT = 500


@dataclass
class Scenario:
    """A checked scenario: `values` by path (absent is unset) and `origins` by path: given, default or chosen."""

    values: dict[str, Value]
    origins: dict[str, str] = field(default_factory=dict)

    def get(self, path: str, fallback: Value = None) -> Value:
        """The value at `path`, or `fallback` where it is unset."""
        value = self.values.get(path)
        return fallback if value is None else value

    def choose(self, path: str, value: Value) -> None:
        """Set what the planner chose."""
        self.values[path] = value
        self.origins[path] = "chosen"

    @property
    def workload(self) -> str:
        """training or inference."""
        return str(self.values["workload"])

    def to_json(self) -> dict[str, Any]:
        """The nested form, complete: every field of this workload, unset ones as null; whole absent groups as null."""
        return _filled(self.values, _trees()[self.workload])


OPTIONAL_GROUPS = frozenset({"speculative", "disaggregated", "slo", "model_size"})


def _filled(values: dict[str, Value], branches: dict[str, Branch], *, top: bool = True) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for key, branch in branches.items():
        if isinstance(branch, str):
            value = values.get(branch)
            tree[key] = list(value) if isinstance(value, tuple) else value
        else:
            below = _filled(values, branch, top=False)
            tree[key] = below if _has_value(below) or not (top or key in OPTIONAL_GROUPS) else None
    return tree


def _has_value(value: Value) -> bool:
    return any(_has_value(v) for v in value.values()) if isinstance(value, dict) else value is not None


@cache
def _trees() -> dict[str, dict[str, Branch]]:
    trees: dict[str, dict[str, Branch]] = {workload: {} for workload in codes.WORKLOADS}
    for workload, tree in trees.items():
        for f in FIELDS:
            if f.workload in (None, workload):
                *above, key = f.path.split(".")
                at: Any = tree
                for group in above:
                    at = at.setdefault(group, {})
                at[key] = f.path
    return trees


@cache
def _defaults(workload: str) -> dict[str, Value]:
    return {f.path: f.default for f in FIELDS if f.default is not None and f.workload in (None, workload)}


def parse(raw: object) -> Scenario:
    """A scenario from its JSON. Raises ScenarioError with every fault found, by path."""
    if not isinstance(raw, Mapping):
        raise ScenarioError({"": ["A scenario is a JSON object."]})
    faults: dict[str, list[str]] = {}
    given: dict[str, Value] = {}
    _flatten(raw, "", given, faults)
    values = {path: _checked(BY_PATH[path], value, faults) for path, value in given.items()}
    values = {path: value for path, value in values.items() if value is not None}
    rules.check_given(values, faults)
    if faults:
        raise ScenarioError(faults)
    origins = dict.fromkeys(values, "given")
    for path, default in _defaults(values["workload"]).items():
        if path not in values:
            values[path], origins[path] = default, "default"
    _default_load(values, origins)
    return Scenario(values, origins)


def _default_load(values: dict[str, Value], origins: dict[str, str]) -> None:
    """Defaults that depend on other values."""
    if "optimizations" not in values:
        values["optimizations"], origins["optimizations"] = DEFAULT_OPTIMIZATIONS[values["workload"]], "default"
    if (
        values["workload"] == "inference"
        and "inference.concurrency" not in values
        and "inference.request_rate_per_s" not in values
    ):
        values["inference.concurrency"], origins["inference.concurrency"] = 64, "default"


def _flatten(tree: Mapping[Any, Any], prefix: str, given: dict[str, Value], faults: dict[str, list[str]]) -> None:
    for key, value in tree.items():
        path = f"{prefix}{key}"
        if path in BY_PATH:
            given[path] = value
        elif path not in BRANCHES:
            faults[path[:200]] = [f"Unknown field. {_nearest(str(key), prefix)}"]
        elif isinstance(value, Mapping):
            _flatten(value, f"{path}.", given, faults)
        elif value is not None:
            faults[path] = [f"Must be an object with the keys {', '.join(_keys(path + '.'))}."]


def _keys(prefix: str) -> list[str]:
    return sorted({path.removeprefix(prefix).partition(".")[0] for path in BY_PATH if path.startswith(prefix)})


def _nearest(key: str, prefix: str) -> str:
    near = difflib.get_close_matches(key[:60], _keys(prefix), 1)
    return f"Did you mean {near[0]}?" if near else f"Allowed here: {', '.join(_keys(prefix))}."


def _checked(f: Field, value: Value, faults: dict[str, list[str]]) -> Value:
    """The value in its own type, or None with a fault noted."""
    if value is None:
        return None
    try:
        return CHECKS[f.kind](f, value)
    except ValueError as fault:
        faults[f.path] = [str(fault)]
        return None


def _check_text(f: Field, value: Value) -> str | None:
    if not isinstance(value, str):
        raise ValueError("Must be text.")
    if len(value) > LONGEST_TEXT:
        raise ValueError(f"Must be at most {LONGEST_TEXT} characters.")
    if "\x00" in value:
        raise ValueError("Must not contain a NUL character.")
    return value.strip() or None


def _check_number(f: Field, value: Value) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"Must be a number{_range(f)}.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    low = f.minimum if f.minimum is not None else -math.inf
    high = f.maximum if f.maximum is not None else math.inf
    if not low <= number <= high or (f.above_minimum and number == low):
        raise ValueError(f"Must be a number{_range(f)}.")
    return number


def _check_integer(f: Field, value: Value) -> int:
    number = _check_number(f, value)
    if number != int(number):
        raise ValueError(f"Must be a whole number{_range(f)}.")
    return int(number)


def _check_count(f: Field, value: Value) -> int | str:
    if value == "max":
        return "max"
    try:
        return _check_integer(f, value)
    except ValueError as fault:
        raise ValueError(f'{str(fault)[:-1]}, or "max".') from None


def _range(f: Field) -> str:
    unit = f" {f.unit}" if f.unit else ""
    over = "more than" if f.above_minimum else "from"
    joint = "and at most" if f.above_minimum else "to"
    return f" {over} {f.minimum:,.10g} {joint} {f.maximum:,.10g}{unit}"


def _check_boolean(f: Field, value: Value) -> bool:
    if not isinstance(value, bool):
        raise ValueError("Must be true or false.")
    return value


def _check_choice(f: Field, value: Value) -> str:
    word = value.strip().lower() if isinstance(value, str) else value
    if word not in f.choices:
        raise ValueError(f"Must be one of {', '.join(f.choices)}.")
    return str(word)


def _check_choices(f: Field, value: Value) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError("Must be a list of names.")
    if len(value) > 2 * len(f.choices):
        raise ValueError(f"Must be a list of at most {len(f.choices)} names.")
    return tuple(dict.fromkeys(_check_choice(f, word) for word in value))


def _check_object(f: Field, value: Value) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError("Must be an object.")
    return value


CHECKS = {
    "text": _check_text,
    "number": _check_number,
    "integer": _check_integer,
    "count": _check_count,
    "boolean": _check_boolean,
    "choice": _check_choice,
    "choices": _check_choices,
    "object": _check_object,
}
