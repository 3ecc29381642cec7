"""Fits the coefficients of training to the shipped runs: `python -m roofline.fitting.training`.

A robust least-squares fit of the logarithm of the speed, every coefficient held near its prior; once for all runs and once for each fold
without that fold's runs. Runs that share model, GPU, number of GPUs, precision and framework are in the same fold and share one weight,
so that a configuration which was published often does not count more. Shrunken mean residuals of groups follow (see `corrections`).
"""

import csv
import sys
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from roofline.codes import TRAINING_PRECISIONS
from roofline.columns import Batch
from roofline.hardware import Gpu
from roofline.training.coefficients import build, family
from roofline.training.parameters import BY_NAME, FAMILY_PRIORS, PARAMETERS
from roofline.training.speed import step_of
from roofline.validation.training_batch import batch_of
from roofline.validation.training_table import UNUSABLE, Run, runs, shipped_rows

Floats = NDArray[np.float64]
FOLDS = 5
OUTLIER_SCALE = 0.08  # log error from which a run counts less than quadratically
NOISE = 0.08  # log error of one configuration that a prior's spread is weighed against
STORE = Path(__file__).parent.parent / "coefficients"


@dataclass(frozen=True)
class Sample:
    """The runs of a fit with their batch, measured speeds, folds and weights."""

    runs: Sequence[Run]
    batch: Batch
    gpus: Sequence[Gpu]
    measured: Floats  # log tokens/s/GPU
    folds: NDArray[np.intp]
    weights: Floats

    def without(self, fold: int) -> NDArray[np.bool_]:
        """Which runs a fit for `fold` may see."""
        return self.folds != fold


def fold_key(run: Run) -> str:
    """What runs of one fold share."""
    name = run.row.get("model_id") or run.row.get("model_name", "")
    return "|".join((name, run.gpu.slug, f"{run.gpus:g}", run.precision, run.framework))


def fold_of(run: Run) -> int:
    """The fold of a run, 0 to FOLDS - 1, by a hash that does not change."""
    return zlib.crc32(fold_key(run).encode()) % FOLDS


def usable(run: Run) -> bool:
    """Whether a fit may use the speed of a run."""
    return run.speed == run.speed and not any(word in run.row.get("notes", "") for word in UNUSABLE)


def sample(found: Sequence[Run]) -> Sample:
    """Everything that a fit needs to know about `found`."""
    batch, gpus = batch_of(found)
    keys = [fold_key(run) for run in found]
    often = Counter(keys)
    return Sample(
        runs=found,
        batch=batch,
        gpus=gpus,
        measured=np.log([run.speed for run in found]),
        folds=np.array([fold_of(run) for run in found], dtype=np.intp),
        weights=np.array([often[key] ** -0.5 for key in keys]),
    )


@dataclass(frozen=True)
class Vector:
    """Coefficients as an unbounded vector: deviations from the prior in units of its spread."""

    names: tuple[str, ...]
    priors: Floats
    spreads: Floats
    shares: NDArray[np.bool_]

    def values(self, theta: Floats) -> dict[str, float]:
        """Named values at `theta`."""
        logit = np.log(self.priors / np.where(self.shares, 1.0 - self.priors, 1.0)) + self.spreads * theta
        positive = np.exp(logit)
        return dict(zip(self.names, np.where(self.shares, positive / (1.0 + positive), positive).tolist(), strict=True))


def vector(found: Sequence[Run]) -> Vector:
    """The coefficients that `found` can say something about."""
    keyed = sorted({name for run in found for name in _keys(run)})
    rows = [(p.name, p.prior, p.spread, p.share) for p in PARAMETERS]
    for name in keyed:
        prior, spread = _family_prior(name)
        rows.append((name, prior, spread, not name.startswith("framework/")))
    names, priors, spreads, shares = zip(*rows, strict=True)
    return Vector(names, np.array(priors), np.array(spreads), np.array(shares))


def _keys(run: Run) -> tuple[str, ...]:
    where = family(run.gpu)
    return (f"gemm/{where}/{run.precision}", f"gemm/{where}/bf16", f"attention/{where}", f"framework/{run.framework}")


def _family_prior(name: str) -> tuple[float, float]:
    kind, _, rest = name.partition("/")
    precision = rest.rpartition("/")[2]
    return FAMILY_PRIORS[f"gemm//{precision}" if kind == "gemm" else f"{kind}/"]


def log_speed(values: Mapping[str, float], batch: Batch, gpus: Sequence[Gpu]) -> Floats:
    """Log tokens/s/GPU that the physics gives, no group corrections."""
    training, layout = batch.training, batch.layout
    assert training is not None
    time = step_of(batch, build(values, gpus)).time
    speed: Floats = np.log(training.global_batch * training.seq_len / (time * layout.gpus))
    return speed


def fit(data: Sample, seen: NDArray[np.bool_], start: Floats | None = None) -> tuple[Vector, Floats]:
    """The coefficients that fit the runs `seen`."""
    index = np.flatnonzero(seen)
    space = vector(data.runs)
    batch = take(data.batch, index)
    target, weights = data.measured[index], data.weights[index]

    def residuals(theta: Floats) -> Floats:
        error = (log_speed(space.values(theta), batch, data.gpus) - target) / OUTLIER_SCALE
        robust = np.sign(error) * np.sqrt(2.0 * (np.sqrt(1.0 + error * error) - 1.0))
        return np.concatenate([weights * robust * (OUTLIER_SCALE / NOISE), theta])

    first = np.zeros(len(space.names)) if start is None else start
    found = least_squares(residuals, first, method="trf", x_scale=1.0, max_nfev=60, ftol=1e-5, xtol=1e-5)
    return space, found.x


def take(batch: Batch, index: NDArray[np.intp]) -> Batch:
    """Rows of a batch."""
    assert batch.training is not None
    return Batch(
        batch.model.take(index),
        batch.gpu.take(index),
        batch.layout.take(index),
        batch.levers.take(index),
        batch.training.take(index),
    )


def cross_validated(data: Sample) -> tuple[list[dict[str, float]], dict[str, float], Floats]:
    """Values of each fold, of all runs, and the log residual of every run by the fold that did not see it."""
    space, everything = fit(data, np.ones(len(data.runs), dtype=bool))
    folds, residual = [], np.zeros(len(data.runs))
    for fold in range(FOLDS):
        _, theta = fit(data, data.without(fold), everything)
        values = space.values(theta)
        folds.append(values)
        left = np.flatnonzero(~data.without(fold))
        residual[left] = data.measured[left] - log_speed(values, take(data.batch, left), data.gpus)
    return folds, space.values(everything), residual
