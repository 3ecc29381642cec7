"""Shrunken mean residuals of groups of measured runs, and the intervals that left-out residuals give.

Levels, each on what the ones above leave: GPU family, precision, dense or MoE, full or adapter training; one GPU and
framework; one model (by its width, depth and experts) in one framework on all GPUs; the same in one era of software;
the same model on one GPU. A group of n runs with mean log residual r moves a prediction by n r / (n + kappa), so a
group that was hardly measured moves little. Runs with no group near them get wider intervals.
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
from roofline.selection import missing, pick
from roofline.training.families import ASSUMED_YEAR, computed_precision, family, integer_units

Floats = NDArray[np.float64]
LEVELS = ("family", "framework", "design", "era", "model")
ERAS = (2024.0, 2024.7, 2025.2, 2025.6, 2025.8, 2026.0, 2026.4)  # years between which software is one era
BASES = (
    "no measured run of this GPU family and precision",
    "measured runs of this GPU family and precision",
    "measured runs of this GPU, precision and framework",
    "measured runs of this model in this framework on other GPUs",
    "measured runs of this model on this GPU, precision and framework",
)
DESIGN, OWN = 3, 4  # positions in BASES
WIDTH_KINDS = ("dense", "moe", "mla", "hybrid")  # intervals differ by these
MLA, HYBRID = 2, 3
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
    """Cells as flat tables for a list of GPUs."""

    integer: Floats  # 1 for GPUs that train on 8-bit integer units
    cells: Floats  # over (GPU, precision, framework, kind, tuning)
    bases: NDArray[np.intp]
    slots: NDArray[np.intp]  # position of a model by the hash of its signature; the last position is no model
    signatures: Floats  # of models with a cell of their own, by position
    designs: Floats  # over (position, framework, tuning, era)
    designed: NDArray[np.intp]  # over (position, framework, tuning): 1 where runs of that model are known
    measured: NDArray[np.intp]  # position of a GPU among those with models of their own; the last is none
    own: Floats  # over (position, measured GPU, precision, framework, kind, tuning); nan where there is no cell
    widths: Floats  # over (BASES, WIDTH_KINDS, low and high), logarithms


def signature(model: Model) -> Column:
    """A number that models of the same width, depth and number of experts share."""
    return (model.hidden * 1024.0 + model.layers) * 2048.0 + model.experts


SLOTS = 65_521  # a prime: places of the hash table of signatures


def _slot(mark: Column) -> Column:
    """Hash of a signature."""
    scaled = mark * (1.0 / SLOTS)
    return np.asarray((scaled - np.floor(scaled)) * SLOTS).astype(np.intp)


@cache
def _slots(signatures: tuple[float, ...]) -> NDArray[np.intp]:
    """Positions of signatures by their hash; shared by all tables of one fit."""
    slots = np.full(SLOTS + 1, len(signatures), dtype=np.intp)
    slots[_slot(np.array(signatures))] = np.arange(len(signatures))
    return slots


def key_words(
    gpu: Gpu, precision: str, framework: str, kind: str, tuning: str, model: float, year: float
) -> tuple[str, ...]:
    """Keys of the levels."""
    tail = f"{precision}|{kind}|{tuning}"
    design = f"{framework}|{tuning}|{model:.0f}"
    era = int(np.searchsorted(ERAS, ASSUMED_YEAR if np.isnan(year) else year, side="right"))
    own = f"{gpu.slug}|{framework}|{tail}"
    return f"{family(gpu)}|{tail}", own, design, f"{design}|{era}", f"{own}|{model:.0f}"


def tables(cells: Sequence[Cell], widths: Floats, gpus: Sequence[Gpu]) -> Corrections:
    """Look-up tables for `gpus` out of cells."""
    values = np.zeros((len(gpus), P, F, K, T))
    bases = np.zeros(values.shape, dtype=np.intp)
    slugs: dict[str, list[int]] = {}
    families: dict[str, list[int]] = {}
    for g, gpu in enumerate(gpus):
        slugs.setdefault(gpu.slug, []).append(g)
        families.setdefault(family(gpu), []).append(g)
    for cell in cells:
        words = cell.key.split("|")
        if cell.level == "family":
            _add(values, bases, families.get(words[0], ()), slice(None), words[1:], cell.value, 1)
        elif cell.level == "framework":
            _add(values, bases, slugs.get(words[0], ()), FRAMEWORKS.index(words[1]), words[2:], cell.value, 2)
    by_key = {(cell.level, cell.key): cell.value for cell in cells}
    signatures = sorted({float(cell.key.split("|")[-1]) for cell in cells if cell.level in ("design", "model")})
    slots = _slots(tuple(signatures))
    measured, own = _own(cells, signatures, slugs, len(gpus))
    marks, designs = np.array([*signatures, np.nan]), _designs(by_key, signatures)
    named = [("design", f"{f}|{t}|{m:.0f}") for m in signatures for f in FRAMEWORKS for t in TUNINGS]
    designed = np.array([int(name in by_key) for name in named] + [0] * (F * T), dtype=np.intp)
    integer = np.array([integer_units(gpu) for gpu in gpus])
    return Corrections(integer, values.ravel(), bases.ravel(), slots, marks, designs, designed, measured, own, widths)


def _add(
    values: Floats,
    bases: NDArray[np.intp],
    gpus: Sequence[int],
    framework: int | slice,
    words: Sequence[str],
    value: float,
    basis: int,
) -> None:
    precision, kind, tuning = TRAINING_PRECISIONS.index(words[0]), KINDS.index(words[1]), TUNINGS.index(words[2])
    for g in gpus:
        values[g, precision, framework, kind, tuning] += value
        bases[g, precision, framework, kind, tuning] = basis


def _designs(by_key: Mapping[tuple[str, str], float], signatures: Sequence[float]) -> Floats:
    """Sums of the corrections of a design and of its eras."""
    flat = []
    for model in signatures:
        for framework in FRAMEWORKS:
            for tuning in TUNINGS:
                key = f"{framework}|{tuning}|{model:.0f}"
                base = by_key.get(("design", key), 0.0)
                flat += [base + by_key.get(("era", f"{key}|{era}"), 0.0) for era in range(len(ERAS) + 1)]
    return np.array(flat + [0.0] * (F * T * (len(ERAS) + 1)))


def _own(
    cells: Sequence[Cell], signatures: Sequence[float], slugs: Mapping[str, list[int]], gpus: int
) -> tuple[NDArray[np.intp], Floats]:
    """Cells of one model on one GPU."""
    place = {value: index for index, value in enumerate(signatures)}
    known = sorted({words[0] for cell in cells if cell.level == "model" and (words := cell.key.split("|"))[0] in slugs})
    measured = np.full(gpus, len(known), dtype=np.intp)
    for position, slug in enumerate(known):
        measured[slugs[slug]] = position
    own = np.full((len(signatures) + 1, len(known) + 1, P, F, K, T), np.nan)
    for cell in cells:
        words = cell.key.split("|")
        if cell.level == "model" and words[0] in slugs:
            framework, precision = FRAMEWORKS.index(words[1]), TRAINING_PRECISIONS.index(words[2])
            at = (
                place[float(words[5])],
                known.index(words[0]),
                precision,
                framework,
                KINDS.index(words[3]),
                TUNINGS.index(words[4]),
            )
            own[at] = cell.value
    return measured, own.ravel()


class Located(NamedTuple):
    """Where a batch falls: log factor on the speed and basis."""

    value: Column
    basis: Column


def locate(batch: Batch, c: Corrections) -> Located:
    """The correction of every scenario."""
    training, model = batch.training, batch.model
    assert training is not None
    tuning = pick(training.method >= LORA, 1, 0)
    precision = computed_precision(batch, c.integer[batch.gpu.code])
    shape = (precision * F + training.framework) * (K * T) + pick(model.is_moe > 0, T, 0) + tuning
    cell = batch.gpu.code * SHAPES + shape
    mark = signature(model)
    place = c.slots[_slot(mark)]
    place = pick(c.signatures[place] == mark, place, len(c.signatures) - 1)
    same = (c.signatures[place] == mark) & (c.designed[(place * F + training.framework) * T + tuning] > 0)
    year = pick(missing(training.framework_year), ASSUMED_YEAR, training.framework_year)
    era = sum(1 * (year >= date) for date in ERAS)
    design = c.designs[((place * F + training.framework) * T + tuning) * (len(ERAS) + 1) + era]
    gpus = len(c.own) // (len(c.signatures) * SHAPES)
    own = c.own[(place * gpus + c.measured[batch.gpu.code]) * SHAPES + shape]
    known = own == own
    basis = pick(same & (c.bases[cell] > 0), DESIGN, c.bases[cell])
    return Located(c.cells[cell] + design + pick(known, own, 0.0), pick(known, OWN, basis))


def interval(batch: Batch, c: Corrections) -> Interval:
    """Factors on the predicted speed that bound 80 % of measurements."""
    basis = locate(batch, c).basis
    model = batch.model
    kind = pick(model.is_hybrid > 0, HYBRID, pick(model.is_mla > 0, MLA, 1 * (model.is_moe > 0)))
    at = (basis * len(WIDTH_KINDS) + kind) * 2
    return Interval(np.exp(c.widths[at]), np.exp(c.widths[at + 1]), basis)


@cache
def stored(fold: str = "") -> tuple[Cell, ...]:
    """The cells of one fold as shipped."""
    lines = (
        resources.files("roofline")
        .joinpath("coefficients/training_corrections.csv")
        .read_text(encoding="utf-8")
        .splitlines()
    )
    rows = [row for row in csv.DictReader(lines) if row["fold"] == fold]
    return tuple(Cell(row["level"], row["key"], float(row["runs"]), float(row["value"])) for row in rows)


@cache
def stored_widths() -> Floats:
    """Interval widths as shipped: flat over (basis, width kind, low and high)."""
    lines = (
        resources.files("roofline")
        .joinpath("coefficients/training_intervals.csv")
        .read_text(encoding="utf-8")
        .splitlines()
    )
    rows = {(int(row["basis"]), row["kind"]): (float(row["low"]), float(row["high"])) for row in csv.DictReader(lines)}
    return np.array([bound for basis in range(len(BASES)) for kind in WIDTH_KINDS for bound in rows[(basis, kind)]])
