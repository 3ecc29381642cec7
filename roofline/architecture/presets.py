"""The shipped configurations by catalogue id, and finding one by any of its names."""

import csv
import difflib
import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import roofline
from roofline.architecture.errors import UnknownModel, UnsupportedArchitecture
from roofline.architecture.model import Architecture
from roofline.architecture.parse import parse

DATA = Path(roofline.__file__).parent / "data"
SHORT = {
    "deepseek-r1": "deepseek-ai/DeepSeek-R1",
    "deepseek-v3": "deepseek-ai/DeepSeek-V3",
    "kimi-k2": "moonshotai/Kimi-K2-Instruct",
    "llama-3-8b": "meta-llama/Meta-Llama-3-8B",
    "llama-3-70b": "meta-llama/Meta-Llama-3-70B",
    "llama-3.1-8b": "meta-llama/Meta-Llama-3.1-8B",
    "llama-3.1-70b": "meta-llama/Meta-Llama-3.1-70B",
    "llama-3.1-405b": "meta-llama/Meta-Llama-3.1-405B",
    "llama-3.3-70b": "meta-llama/Llama-3.3-70B-Instruct",
    "llama-2-7b": "meta-llama/Llama-2-7b-hf",
    "llama-2-13b": "meta-llama/Llama-2-13b-hf",
    "llama-2-70b": "meta-llama/Llama-2-70b-hf",
    "mixtral-8x7b": "mistralai/Mixtral-8x7B-v0.1",
    "mixtral-8x22b": "mistralai/Mixtral-8x22B-v0.1",
    "mistral-7b": "mistralai/Mistral-7B-v0.1",
}


@cache
def configurations() -> dict[str, dict[str, Any]]:
    """Every shipped config.json by catalogue id, in the order of the table."""
    with (DATA / "models" / "truth.csv").open(encoding="utf-8", newline="") as file:
        rows = [(row["id"], row["file"]) for row in csv.DictReader(file)]
    return {name: json.loads((DATA / "models" / path).read_text(encoding="utf-8")) for name, path in rows}


class Presets(Mapping[str, Architecture]):
    """Catalogue id to architecture; each is parsed when first asked for. Encoders are not among them."""

    def __init__(self) -> None:
        self._parsed: dict[str, Architecture | None] = {}

    def _get(self, name: str) -> Architecture | None:
        if name not in self._parsed:
            try:
                self._parsed[name] = parse(configurations()[name], name=name)
            except UnsupportedArchitecture:
                self._parsed[name] = None
        return self._parsed[name]

    def __getitem__(self, name: str) -> Architecture:
        found = self._get(name) if name in configurations() else None
        if found is None:
            raise KeyError(name)
        return found

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in configurations() and self._get(name) is not None

    def __iter__(self) -> Iterator[str]:
        return (name for name in configurations() if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


@cache
def presets() -> Mapping[str, Architecture]:
    """The shipped models by catalogue id (`meta-llama/Meta-Llama-3.1-70B`)."""
    return Presets()


@cache
def names() -> dict[str, frozenset[str]]:
    """Every lower-case name with the ids it may mean: id, last part, last part without -hf, -instruct …, alias."""
    found: dict[str, set[str]] = {}
    for name in configurations():
        last = name.lower().rpartition("/")[2]
        for alias in (name.lower(), last):
            found.setdefault(alias, set()).add(name)
    exact = {alias: frozenset(ids) for alias, ids in found.items()}
    aliases = {label.lower(): frozenset({name}) for label, name in [*_labels(), *SHORT.items()]}
    return {**aliases, **exact}


def _labels() -> list[tuple[str, str]]:
    with (DATA / "model_aliases.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [(row["model_name"], row["canonical_id"]) for row in rows if row["canonical_id"] in configurations()]


def resolve(name: str) -> Architecture:
    """The shipped model of that name. Raises UnknownModel with the nearest names where none or several answer to it."""
    wanted = name.strip().lower()
    ids = names().get(wanted, frozenset())
    if len(ids) == 1:
        return presets()[next(iter(ids))]
    if ids:
        raise UnknownModel(f"{name!r} is ambiguous: {', '.join(sorted(ids))}", nearest=tuple(sorted(ids)))
    nearest = nearest_names(wanted)
    hint = f"; did you mean {', '.join(nearest)}?" if nearest else ""
    raise UnknownModel(f"no model is called {name!r}{hint}", nearest=nearest)


def nearest_names(wanted: str, count: int = 5) -> tuple[str, ...]:
    """Catalogue ids whose names come nearest."""
    close = difflib.get_close_matches(wanted.lower(), names(), n=3 * count, cutoff=0.5)
    ids = dict.fromkeys(name for alias in close for name in sorted(names()[alias]))
    return tuple(ids)[:count]
