"""Fit of the serving coefficients: robust least squares on logarithms, priors from operator timings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from roofline import memory
from roofline.columns import Batch
from roofline.fitting.serving_priors import PRIORS, Prior
from roofline.hardware import Gpu
from roofline.serving import ServingSpeed, predict
from roofline.serving.coefficients import build
from roofline.validation.serving_batch import batch_of
from roofline.validation.serving_table import Run

Array = NDArray[np.float64]
Values = Mapping[tuple[str, str], float]

# What is fitted on, the figure of the engine that it is compared with, and its weight: a TTFT says less about the engine than a TPOT.
TARGETS: Mapping[str, tuple[str, float]] = {
    "tpot": ("tpot_s", 1.0),
    "ttft": ("ttft_benchmark_s", 0.4),
    "offline_tokens_per_s": ("output_tokens_per_s", 0.7),
    "batch1_tokens_per_s": ("batch1_tokens_per_s", 0.7),
    "prefill_tokens_per_s": ("prefill_tokens_per_s", 0.5),
    "tpot_open_loop": ("tpot_s", 1.0),
    "ttft_open_loop": ("ttft_s", 0.5),
    "output_tokens_per_s": ("output_tokens_per_s", 0.3),
}
NOISE = 0.12  # logarithm: below it errors count quadratically, beyond it linearly


@dataclass(frozen=True)
class Problem:
    """Measured points as columns; `rows[i]` is the run of comparison i."""

    runs: Sequence[Run]
    batch: Batch
    room: Any
    gpus: Sequence[Gpu]
    quantity: NDArray[np.str_]
    rows: NDArray[np.intp]
    measured: Array

    def predicted(self, speed: ServingSpeed) -> Array:
        """The figure that each comparison is about."""
        out = np.empty(len(self.rows))
        for name in np.unique(self.quantity):
            at = self.quantity == name
            out[at] = np.broadcast_to(getattr(speed, figure_of(str(name))), len(self.runs))[self.rows[at]]
        return out


def figure_of(quantity: str) -> str:
    """The field of ServingSpeed that a quantity is compared with."""
    if quantity in TARGETS:
        return TARGETS[quantity][0]
    return {"server_tpot": "tpot_s", "server_ttft": "ttft_s"}.get(quantity, "output_tokens_per_s")


def problem(runs: Sequence[Run]) -> Problem:
    """Columns of `runs` and their comparisons."""
    batch, gpus = batch_of(runs)
    pairs = [(i, name, value) for i, run in enumerate(runs) for name, value in run.measured.items()]
    rows, names, values = zip(*pairs, strict=True)
    return Problem(runs, batch, memory.serving(batch), gpus, np.array(names), np.array(rows), np.array(values))


def priors() -> dict[tuple[str, str], float]:
    """Values before any fit."""
    return {(prior.name, prior.level): prior.value for prior in PRIORS}


def fit(p: Problem, used: NDArray[np.bool_], free: Sequence[Prior] = tuple(x for x in PRIORS if x.spread > 0)) -> dict[tuple[str, str], float]:
    """Values that explain the comparisons `used` best, given the priors."""
    values = priors()
    weight = np.array([TARGETS[name][1] if name in TARGETS else 0.0 for name in p.quantity]) * used
    weight = weight * _crowding(p)
    kept = weight > 0
    scale = np.array([prior.spread for prior in free])

    def unpack(x: Array) -> dict[tuple[str, str], float]:
        return {**values, **{(prior.name, prior.level): prior.value * float(np.exp(step)) for prior, step in zip(free, x * scale, strict=True)}}

    def residuals(x: Array) -> Array:
        speed = predict(p.batch, p.room, build(unpack(x), p.gpus))
        error = np.log(p.measured / p.predicted(speed))[kept] / NOISE
        robust = np.sign(error) * np.sqrt(2.0 * (np.sqrt(1.0 + error * error) - 1.0))
        return np.concatenate([robust * np.sqrt(weight[kept]), x])

    found = least_squares(residuals, np.zeros(len(free)), method="trf", max_nfev=14, xtol=1e-3, ftol=1e-4, diff_step=1e-3)
    return unpack(found.x)


def _crowding(p: Problem) -> Array:
    """Weight of a comparison: configurations with many points count less for each, so that a large source does not decide alone."""
    keys = [(p.runs[i].model, p.runs[i].gpu.slug, p.runs[i].gpus, p.runs[i].engine, p.runs[i].formats.weights, q) for i, q in zip(p.rows, p.quantity, strict=True)]
    count: dict[Any, int] = {}
    for key in keys:
        count[key] = count.get(key, 0) + 1
    return np.array([np.sqrt(10.0 / max(count[key], 10)) for key in keys])
