"""A calibration: how much slower or faster measured runs are than the shipped engine says, by kind of run, shrunk
where runs are few."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from roofline.columns import Model
from roofline.question import Question

SHRINKAGE = 8.0  # runs at which a cell's own mean and its parent's weigh the same
FOLDS = 10
WORSE = 1.0  # percentage points by which an error may grow before a calibration is refused
Cell = tuple[str, ...]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Calibration:
    """`cells` maps a kind of run (workload, GPU, software, architecture …) to the shrunken mean of ln(measured
    time / predicted)."""

    version: str
    cells: Mapping[Cell, float] = field(default_factory=dict)

    def slowdown(self, question: Question) -> float:
        """Factor on every time of the question's prediction; 1 where no run is near."""
        return math.exp(self.bias(cells_of(question)))

    def bias(self, kinds: Sequence[Cell]) -> float:
        """ln of the factor for a run of these kinds, nearest first; 0 where no run is near."""
        return next((self.cells[kind] for kind in kinds if kind in self.cells), 0.0)


def cells_of(question: Question) -> list[Cell]:
    """The kinds that a question belongs to, nearest first: model, then architecture, then the GPU and software
    alone."""
    scenario = question.scenario
    software = scenario.get("training.framework") or scenario.get("inference.engine")
    return kinds(scenario.workload, question.gpu.slug, str(software), question.architecture.name, kind_of(question))


def kinds(workload: str, gpu: str, software: str, model: str, architecture: str) -> list[Cell]:
    """The kinds of a run, nearest first. A model's name comes last but one, so that no model can be taken for an
    architecture."""
    base = (workload, gpu, software)
    return [(*base, model), (*base, architecture), base]


def kind_of(question: Question) -> str:
    """dense, moe, mla or hybrid."""
    return architecture_kind(question.model)


def architecture_kind(model: Model) -> str:
    """dense, moe, mla or hybrid."""
    if model.is_hybrid:
        return "hybrid"
    if model.is_mla:
        return "mla"
    return "moe" if model.is_moe else "dense"


@dataclass(frozen=True)
class Observation:
    """One measured run: its kinds, nearest first, and ln(measured time / time that the shipped engine predicts)."""

    kinds: Sequence[Cell]
    log_ratio: float


@dataclass(frozen=True)
class Fitted:
    """Shrunken mean and number of runs of each kind."""

    cells: Mapping[Cell, float]
    counts: Mapping[Cell, int]

    def bias(self, kinds: Sequence[Cell]) -> float:
        """As Calibration.bias."""
        return Calibration("", self.cells).bias(kinds)


def fit(runs: Sequence[Observation]) -> Fitted:
    """Cells from the widest kind to the nearest: (sum of ln ratios + SHRINKAGE x parent) / (n + SHRINKAGE), the
    parent of the widest being the shipped engine, 0. It is the posterior mean of a normal hierarchy whose spread
    between kinds is 1 / sqrt(SHRINKAGE) of that between the runs of a kind."""
    sums: dict[Cell, list[float]] = defaultdict(list)
    parents: dict[Cell, Cell | None] = {}
    for run in runs:
        wider: Cell | None = None
        for kind in reversed(run.kinds):
            sums[kind].append(run.log_ratio)
            parents[kind] = wider
            wider = kind
    cells: dict[Cell, float] = {}
    for kind in sorted(sums, key=lambda cell: _depth(cell, parents)):
        parent = parents[kind]
        above = cells[parent] if parent is not None else 0.0
        cells[kind] = (sum(sums[kind]) + SHRINKAGE * above) / (len(sums[kind]) + SHRINKAGE)
    return Fitted(cells, {kind: len(ratios) for kind, ratios in sums.items()})


def _depth(cell: Cell, parents: Mapping[Cell, Cell | None]) -> int:
    depth, above = 0, parents[cell]
    while above is not None:
        depth, above = depth + 1, parents[above]
    return depth


def corrections(runs: Sequence[Observation], fitted: Fitted) -> Floats:
    """ln of the factor that each run gets, shape (len(runs),)."""
    return np.array([fitted.bias(run.kinds) for run in runs], dtype=float)


def cross_validated(runs: Sequence[Observation], folds: int = FOLDS) -> Floats:
    """ln of the factor that each run gets from a fit to the other folds, shape (len(runs),). Run i is in fold
    i mod `folds`; with fewer runs than folds each is left out by itself."""
    count = min(folds, len(runs))
    found = np.zeros(len(runs))
    for fold in range(count if count > 1 else 0):
        rest = [run for place, run in enumerate(runs) if place % count != fold]
        held = np.arange(fold, len(runs), count)
        found[held] = corrections([runs[place] for place in held], fit(rest))
    return found


def error_pct(log_ratios: Floats, correction: Floats | float = 0.0) -> float:
    """Median of |predicted / measured - 1| in %, for speeds: exp(ln(measured time / predicted time) - correction) - 1.
    nan for no runs."""
    left = np.asarray(log_ratios, dtype=float) - correction
    return float(np.median(np.abs(np.expm1(left))) * 100.0) if left.size else math.nan
