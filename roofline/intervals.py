"""The error bar of a prediction: what left-out measurements near it were off by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roofline.question import Question

if TYPE_CHECKING:
    from roofline.predict import Choice

LEVEL = 0.8


def interval(question: Question, choice: Choice) -> dict[str, Any] | None:
    """One pair for each headline figure, with its level and basis; None where nothing was ever measured."""
    return None
