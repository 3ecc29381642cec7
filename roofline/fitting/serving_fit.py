"""Fit of the serving coefficients: robust least squares on logarithms, priors from operator timings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
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
    "server_tpot": ("tpot_s", 0.5),
    "server_ttft": ("ttft_s", 0.3),
}
UNSTATED = ("mlperf",)  # variants that leave lengths and layout open: they say nothing of the engine
EMULATED = ("emulated",)  # formats without kernels of their own, whose cost is not that of the format
MOST_POINTS = 5
STEP = 0.02  # of a difference, in standard deviations of the prior
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
        for name, at in self.places.items():
            out[at] = np.broadcast_to(getattr(speed, figure_of(name)), len(self.runs))[self.rows[at]]
        return out

    @cached_property
    def places(self) -> Mapping[str, NDArray[np.intp]]:
        """Where each quantity stands."""
        return {str(name): np.flatnonzero(self.quantity == name) for name in np.unique(self.quantity)}


def figure_of(quantity: str) -> str:
    """The field of ServingSpeed that a quantity is compared with."""
    return TARGETS[quantity][0] if quantity in TARGETS else "output_tokens_per_s"


def problem(runs: Sequence[Run]) -> Problem:
    """Columns of `runs` and their comparisons."""
    batch, gpus = batch_of(runs)
    pairs = [(i, name, value) for i, run in enumerate(runs) for name, value in run.measured.items()]
    rows, names, values = zip(*pairs, strict=True)
    return Problem(runs, batch, memory.serving(batch), gpus, np.array(names), np.array(rows), np.array(values))


def priors() -> dict[tuple[str, str], float]:
    """Values before any fit."""
    return {(prior.name, prior.level): prior.value for prior in PRIORS}


FREE = tuple(prior for prior in PRIORS if prior.spread > 0)


def fit(
    p: Problem, used: NDArray[np.bool_], rounds: int = 12, free: Sequence[Prior] = FREE
) -> dict[tuple[str, str], float]:
    """Values that explain the comparisons `used` best, given the priors: at most `rounds` steps from these."""
    p, weight = _thinned(p, used)
    values = priors()
    scale = np.array([prior.spread for prior in free])

    def unpack(x: Array) -> dict[tuple[str, str], float]:
        moved = (prior.value * float(np.exp(step)) for prior, step in zip(free, x * scale, strict=True))
        return values | {(prior.name, prior.level): value for prior, value in zip(free, moved, strict=True)}

    def residuals(x: Array) -> Array:
        speed = predict(p.batch, p.room, build(unpack(x), p.gpus))
        error = np.log(p.measured / p.predicted(speed)) / NOISE
        robust = np.sign(error) * np.sqrt(2.0 * (np.sqrt(1.0 + error * error) - 1.0))
        return np.concatenate([robust * np.sqrt(weight), x])

    def slopes(x: Array) -> Array:
        """Forward differences."""
        base = residuals(x)
        return np.stack([(residuals(x + STEP * unit) - base) / STEP for unit in np.eye(len(x))], axis=1)

    found = least_squares(
        residuals, np.zeros(len(free)), jac=slopes, method="trf", max_nfev=rounds, xtol=1e-3, ftol=3e-4
    )
    return unpack(found.x)


def _thinned(p: Problem, used: NDArray[np.bool_]) -> tuple[Problem, Array]:
    """At most MOST_POINTS comparisons of a configuration and quantity, spread over its range, and the weight of each.

    A configuration with many points would else decide alone; those left out stand for more, but less than in proportion.
    """
    cells: dict[Any, list[int]] = {}
    for at in np.flatnonzero(used):
        run = p.runs[p.rows[at]]
        if p.quantity[at] in TARGETS and run.variant not in (*UNSTATED, *EMULATED):
            key = (run.model, run.gpu.slug, run.gpus, run.engine, run.formats.weights, run.variant, p.quantity[at])
            cells.setdefault(key, []).append(int(at))
    kept, weight = [], []
    for key, places in cells.items():
        places.sort(key=lambda at: float(p.measured[at]))
        chosen = np.unique(np.linspace(0, len(places) - 1, min(len(places), MOST_POINTS)).round().astype(int))
        kept += [places[i] for i in chosen]
        weight += [TARGETS[key[-1]][1] * np.sqrt(len(places) / len(chosen))] * len(chosen)
    runs = sorted({int(p.rows[at]) for at in kept})
    place = {run: i for i, run in enumerate(runs)}
    batch, gpus = batch_of([p.runs[run] for run in runs])
    rows = np.array([place[int(p.rows[at])] for at in kept])
    thin = Problem(
        [p.runs[run] for run in runs], batch, memory.serving(batch), gpus, p.quantity[kept], rows, p.measured[kept]
    )
    return thin, np.array(weight)
