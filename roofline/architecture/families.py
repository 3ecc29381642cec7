"""All families by model_type, and the names under which configurations hide a language model."""

import csv
import json
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


@cache
def wrappers() -> dict[str, str]:
    """model_type of a multimodal wrapper: model_type of the language model where the nested configuration names none."""
    with (Path(__file__).parent / "wrappers.csv").open(newline="") as file:
        return {row["wrapper"]: row["text"] for row in csv.DictReader(file)}


@cache
def refused() -> dict[str, str]:
    """model_type: why there is nothing to plan for (encoders, encoder-decoders and the like)."""
    with (Path(__file__).parent / "refused.csv").open(newline="") as file:
        return {row["model_type"]: row["reason"] for row in csv.DictReader(file)}
