"""Shrunken mean residuals of groups of measured runs, and the intervals that left-out residuals give.

Three levels, each on what the one above leaves: GPU family, precision, dense or MoE, full or adapter training; the same for one GPU model
and framework; the same for one model (by its width, depth and experts). A group of n runs with mean log residual r moves a prediction by
n r / (n + kappa), so a group that was hardly measured moves little. Runs with no group near them get wider intervals.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from roofline.ceilings import Column
from roofline.codes import FRAMEWORKS, METHODS, TRAINING_PRECISIONS
from roofline.columns import Batch, Model
from roofline.hardware import Gpu
from roofline.training.families import family

Floats = NDArray[np.float64]
LEVELS = ("family", "framework", "model")
BASES = (
    "no measured run of this GPU family and precision",
    "measured runs of this GPU family and precision",
    "measured runs of this GPU, precision and framework",
    "measured runs of this model on this GPU, precision and framework",
)
KINDS = ("dense", "moe")
TUNINGS = ("full", "adapter")
P, F, K, T = len(TRAINING_PRECISIONS), len(FRAMEWORKS), len(KINDS), len(TUNINGS)
LORA = METHODS.index("lora")
SHAPES = P * F * K * T


class Cell(NamedTuple):
    """A group of runs: where it is, how many, and the log factor on the speed."""

    level: str
    key: str
    runs: float
    value: float


class Interval(NamedTuple):
    """Factors on a predicted speed that bound the level's share of measurements, and what they rest on (code into BASES)."""

    low: Column
    high: Column
    basis: Column


@dataclass(frozen=True)
class Corrections:
    """Cells as tables for a list of GPUs: `cells` and `bases` flat over (GPU, precision, framework, kind, tuning)."""

    cells: Floats
    bases: NDArray[np.intp]
    signatures: Floats  # of models with a cell of their own, ascending
    pairs: Floats  # signature position x cells + cell, ascending
    values: Floats
    widths: Floats  # (BASES, KINDS, 2), flat: log of low and high


def signature(model: Model) -> Column:
    """A number that models of the same width, depth and number of experts share."""
    return (model.hidden * 1024.0 + model.layers) * 2048.0 + model.experts


def key_words(gpu: Gpu, precision: str, framework: str, kind: str, tuning: str, model: float) -> tuple[str, str, str]:
    """Keys of the three levels."""
    tail = f"{precision}|{kind}|{tuning}"
    return f"{family(gpu)}|{tail}", f"{gpu.slug}|{framework}|{tail}", f"{gpu.slug}|{framework}|{tail}|{model:.0f}"


def tables(cells: Sequence[Cell], widths: Floats, gpus: Sequence[Gpu]) -> Corrections:
    """Look-up tables for `gpus` out of cells."""
    by_key = {(cell.level, cell.key): cell.value for cell in cells}
    flat, bases = np.zeros(len(gpus) * SHAPES), np.zeros(len(gpus) * SHAPES, dtype=np.intp)
    slugs: dict[str, list[int]] = {}
    for g, gpu in enumerate(gpus):
        slugs.setdefault(gpu.slug, []).append(g)
        for at, (precision, framework, kind, tuning) in enumerate(_shapes()):
            broad, narrow, _ = key_words(gpu, precision, framework, kind, tuning, 0.0)
            wide, own = by_key.get(("family", broad)), by_key.get(("framework", narrow))
            flat[g * SHAPES + at] = (wide or 0.0) + (own or 0.0)
            bases[g * SHAPES + at] = 2 if own is not None else 1 if wide is not None else 0
    return Corrections(flat, bases, *_pairs(cells, slugs, len(gpus)), widths)


def _shapes() -> list[tuple[str, str, str, str]]:
    return [(p, f, k, t) for p in TRAINING_PRECISIONS for f in FRAMEWORKS for k in KINDS for t in TUNINGS]


def _pairs(cells: Sequence[Cell], slugs: Mapping[str, list[int]], gpus: int) -> tuple[Floats, Floats, Floats]:
    own = [(cell.key.split("|"), cell.value) for cell in cells if cell.level == "model"]
    signatures = sorted({float(words[-1]) for words, _ in own})
    place = {value: index for index, value in enumerate(signatures)}
    shape = {words: at for at, words in enumerate(_shapes())}
    found = []
    for (slug, framework, precision, kind, tuning, model), value in own:
        for g in slugs.get(slug, ()):
            cell = g * SHAPES + shape[(precision, framework, kind, tuning)]
            found.append((place[float(model)] * float(gpus * SHAPES) + cell, value))
    found.sort()
    return np.array(signatures), np.array([pair for pair, _ in found]), np.array([value for _, value in found])


class Located(NamedTuple):
    """Where a batch falls: log factor on the speed and basis."""

    value: Column
    basis: Column


def locate(batch: Batch, c: Corrections) -> Located:
    """The correction of every scenario."""
    training, model = batch.training, batch.model
    assert training is not None
    cell = ((batch.gpu.code * P + training.precision) * F + training.framework) * (K * T)
    cell = cell + np.where(model.is_moe > 0, T, 0) + (training.method >= LORA)
    value, basis = c.cells[cell], c.bases[cell]
    if not len(c.pairs):
        return Located(value, basis)
    place = np.minimum(np.searchsorted(c.signatures, signature(model)), len(c.signatures) - 1)
    wanted = np.where(c.signatures[place] == signature(model), place * float(len(c.cells)) + cell, -1.0)
    at = np.minimum(np.searchsorted(c.pairs, wanted), len(c.pairs) - 1)
    known = c.pairs[at] == wanted
    return Located(value + np.where(known, c.values[at], 0.0), np.where(known, 3, basis))


def interval(batch: Batch, c: Corrections) -> Interval:
    """Factors on the predicted speed that bound 80 % of measurements."""
    basis = locate(batch, c).basis
    at = (basis * K + (batch.model.is_moe > 0)) * 2
    return Interval(np.exp(c.widths[at]), np.exp(c.widths[at + 1]), basis)


@cache
def stored(fold: str = "") -> tuple[Cell, ...]:
    """The cells of one fold as shipped."""
    with resources.files("roofline").joinpath("coefficients/training_corrections.csv").open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["fold"] == fold]
    return tuple(Cell(row["level"], row["key"], float(row["runs"]), float(row["value"])) for row in rows)


@cache
def stored_widths() -> Floats:
    """Interval widths as shipped: flat over (basis, kind, low and high)."""
    with resources.files("roofline").joinpath("coefficients/training_intervals.csv").open(encoding="utf-8", newline="") as lines:
        rows = {(int(row["basis"]), row["kind"]): (float(row["low"]), float(row["high"])) for row in csv.DictReader(lines)}
    return np.array([bound for basis in range(len(BASES)) for kind in KINDS for bound in rows[(basis, kind)]])
