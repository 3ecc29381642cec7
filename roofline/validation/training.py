"""Training tables: every row that says enough predicted with coefficients that saw no row of its fold, and compared."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from roofline import codes, memory, training
from roofline.fitting.training import fold_of, take
from roofline.validation import training_memory
from roofline.validation.report import Outcome
from roofline.validation.residuals import Residual
from roofline.validation.training_batch import batch_of
from roofline.validation.training_memory import is_leaner, memory_batch, why_underspecified
from roofline.validation.training_table import Run, read_rows, runs

SPEED = "tokens_per_s_per_gpu"
DOES_NOT_FIT = 0.0  # predicted speed where the engine says that a run which was measured does not fit
Floats = NDArray[np.float64]


def validate(rows_or_path: Sequence[Mapping[str, str]] | str | Path) -> Outcome:
    """Residuals of a table with the columns of data/measurements/training.csv, and the rows left out by reason."""
    rows = read_rows(rows_or_path) if isinstance(rows_or_path, str | Path) else list(rows_or_path)
    found, left_out = runs(rows)
    skipped = Counter(skip.reason for skip in left_out)
    fast = [run for run in found if run.speed == run.speed]
    sized = [run for run in found if run.peak_memory_bytes == run.peak_memory_bytes and not why_underspecified(run.row)]
    residuals = [*speed_residuals(fast), *training_memory.residuals(sized)]
    compared = {id(run.row) for run in (*fast, *sized)}
    skipped.update(why_underspecified(run.row) for run in found if id(run.row) not in compared)
    return Outcome(rows=len(rows), predicted=len(compared), residuals=residuals, skipped=skipped)


def speed_residuals(found: Sequence[Run]) -> Iterator[Residual]:
    """Residuals of the speed, each row by its own fold."""
    if not found:
        return
    predicted, low, high = predicted_speeds(found)
    for index, run in enumerate(found):
        yield _residual(run, index, SPEED, run.speed, predicted[index], low[index], high[index])


def predicted_speeds(found: Sequence[Run]) -> tuple[Floats, Floats, Floats]:
    """tokens/s/GPU of each run and the bounds of its interval; DOES_NOT_FIT where everything is stated and memory falls short."""
    batch, gpus = batch_of(found)
    folds = np.array([fold_of(run) for run in found])
    speed, low, high = np.zeros(len(found)), np.zeros(len(found)), np.zeros(len(found))
    for fold in np.unique(folds):
        index = np.flatnonzero(folds == fold)
        part, coefficients = take(batch, index), training.load(tuple(gpus), str(fold))
        speed[index] = training.predict(part, coefficients).tokens_per_s_per_gpu
        bounds = training.interval(part, coefficients)
        low[index], high[index] = speed[index] * bounds.low, speed[index] * bounds.high
    held = memory.training(memory_batch(found)[0])
    settled = np.array([_settled(run) for run in found])
    refused = settled & ~held.fits
    return np.where(refused, DOES_NOT_FIT, speed), low, high


FIXED_RECOMPUTES = (codes.RECOMPUTES[0], codes.RECOMPUTES[2])  # "selective" means other things in other frameworks


def _settled(run: Run) -> bool:
    """Whether everything that memory depends on is stated, and of a kind that the memory model has."""
    layout_stated = all(run.row.get(name) for name in ("tp", "pp", "micro_batch_per_gpu"))
    return layout_stated and run.recompute in FIXED_RECOMPUTES and not is_leaner(run.row)


def _residual(
    run: Run, index: int, quantity: str, measured: float, predicted: float, low: float, high: float
) -> Residual:
    return Residual(
        id=run.id or str(index + 1),
        quantity=quantity,
        measured=measured,
        predicted=float(predicted),
        low=float(low),
        high=float(high),
        gpu=run.gpu.slug,
        source=run.source,
        architecture=run.kind,
        engine=run.framework,
        model=run.row.get("model_id") or run.row.get("model_name", "") or run.architecture.name,
        precision=run.precision,
    )
