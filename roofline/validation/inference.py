"""Serving: measured points predicted with coefficients that saw no point of their fold, and the textbook roofline beside it."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from roofline import memory
from roofline.fitting.folds import FOLDS, fold_of
from roofline.fitting.serving_fit import figure_of
from roofline.serving import ServingCoefficients, load, predict
from roofline.serving.coefficients import textbook
from roofline.serving.corrections import VARIANTS
from roofline.serving.intervals import interval
from roofline.validation.report import Outcome
from roofline.validation.residuals import Residual
from roofline.validation.serving_batch import batch_of
from roofline.validation.serving_table import Run, read_rows, runs

Coefficients = Callable[..., ServingCoefficients]


def validate(path: str | Path) -> Outcome:
    """The compared figures of a table with the columns of data/measurements/inference.csv."""
    rows = read_rows(path)
    return outcome_of(rows)


def outcome_of(rows: Sequence[dict[str, str]], coefficients: Coefficients = load) -> Outcome:
    """The compared figures of rows; `coefficients(gpus, fold)` gives those that a fold is predicted with."""
    numbered = [{**row, "id": row.get("id") or str(i)} for i, row in enumerate(rows, 1)]
    good, skipped = runs(numbered)
    fold = np.array([fold_of(run) for run in good])
    residuals: list[Residual] = []
    for k in range(FOLDS):
        held = [run for run, own in zip(good, fold, strict=True) if own == k]
        if held:
            residuals += _residuals(held, str(k), coefficients)
    return Outcome(len(rows), len(good), residuals, Counter(skip.reason for skip in skipped))


def baseline(rows: Sequence[dict[str, str]]) -> Outcome:
    """The same rows by the textbook roofline: efficiency 1, no launches, no host."""
    return outcome_of(rows, textbook)


def _residuals(held: Sequence[Run], fold: str, coefficients: Coefficients) -> list[Residual]:
    batch, gpus = batch_of(held)
    c = coefficients(tuple(gpus), fold)
    speed = predict(batch, memory.serving(batch), c, variant_codes(held))
    names = {name for run in held for name in run.measured}
    figures = {name: np.broadcast_to(getattr(speed, figure_of(name)), len(held)) for name in names}
    bounds = {name: tuple(np.broadcast_to(side, len(held)) for side in interval(name, batch, c)) for name in names}
    return [
        _residual(run, name, value, float(figures[name][i]), float(bounds[name][0][i]), float(bounds[name][1][i]))
        for i, run in enumerate(held)
        for name, value in run.measured.items()
    ]


def variant_codes(held: Sequence[Run]) -> NDArray[np.intp]:
    """Code into VARIANTS of each run; one that was never seen counts as none."""
    return np.array([VARIANTS.index(run.variant) if run.variant in VARIANTS else 0 for run in held])


def _residual(run: Run, quantity: str, measured: float, predicted: float, low: float, high: float) -> Residual:
    return Residual(
        id=run.id,
        quantity=quantity,
        measured=measured,
        predicted=predicted,
        low=predicted * low,
        high=predicted * high,
        gpu=run.row.get("gpu", "") or run.gpu.slug,
        source=run.source,
        architecture=run.kind,
        engine=run.engine,
        model=run.model,
        precision=run.formats.weights,
    )
