"""Scenarios and addresses: a what-if is shared by its query string, which holds only what differs from the defaults."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

from django.http import QueryDict
from django.utils.translation import gettext as _

from planner.space import is_range, parse_range, range_text
from roofline.engines import VENDOR_OF_BACKEND
from roofline.errors import ScenarioError
from roofline.fields import BY_PATH, FIELDS, Field
from roofline.scenario import DEFAULT_OPTIMIZATIONS

# What an empty address asks: a question most people know.
PAGE_DEFAULTS: dict[str, Any] = {"workload": "inference", "model": "llama-3.1-70b", "gpu": "h100-sxm"}
WAYS_TO_NAME = {"model": ("model_config", "model_size.params_b"), "gpu": ("gpu_spec",)}
CONTROLS = frozenset({"csrfmiddlewaretoken", "form_workload", "sweep_name", "page", "next"})
BOOLEANS = {"true": True, "false": False, "on": True, "1": True, "0": False}
LONGEST_ADDRESS = 3800  # gunicorn reads request lines up to 4,094 bytes


def scenario_from_query(query: QueryDict, *, ranges: bool = False) -> dict[str, Any]:
    """The scenario that an address or a form states, page defaults filled in.

    `ranges` reads "8, 16" and "1..64 x2" as ranges. Values are typed where they can be; what cannot stays text, for the
    engine to refuse with its field. Raises ScenarioError for text that is no JSON where an object is wanted.
    """
    flat: dict[str, Any] = {}
    for path in query:
        if path not in CONTROLS:
            value = _read(path, query.getlist(path), ranges)
            if value is not None:
                flat[path] = value
    workload = flat.setdefault("workload", PAGE_DEFAULTS["workload"])
    if isinstance(workload, str):
        flat = {path: value for path, value in flat.items() if _applies(path, workload, query)}
    for path, others in WAYS_TO_NAME.items():
        if not any(other in flat for other in others):
            flat.setdefault(path, PAGE_DEFAULTS[path])
        elif flat.get(path) == PAGE_DEFAULTS[path]:
            del flat[path]  # the form's own suggestion gives way to what was typed instead of it
    return _nested(flat)


def query_of(scenario: Mapping[str, Any]) -> str:
    """The shortest query string that states this scenario; "" for the page's own defaults."""
    flat = dict(flat_values(scenario))
    workload = flat.get("workload", PAGE_DEFAULTS["workload"])
    pairs = [(path, _text(flat[path])) for path in _ordered(flat) if not _is_default(path, flat[path], str(workload))]
    return urlencode(pairs)


def scenario_of(text: str, *, ranges: bool = False) -> dict[str, Any]:
    """The scenario of a query string."""
    query = QueryDict(mutable=True)
    for key, value in parse_qsl(text, keep_blank_values=True):
        query.appendlist(key, value)
    return scenario_from_query(query, ranges=ranges)


def flat_values(scenario: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """(path, value) of everything a scenario states; objects that are one value, and ranges, stay whole."""
    for key, value in scenario.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping) and path not in BY_PATH and not is_range(value):
            yield from flat_values(value, f"{path}.")
        elif value is not None:
            yield path, value


def changed(scenario: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """A scenario with a nested change laid over it; None takes a value out."""
    merged = dict(scenario)
    for key, value in change.items():
        if isinstance(value, Mapping) and isinstance(merged.get(key), Mapping) and key not in BY_PATH:
            merged[key] = changed(merged[key], value)
        elif value is None:
            merged.pop(key, None)
        else:
            merged[key] = changed({}, value) if isinstance(value, Mapping) and key not in BY_PATH else value
    return merged


def without_backend(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """A scenario for GPUs of any vendor: a back end of llama.cpp that drives one vendor's alone is left to the planner."""
    serving = scenario.get("inference")
    bound = isinstance(serving, Mapping) and str(serving.get("backend")) in VENDOR_OF_BACKEND
    return changed(scenario, {"inference": {"backend": None}}) if bound else dict(scenario)


def _read(path: str, texts: list[str], ranges: bool) -> Any:
    field = BY_PATH.get(path)
    if field is not None and field.kind == "choices":
        return [word for text in texts for word in text.split(",") if word]
    words = [text.strip() for text in texts if text.strip()]
    if not words:
        return None
    if ranges and (field is None or field.kind != "object"):
        found = {"values": words} if len(words) > 1 else parse_range(words[0])
        if is_range(found):
            return _typed_range(field, found)
    return _typed(field, words[-1]) if field else words[-1]


def _typed_range(field: Field | None, found: dict[str, Any]) -> dict[str, Any]:
    if "values" in found and field is not None:
        return {"values": [_typed(field, word) for word in found["values"]]}
    return found


def _typed(field: Field, text: str) -> Any:
    if field.kind in ("integer", "number", "count"):
        return _number(text)
    if field.kind == "boolean":
        return BOOLEANS.get(text.lower(), text)
    return _object(field.path, text) if field.kind == "object" else text


def _number(text: str) -> Any:
    try:
        value = float(text.replace("_", "").replace(" ", ""))
    except ValueError:
        return text
    return int(value) if value.is_integer() else value


def _object(path: str, text: str) -> Any:
    if text.lstrip().startswith("<"):
        raise ScenarioError({path: [_("This is a web page, not JSON: paste the raw file.")]})
    try:
        return json.loads(text)
    except json.JSONDecodeError as fault:
        message = _("This is not JSON: %(fault)s (line %(line)d).") % {"fault": fault.msg, "line": fault.lineno}
        raise ScenarioError({path: [message]}) from fault
    except RecursionError as fault:
        raise ScenarioError({path: [_("This JSON nests too deep.")]}) from fault


def _applies(path: str, workload: str, query: QueryDict) -> bool:
    """Whether a value belongs: what a form showed for the other workload is dropped once the workload is changed."""
    shown_for = query.get("form_workload")
    if shown_for and shown_for != workload:
        field = BY_PATH.get(path)
        return field is not None and field.workload is None and path != "optimizations"
    return not (path == "optimizations" and _is_default(path, query_words(query, path), workload))


def query_words(query: QueryDict, path: str) -> list[str]:
    """The words of a list that is written as repeated keys, with commas, or both."""
    return [word for text in query.getlist(path) for word in text.split(",") if word]


def _is_default(path: str, value: Any, workload: str) -> bool:
    if path == "optimizations":
        return not is_range(value) and set(value) == set(DEFAULT_OPTIMIZATIONS.get(workload, ()))
    field = BY_PATH.get(path)
    default = PAGE_DEFAULTS.get(path, field.default if field else None)
    return bool(value == default)


def _ordered(flat: Mapping[str, Any]) -> list[str]:
    known = [field.path for field in FIELDS if field.path in flat]
    return known + sorted(set(flat) - set(known))


def _text(value: Any) -> str:
    if is_range(value):
        return range_text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ",".join(str(entry) for entry in value)
    if isinstance(value, int | float):
        return plain_number(value)
    return json.dumps(value, separators=(",", ":")) if isinstance(value, Mapping) else str(value)


def plain_number(value: float) -> str:
    """A number as it is typed: 1024, 0.05, 1e12."""
    return f"{value:.12g}".replace("e+", "e")


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for path, value in flat.items():
        keys = [path] if path in BY_PATH and "." not in path else path.split(".")
        node = tree
        for key in keys[:-1]:
            node = node.setdefault(key, {})
            if not isinstance(node, dict):
                raise ScenarioError({path: [_("Contradicts another field.")]})
        node[keys[-1]] = value
    return tree
