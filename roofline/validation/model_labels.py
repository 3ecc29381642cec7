"""The model of a row of measurements, from all that a row may say of it: a configuration, names, dimensions, a size."""

import csv
import json
import math
from collections.abc import Mapping
from functools import cache
from importlib import resources

from roofline import architecture
from roofline.architecture import Architecture

Row = Mapping[str, str]
# Dimensions of public models that are not in the catalogue.
HINTS = {
    "codellama/CodeLlama-34b-Instruct-hf": "hidden=8192;layers=48;heads=64;kv_heads=8;ffn=22016;vocab=32016",
    "01-ai/Yi-34B": "hidden=7168;layers=60;heads=56;kv_heads=8;ffn=20480;vocab=64000",
    "mistralai/Mistral-Nemo-Instruct-2407": "hidden=5120;layers=40;heads=40;kv_heads=8;ffn=14336;vocab=131072",
}
ACTIVE_SIZES = {
    "glm-4.7-flash": 3.0,
    "dots.llm1": 14.0,
    "gemma4-26b": 4.0,
}  # active parameters, 10^9, of model cards: not in the name


class UnderSpecified(ValueError):
    """A row leaves out what a prediction needs."""


NO_MODEL = "size or architecture of the model not stated"


def number(text: str) -> float:
    """A cell as a number; nan where it is blank or text."""
    try:
        return float(text or math.nan)
    except ValueError:
        return math.nan


def known(table: str, *names: str) -> Architecture | None:
    """The model that the first of `names` that is an id, or a label of the shipped `table`, stands for."""
    shipped = architecture.presets()
    for name in filter(None, names):
        found = shipped.get(name) or shipped.get(_labels(table).get(name.strip().lower(), ""))
        if found is None and name in HINTS:
            return architecture.from_hint(HINTS[name])
        if found:
            return found
    return None


def named(table: str, *names: str) -> Architecture | None:
    """As `known`, or else the shipped or public model that one of `names` means as people write it. The names come in
    the order in which they decide."""
    for name in filter(None, names):
        if found := known(table, name) or architecture.labelled(name) or _public().get(architecture.words(name)):
            return found
    return None


@cache
def _public() -> dict[tuple[str, ...], Architecture]:
    """Models that are not in the catalogue but often in tables, by the words of their names: dimensions as their public
    configurations state them."""
    text = resources.files("roofline").joinpath("data/public_models.json").read_text(encoding="utf-8")
    return {
        architecture.words(name): architecture.parse(config, name=name) for name, config in json.loads(text).items()
    }


@cache
def _labels(table: str) -> dict[str, str]:
    """Catalogue id by label, lower case: those of one shipped table decide over those of the others."""
    with resources.files("roofline").joinpath("data/model_aliases.csv").open(encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines) if row["canonical_id"]]
    rows.sort(key=lambda row: row["table"] == table)
    return {row["model_name"].strip().lower(): row["canonical_id"] for row in rows}


@cache
def configured(config: str) -> Architecture | None:
    """The architecture of a row's configuration, which decides over its names; None where it holds none. Raises
    UnderSpecified for one that cannot be sized."""
    try:
        return architecture.parse(json.loads(config)) if config else None
    except (ValueError, RecursionError, architecture.UnsupportedArchitecture) as fault:
        raise UnderSpecified(f"configuration not readable: {fault}") from fault


def stored_format(model: Architecture, name: str) -> str:
    """The weight format of a checkpoint: as its configuration says, else as its name does; empty where neither does."""
    return model.quantization.weights if model.quantization else architecture.named_format(name)


def is_typical(model: Architecture) -> bool:
    """Whether only its size is known: enough for its weights and about its speed, not for its cache."""
    return any(note.startswith("typical dimensions") for note in model.warnings)


def sized(row: Row) -> Architecture:
    """Typical dimensions of the size that a row or its model's name states. Raises UnderSpecified."""
    name = row.get("model_id", "") or row.get("model_name", "") or row.get("model", "")
    total, active = number(row.get("params_b", "")), number(row.get("active_params_b", ""))
    said = architecture.stated_size(name) or architecture.stated_size(row.get("model_name", ""))
    if said is not None:
        total = said.total if math.isnan(total) else total
    if math.isnan(active):
        active = architecture.stated_active(name)
    if math.isnan(active):
        active = next((size for word, size in ACTIVE_SIZES.items() if word in name.lower()), math.nan)
    try:
        return architecture.typical(total, None if math.isnan(active) else active)
    except architecture.UnsupportedArchitecture as fault:
        raise UnderSpecified(NO_MODEL) from fault
