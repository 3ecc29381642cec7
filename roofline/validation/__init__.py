"""The engine held against tables of measurements, each row predicted by coefficients that saw no row of its fold."""

from importlib import import_module
from pathlib import Path

from roofline.validation.report import Outcome

KINDS = ("training", "inference", "serving_memory", "ops")


def validate(path: str | Path, kind: str) -> Outcome:
    """Compare a table (columns of the shipped tables of that kind) with the engine.

    Raises OSError for a file that cannot be read, ValueError for one that is no such table.
    """
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}")
    outcome: Outcome = import_module(f"roofline.validation.{kind}").validate(path)
    return outcome
