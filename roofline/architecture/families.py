"""All families by model_type, and the names under which configurations hide a language model."""

import csv
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from roofline.architecture.family import Family
from roofline.architecture.table_dense import DENSE
from roofline.architecture.table_hybrid import HYBRIDS
from roofline.architecture.table_moe import MIXTURES

FAMILIES: dict[str, Family] = {**DENSE, **MIXTURES, **HYBRIDS}


@cache
def class_defaults() -> dict[str, dict[str, Any]]:
    """What the transformers configuration classes take where a key is absent, by model_type (facts of release 5.24)."""
    return json.loads((Path(__file__).parent / "class_defaults.json").read_text())  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A multimodal model around a language model.

    `text` is the language model's type where the nested configuration names none. `tied_by` says whose word decides
    on tied embeddings:
    outer (the wrapper's, by default `tied`), either, text (the nested one), never.
    """

    text: str
    tied: bool | None
    tied_by: str


@cache
def wrappers() -> dict[str, Wrapper]:
    """Wrappers by model_type."""
    tied = {"true": True, "false": False, "": None}
    with (Path(__file__).parent / "wrappers.csv").open(newline="") as file:
        return {
            row["wrapper"]: Wrapper(row["text"], tied[row["tied_default"]], row["tied_by"])
            for row in csv.DictReader(file)
        }


@cache
def refused() -> dict[str, str]:
    """model_type: why there is nothing to plan for (encoders, encoder-decoders and the like)."""
    with (Path(__file__).parent / "refused.csv").open(newline="") as file:
        return {row["model_type"]: row["reason"] for row in csv.DictReader(file)}
