"""The error bar of a serving prediction: what left-out measurements as near as the nearest known one were off by."""

import csv
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from roofline.codes import ENGINES
from roofline.columns import Batch
from roofline.serving.coefficients import ServingCoefficients
from roofline.serving.corrections import KINDS, kind_code

Column = Any
LEVEL = 0.8
NEARNESS = ("inherited", "related", "measured")
UNKNOWN = (-0.6, 0.6)  # where nothing like it was ever compared


def nearness(batch: Batch, c: ServingCoefficients) -> Column:
    """2: the same model was measured with that engine on that GPU; 1: the GPU or the model with that engine; 0: neither."""
    assert batch.serving is not None
    if c.corrections is None:
        return np.zeros(1, dtype=np.int8)
    return c.corrections.near[
        batch.serving.engine, batch.gpu.code, c.corrections.model_index(batch.model, kind_code(batch.model))
    ]


@cache
def _quantiles() -> dict[tuple[str, int, str, str], tuple[float, float, int]]:
    with resources.files("roofline").joinpath("coefficients/serving_intervals.csv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    keys = [(row["quantity"], int(row["nearness"]), row["engine"], row["kind"]) for row in rows]
    return {key: (float(row["low"]), float(row["high"]), int(row["n"])) for key, row in zip(keys, rows, strict=True)}


@cache
def _table(quantity: str) -> Column:
    """Quantiles by (nearness, engine, kind), last axis low and high; a cell without points takes those of the next wider."""
    table = np.empty((len(NEARNESS), len(ENGINES), len(KINDS), 2))
    known = _quantiles()
    for rank in range(len(NEARNESS)):
        for e, engine in enumerate(ENGINES):
            for k, kind in enumerate(KINDS):
                keys = [
                    (quantity, near, *place)
                    for near in (rank, *range(rank - 1, -1, -1), *range(rank + 1, 3))
                    for place in ((engine, kind), ("", kind), (engine, ""), ("", ""))
                ]
                table[rank, e, k] = next((known[key][:2] for key in keys if key in known), UNKNOWN)
    for rank in range(len(NEARNESS) - 2, -1, -1):  # what is further away is known no better
        table[rank, ..., 0] = np.minimum(table[rank, ..., 0], table[rank + 1, ..., 0])
        table[rank, ..., 1] = np.maximum(table[rank, ..., 1], table[rank + 1, ..., 1])
    return table


def interval(quantity: str, batch: Batch, c: ServingCoefficients) -> tuple[Column, Column]:
    """Factors on a prediction of `quantity` (names of the validation) that bound its 80 % interval."""
    assert batch.serving is not None
    bounds = np.exp(_table(quantity)[nearness(batch, c), batch.serving.engine, kind_code(batch.model)])
    return bounds[..., 0], bounds[..., 1]
