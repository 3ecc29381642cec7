"""JSON schemas of scenario and prediction for the OpenAPI description, derived from the field declarations."""

from typing import Any

from roofline.fields import FIELDS, Field

Schema = dict[str, Any]
TYPES = {
    "text": "string",
    "choice": "string",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
    "object": "object",
}


def field_schema(f: Field) -> Schema:
    """The JSON schema of one field; every field may be null, which is the same as leaving it out."""
    if f.kind == "count":
        return {
            "oneOf": [_bounded(f, "integer"), {"type": "string", "enum": ["max"]}, {"type": "null"}],
            "description": f.help,
        }
    if f.kind == "choices":
        return {"type": ["array", "null"], "items": {"type": "string", "enum": list(f.choices)}, "description": f.help}
    schema: Schema = _bounded(f, TYPES[f.kind])
    schema["type"] = [schema["type"], "null"]
    if f.choices:
        schema["enum"] = [*f.choices, None]
    if f.default is not None:
        schema["default"] = f.default
    unit = f" Unit: {f.unit}." if f.unit else ""
    return {**schema, "description": f"{f.help}{unit}"}


def _bounded(f: Field, kind: str) -> Schema:
    schema: Schema = {"type": kind}
    if f.minimum is not None:
        schema["exclusiveMinimum" if f.above_minimum else "minimum"] = f.minimum
    if f.maximum is not None:
        schema["maximum"] = f.maximum
    return schema


def scenario_schema() -> Schema:
    """The nested schema of a scenario."""
    tree: Schema = {"type": "object", "additionalProperties": False, "properties": {}, "required": ["workload"]}
    for f in FIELDS:
        at = tree
        for key in f.path.split(".")[:-1]:
            branch = {"type": ["object", "null"], "additionalProperties": False, "properties": {}}
            at = at["properties"].setdefault(key, branch)
        at["properties"][f.key] = field_schema(f)
    return tree


SCENARIO = scenario_schema()
_PARTS = ("scenario", "origins", "model", "memory", "training", "inference", "bound", "cost", "interval", "versions")
PREDICTION: Schema = {
    "type": "object",
    "description": "The complete scenario, the origin of each value, and what is predicted. Unknown is null.",
    "properties": {
        **{part: {"type": ["object", "null"]} for part in _PARTS},
        **{part: {"type": "array", "items": {"type": "object"}} for part in ("operators", "warnings")},
    },
    "required": ["scenario", "origins", "model", "memory", "versions"],
}
