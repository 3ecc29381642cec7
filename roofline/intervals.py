"""The error bar of a prediction: what left-out measurements near it were off by.

Intervals are factors on a speed (or a time); every headline figure of the answer that follows from it gets its pair.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roofline import serving, training
from roofline.question import Question

if TYPE_CHECKING:
    from roofline.predict import Choice

Json = dict[str, Any]

LEVEL = 0.8
TRAINING_RATES = ("tokens_per_s", "tokens_per_s_per_gpu", "tflops_per_gpu", "mfu", "hfu")
TRAINING_TIMES = ("step_time_s", "time_to_train_s")


def interval(question: Question, choice: Choice, figures: Json) -> Json:
    """Level, a pair (low, high) for each headline figure of `figures`, and what the interval rests on."""
    if question.scenario.workload == "training":
        found = training.interval(choice.batch, training.load(choice.gpus))
        low, high = float(found.low), float(found.high)
        pairs = {name: _pair(figures[name], low, high) for name in TRAINING_RATES}
        pairs |= {name: _pair(figures[name], 1.0 / high, 1.0 / low) for name in TRAINING_TIMES}
        return {"level": LEVEL, **pairs, "basis": training.BASES[int(found.basis)]}
    if not hasattr(serving, "interval"):
        return None
    bounds = serving.interval(choice.batch, serving.load(choice.gpus))
    pairs = {name: _pair(figures[name], float(low), float(high)) for name, (low, high) in bounds.factors.items()}
    return {"level": LEVEL, **pairs, "basis": bounds.basis}


def _pair(value: float | None, low: float, high: float) -> list[float] | None:
    return None if value is None else [value * low, value * high]
