"""Loads the shipped language models and their other names."""

import re
from collections.abc import Iterator
from pathlib import Path

from django.db import transaction

import roofline
from faces.names import plain
from faces.shipped import csv_rows, shipped_rows_update
from llms.models import LanguageModel, ModelAlias
from llms.services import config_read, model_size

SHIPPED = Path(roofline.__file__).parent / "data"
TABLE = SHIPPED / "models" / "truth.csv"
LABELS = SHIPPED / "model_aliases.csv"
ENGINE = Path(roofline.__file__).parent / "architecture"
# The engine's reader of configurations counts as data: when it learns a family, sizes are computed again.
DATA_FILES = [TABLE, LABELS, *(SHIPPED / "models").glob("*.json"), *ENGINE.glob("*.py")]
COLUMNS = (
    "config", "family", "total_params", "active_params", "kv_bytes_per_token",
    "summary", "warnings", "refusal", "source", "source_kind",
)  # fmt: skip
# What an id says beyond the model: its tuning and its packaging, which leave the dimensions alone.
TUNING = re.compile(r"(-instruct|-it|-chat|-base|-hf|-v0\.\d|-bf16|-\d{4})+$", re.IGNORECASE)


def _model(row: dict[str, str]) -> LanguageModel:
    config = config_read((SHIPPED / "models" / row["file"]).read_text(encoding="utf-8"))
    model = LanguageModel(name=row["id"], config=config, source=row["source"], source_kind=row["source_kind"])
    model_size(model)
    return model


def _everyday_names(name: str) -> Iterator[str]:
    """How people write an id: without its maker's prefix and tuning, or with the tuning of a sibling."""
    maker, _, last = name.rpartition("/")
    short = TUNING.sub("", re.sub(r"^(Meta|NVIDIA)-", "", last))
    for variant in (short, f"{short}-Instruct", f"{short}-Chat", f"{short}-it", re.sub(r"^Meta-", "", last)):
        yield variant
        yield f"{maker}/{variant}"


def _unique_everyday_names(ids: list[str]) -> Iterator[tuple[str, str]]:
    """Everyday names that only one model has, or that belong to the one with the shortest id."""
    meant: dict[str, tuple[str, str]] = {}
    for name in sorted(ids, key=lambda text: (len(text), text)):
        for everyday in _everyday_names(name):
            meant.setdefault(plain(everyday), (everyday, name))
    return iter(meant.values())


def _aliases(ids: list[str]) -> dict[str, tuple[str, str, bool]]:
    """Compared form to (name, id, approximate); published labels decide over everyday names, exact over near ones."""
    found = [(everyday, name, False) for everyday, name in _unique_everyday_names(ids)]
    labels = [row for row in csv_rows(LABELS) if row["canonical_id"] in ids]
    for match in ("approximate", "exact"):
        found += [(row["model_name"], row["canonical_id"], match != "exact") for row in labels if row["match"] == match]
    taken = {plain(name) for name in ids} | {plain(name.rpartition("/")[2]) for name in ids}
    return {plain(alias): (alias, name, near) for alias, name, near in found if plain(alias) not in taken}


def _seed_aliases() -> None:
    models = {model.name: model for model in LanguageModel.objects.filter(owner=None).only("pk", "name")}
    ModelAlias.objects.filter(owner=None).delete()
    taken = {plain(name) for name in ModelAlias.objects.values_list("name", flat=True)}
    ModelAlias.objects.bulk_create(
        ModelAlias(name=alias, model=models[name], approximate=near)
        for key, (alias, name, near) in _aliases(list(models)).items()
        if key not in taken
    )


@transaction.atomic
def seed() -> str:
    """Load or refresh the shipped models; returns a line about them."""
    shipped = [_model(row) for row in csv_rows(TABLE)]
    shipped_rows_update(LanguageModel, "name", shipped, COLUMNS)
    _seed_aliases()
    refused = sum(1 for model in shipped if model.refusal)
    return f"{len(shipped)} models, {refused} of them not language models that can be sized"
