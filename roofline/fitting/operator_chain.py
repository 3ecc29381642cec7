"""Coefficients of kernels as a chain of ever more specific fits, each pulled to the one before.

A group of few timings cannot fix a dozen coefficients, and a GPU or head size that few timings have should behave like its kin. So one
engine's timings in one precision are fitted as a whole; then each kernel's program everywhere, by generation, by family, on each GPU; then
its variants on each GPU, and by family for GPUs that have none. A fit starts from its parent and is pulled back to it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roofline import coefficients
from roofline.coefficients import ANY, VARIANT, program
from roofline.fitting.operator_fit import PRIOR, fit, joined, thinned
from roofline.fitting.operator_parameters import Parameter
from roofline.fitting.operator_tables import FOLDS, Floats, OpTable, predicted
from roofline.hardware import Gpu, presets

LEAST = 6  # rows that a fit of its own needs
FOLD_NAMES = ("all", *map(str, range(FOLDS)))

Text = NDArray[np.str_]


@dataclass(frozen=True)
class Level:
    """One step of the chain."""

    name: str  # level of coefficients.Key
    parent: int  # position of the level it starts from; itself for the first
    where: Callable[[Gpu], str]
    kernel: Callable[[str], str]


def _nowhere(_: Gpu) -> str:
    return ""


def _any(_: str) -> str:
    return ANY


def _own(kernel: str) -> str:
    return kernel


LEVELS = (
    Level("global", 0, _nowhere, _any),
    Level("global", 0, _nowhere, program),
    Level("generation", 1, coefficients.generation, program),
    Level("family", 2, coefficients.family, program),
    Level("gpu", 3, lambda gpu: gpu.slug, program),
    Level("gpu", 4, lambda gpu: gpu.slug, _own),
    Level("family", 3, coefficients.family, _own),
)


@dataclass(frozen=True)
class Node:
    """A group of timings with its coefficients by fold, and the ratios predicted / measured of timings that a fit had not seen."""

    level: str
    where: str
    kernel: str
    gpus: int
    ratio: Floats
    coefficients: Mapping[str, Any]


def programs(table: OpTable) -> Text:
    """The program of each timing's kernel."""
    return np.array([program(name) for name in table.kernel.tolist()])


def nodes(table: OpTable, parameters: Mapping[str, Parameter], kind: Any, pull: float) -> list[Node]:
    """All groups of kernels of one engine and precision, most specific last, the first level left out (it names no kernel).

    `pull` is the weight of a parent's coefficients (see `fit`). What holds on a GPU is judged by folds of shapes, what is inherited by
    GPUs left out whole.
    """
    chain = Chain(table, parameters, kind, pull)
    runs = {name: chain.fits(table.fold != fold) for fold, name in enumerate(FOLD_NAMES[1:])}
    runs = {"all": chain.fits(np.ones(len(table.fold), dtype=bool)), **runs}
    by_fold = chain.predictions({name: table.fold == int(name) for name in FOLD_NAMES[1:]}, runs)
    slugs = sorted(set(table.slug.tolist()))
    without = {slug: chain.fits(table.slug != slug, inherited=True) for slug in slugs}
    by_gpu = chain.predictions({slug: table.slug == slug for slug in slugs}, without)
    found = []
    for at, level in enumerate(LEVELS):
        ratio = (by_fold if level.name == "gpu" else by_gpu)[at] / table.measured
        for label in sorted(set(chain.labels[at].tolist())):
            inside = chain.labels[at] == label
            own = {name: run[at][label] for name, run in runs.items() if label in run[at]}
            if at == 0 or "all" not in own:
                continue
            where, _, kernel = label.partition("|")
            gpus = len(set(table.slug[inside].tolist()))
            found.append(Node(level.name, where, kernel, gpus, ratio[inside], own))
    return found


Fits = Sequence[Mapping[str, Any]]  # by level: coefficients by label


class Chain:
    """The groups of one table at every level, and their fits."""

    def __init__(self, table: OpTable, parameters: Mapping[str, Parameter], kind: Any, pull: float) -> None:
        self.table, self.parameters, self.kind, self.pull = table, parameters, kind, pull
        gpus = [presets()[slug] for slug in table.slug.tolist()]
        self.labels = [
            joined(
                np.array([level.where(gpu) for gpu in gpus]), np.array([level.kernel(k) for k in table.kernel.tolist()])
            )
            for level in LEVELS
        ]

    def groups(self, at: int, rows: NDArray[np.bool_]) -> list[str]:
        """Labels of a level among `rows`; a kernel without variants has none at the levels of variants."""
        found = sorted(set(self.labels[at][rows].tolist()))
        return [label for label in found if VARIANT in label] if LEVELS[at].kernel is _own else found

    def fits(self, seen: NDArray[np.bool_], *, inherited: bool = False) -> Fits:
        """Coefficients of every level from the rows that `seen` marks; groups of too few rows have none.

        `inherited` leaves out what holds on single GPUs.
        """
        found: list[dict[str, Any]] = []
        for at, level in enumerate(LEVELS):
            found.append({})
            for label in () if inherited and level.name == "gpu" else self.groups(at, seen):
                rows = np.flatnonzero((self.labels[at] == label) & seen)
                if len(rows) >= LEAST:
                    found[at][label] = fit(
                        thinned(self.table.take(rows)),
                        self.parameters,
                        self.kind,
                        start=self.nearest(found, level.parent, int(rows[0])),
                        pull=self.pull if at else PRIOR,
                    )
        return found

    def nearest(self, fits: Fits, at: int, row: int) -> Any:
        """The coefficients of a row at a level, else at the levels it starts from, else the starting values."""
        while str(self.labels[at][row]) not in fits[at]:
            if at == 0:
                return self.kind(**{name: parameter.start for name, parameter in self.parameters.items()})
            at = LEVELS[at].parent
        return fits[at][str(self.labels[at][row])]

    def predictions(self, held: Mapping[str, NDArray[np.bool_]], runs: Mapping[str, Fits]) -> list[Floats]:
        """By level: seconds of every row by the run that had not seen it."""
        found = [np.zeros(len(self.table.measured)) for _ in LEVELS]
        for name, rows in held.items():
            for at in range(len(LEVELS)):
                for label in sorted(set(self.labels[at][rows].tolist())):
                    inside = np.flatnonzero((self.labels[at] == label) & rows)
                    coef = self.nearest(runs[name], at, int(inside[0]))
                    found[at][inside] = predicted(self.table.take(inside), coef)
        return found
