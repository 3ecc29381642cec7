"""Folds of cross-validation over serving measurements: points of one configuration are never in two folds."""

from hashlib import sha256

from roofline.validation.serving_table import Run

FOLDS = 5


def fold_of(run: Run) -> int:
    """0 to FOLDS - 1, by (model, GPU, number of GPUs, weight format, engine): the same on every machine."""
    key = "|".join((run.model.lower(), run.gpu.slug, f"{run.gpus:g}", run.formats.weights, run.engine))
    return fold_of_text(key)


def fold_of_text(key: str) -> int:
    """0 to FOLDS - 1 by any key: to leave out whole GPUs, models or sources."""
    return int.from_bytes(sha256(key.encode()).digest()[:4], "big") % FOLDS
