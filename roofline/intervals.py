"""The error bar of a prediction: what left-out measurements near it were off by.

Intervals are factors on a speed or a time; every headline figure of the answer that follows from it gets its pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from roofline import serving, training
from roofline.columns import Batch, Column
from roofline.hardware import Gpu
from roofline.question import Question
from roofline.selection import some
from roofline.serving import intervals as serving_intervals

if TYPE_CHECKING:
    from roofline.predict import Choice

Json = dict[str, Any]

LEVEL = 0.8
# Least distance of an end from the figure: near no measured run, errors of other runs may all lean to one side.
MARGIN = 0.01
TRAINING_RATES = ("tokens_per_s", "tokens_per_s_per_gpu", "tflops_per_gpu", "mfu", "hfu")
TRAINING_TIMES = ("step_time_s", "time_to_train_s")
# Costs follow from a speed and an exact price: they are as uncertain as the speed, the other way round.
COST_OF = {
    "usd_per_run": "tokens_per_s",
    "usd_per_million_output_tokens": "output_tokens_per_s",
    "usd_per_million_total_tokens": "total_tokens_per_s",
}
OFFERED = ("output_tokens_per_s", "output_tokens_per_s_per_gpu", "total_tokens_per_s", "requests_per_s")
# Headline figure -> the quantity of the validation whose left-out errors it shares: closed loop, and a given
# request rate.
SERVING = {
    "output_tokens_per_s": ("output_tokens_per_s", "tpot_open_loop"),
    "output_tokens_per_s_per_gpu": ("output_tokens_per_s", "tpot_open_loop"),
    "total_tokens_per_s": ("output_tokens_per_s", "tpot_open_loop"),
    "requests_per_s": ("output_tokens_per_s", "tpot_open_loop"),
    "tpot_s": ("tpot", "tpot_open_loop"),
    "ttft_s": ("ttft", "ttft_open_loop"),
    "ttft_benchmark_s": ("ttft", "ttft_open_loop"),
    "e2e_latency_s": ("tpot", "tpot_open_loop"),
    "prefill_tokens_per_s": ("prefill_tokens_per_s", "prefill_tokens_per_s"),
}
BASES = (
    "no measured run near this one: coefficients inherited from other GPUs and models",
    "reference runs of this GPU or of this model with this engine",
    "reference runs of this model on this GPU with this engine",
)


def interval(question: Question, choice: Choice, figures: Json) -> Json:
    """Level, a pair (low, high) for each headline figure of `figures`, and what the interval rests on."""
    known, place = choice.winners.bounds, choice.place
    pairs = {name: _pair(figures[name], low[place], high[place]) for name, (low, high) in known.factors.items()}
    basis = known.basis[place]
    _cap_offered(question, figures, pairs)
    return {"level": LEVEL, **pairs, "basis": basis}


def _cap_offered(question: Question, figures: Json, pairs: dict[str, list[float] | None]) -> None:
    """No more requests are answered than arrive (but for the margin that every pair keeps)."""
    rate = question.scenario.get("inference.request_rate_per_s")
    answered = figures.get("requests_per_s")
    for name in OFFERED:
        pair = pairs.get(name)
        if rate and answered and pair:
            pair[1] = min(pair[1], figures[name] * max(rate / answered, 1.0 + MARGIN))


def cost_interval(costs: Json, figures: Json, pairs: Json) -> Json:
    """Level, and a pair (low, high) for each figure of `costs` that follows from one of `figures` with its pair."""
    found: Json = {"level": LEVEL}
    for name, follows in COST_OF.items():
        speed = follows if follows in figures else "tokens_per_s"  # training has one speed
        cost, pair = costs.get(name), pairs.get(speed)
        if cost is not None and pair:
            found[name] = [cost * figures[speed] / pair[1], cost * figures[speed] / pair[0]]
    return found


@dataclass
class Bounds:
    """For each scenario of a batch: factors (low, high) on each headline figure, and what they rest on."""

    factors: dict[str, tuple[list[float], list[float]]]
    basis: list[str]


def bounds(batch: Batch, gpus: tuple[Gpu, ...], count: int) -> Bounds:
    """The error bars of the `count` scenarios of a batch; served loads are all closed or all at a given request rate."""
    return _training(batch, gpus, count) if batch.training is not None else _serving(batch, gpus, count)


def _listed(column: Column, count: int) -> list[Any]:
    values: list[Any] = np.broadcast_to(column, count).tolist()
    return values


def _training(batch: Batch, gpus: tuple[Gpu, ...], count: int) -> Bounds:
    found = training.interval(batch, training.load(gpus))
    speed = _listed(found.low, count), _listed(found.high, count)
    time = _listed(1.0 / found.high, count), _listed(1.0 / found.low, count)
    basis = [training.BASES[code] for code in _listed(found.basis, count)]
    return Bounds(dict.fromkeys(TRAINING_RATES, speed) | dict.fromkeys(TRAINING_TIMES, time), basis)


def _serving(batch: Batch, gpus: tuple[Gpu, ...], count: int) -> Bounds:
    assert batch.serving is not None
    coefficients = serving.load(gpus)
    is_open = some(batch.serving.request_rate > 0)
    quantities = {name: pair[is_open] for name, pair in SERVING.items()}
    pairs = {name: serving_intervals.interval(name, batch, coefficients) for name in {*quantities.values()}}
    listed = {name: (_listed(low, count), _listed(high, count)) for name, (low, high) in pairs.items()}
    near = _listed(serving_intervals.nearness(batch, coefficients), count)
    return Bounds({name: listed[quantity] for name, quantity in quantities.items()}, [BASES[code] for code in near])


def _pair(value: float | None, low: float, high: float) -> list[float] | None:
    """The pair around `value`, which it always holds."""
    return None if value is None else [value * min(low, 1.0 - MARGIN), value * max(high, 1.0 + MARGIN)]
