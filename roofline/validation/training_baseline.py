"""The baseline that a training model must beat: the median MFU of the same GPU, precision and kind of model."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from roofline import training
from roofline.fitting.training import fold_of
from roofline.validation.residuals import Residual
from roofline.validation.training import SPEED, speed_residuals
from roofline.validation.training_batch import batch_of
from roofline.validation.training_table import Run, runs


def median_mfu(rows: Sequence[Mapping[str, str]]) -> list[Residual]:
    """Each row by the median MFU of its GPU, precision and kind over the rows of other folds; where none is, of all."""
    found, _ = runs(rows)
    fast = [run for run in found if run.speed == run.speed]
    batch, gpus = batch_of(fast)
    speed = training.predict(batch, training.load(tuple(gpus)))
    per_mfu = np.broadcast_to(speed.tokens_per_s_per_gpu / speed.mfu, len(fast))
    measured = np.array([run.speed for run in fast]) / per_mfu
    medians = _medians(fast, measured)
    return [
        replace(residual, quantity=SPEED, predicted=float(mfu * unit), low=np.nan, high=np.nan)
        for residual, mfu, unit in zip(speed_residuals(fast), medians, per_mfu, strict=True)
    ]


def _medians(fast: Sequence[Run], measured: NDArray[np.float64]) -> NDArray[np.float64]:
    folds = np.array([fold_of(run) for run in fast])
    cells = defaultdict(list)
    for index, run in enumerate(fast):
        cells[(run.gpu.slug, run.precision, run.kind)].append(index)
    medians = np.empty(len(fast))
    for members in cells.values():
        group = np.array(members)
        for fold in np.unique(folds[group]):
            own = group[folds[group] == fold]
            others = group[folds[group] != fold]
            medians[own] = np.median(measured[others] if len(others) else measured[folds != fold])
    return medians
