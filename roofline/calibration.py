"""A calibration: how much slower or faster measured runs are than the shipped engine says, by kind of run, shrunk
where runs are few."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from roofline.question import Question

SHRINKAGE = (
    8.0  # runs (of a model) or models (of a wider kind) at which a cell's own median and its parent weigh the same
)
FOLDS = 10
WORSE = 1.0  # percentage points by which an error may grow before a calibration is refused
Cell = tuple[str, ...]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Calibration:
    """`cells` maps a kind of run (workload, GPU, software, architecture …) to the shrunken median of ln(measured
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
    return kinds(scenario.workload, question.gpu.slug, str(software), question.architecture.name, question.model.kind)


def kinds(workload: str, gpu: str, software: str, model: str, architecture: str) -> list[Cell]:
    """The kinds of a run, nearest first."""
    base = (workload, gpu, software)
    return [(*base, model), (*base, architecture), base]


@dataclass(frozen=True)
class Observation:
    """One measured run: its kinds, nearest first, and ln(measured time / time that the shipped engine predicts)."""

    kinds: Sequence[Cell]
    log_ratio: float


@dataclass(frozen=True)
class Fitted:
    """Shrunken median and number of runs of each kind."""

    cells: Mapping[Cell, float]
    counts: Mapping[Cell, int]

    def bias(self, kinds: Sequence[Cell]) -> float:
        """As Calibration.bias."""
        return Calibration("", self.cells).bias(kinds)


def fit(runs: Sequence[Observation]) -> Fitted:
    """Cells from the widest kind to the nearest, each (n x median + SHRINKAGE x parent) / (n + SHRINKAGE); the parent
    of the widest is the shipped engine, 0.

    A nearest kind (a model) has the median of its runs and their number n; a wider one the median over the models in
    it and their number, so that many runs of one model say as little of other models as they know. Medians, because
    a few broken runs must not move the rest.
    """
    ratios: dict[Cell, list[float]] = defaultdict(list)
    wider: dict[Cell, Sequence[Cell]] = {}
    for run in runs:
        ratios[run.kinds[0]].append(run.log_ratio)
        wider[run.kinds[0]] = run.kinds[1:]
    members: dict[Cell, list[Cell]] = defaultdict(list)
    for nearest, above in wider.items():
        for kind in above:
            members[kind].append(nearest)
    medians = {kind: float(np.median(found)) for kind, found in ratios.items()}
    cells: dict[Cell, float] = {}
    for nearest, above in wider.items():
        parent = 0.0
        for kind in reversed(above):
            parent = cells[kind] = _shrunk([medians[member] for member in members[kind]], parent)
        cells[nearest] = _shrunk(ratios[nearest], parent)
    counts = {kind: sum(len(ratios[member]) for member in found) for kind, found in members.items()}
    return Fitted(cells, {**{kind: len(found) for kind, found in ratios.items()}, **counts})


def _shrunk(values: Sequence[float], parent: float) -> float:
    return (len(values) * float(np.median(values)) + SHRINKAGE * parent) / (len(values) + SHRINKAGE)


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
        found[fold::count] = corrections(runs[fold::count], fit(rest))
    return found


def error_pct(log_ratios: Floats, correction: Floats | float = 0.0) -> float:
    """Median of |predicted / measured - 1| in %, for speeds: exp(ln(measured time / predicted time) - correction) - 1.
    nan for no runs."""
    left = np.asarray(log_ratios, dtype=float) - correction
    return float(np.median(np.abs(np.expm1(left))) * 100.0) if left.size else math.nan
