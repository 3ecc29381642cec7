"""Fit of the memory constants to start-up logs of serving engines: what was not weights and not KV cache.

Robust least squares in GiB on the activation peaks, the non-torch memory, and their sum as the budget rule implies it
(utilization x total - weights - KV cache), of the rows that log them; drawn weakly to the starting values so that a
constant without rows keeps its value. `python -m roofline.fitting.memory` writes coefficients/memory.csv again, to
the digit.
"""

import csv
import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from roofline.memory.constants import ServingConstants, spreads
from roofline.memory.serving import activation_peak, runtime, serving
from roofline.units import GIB
from roofline.validation.memory_table import (
    FOLDS,
    Start,
    batch_of,
    contradicts_itself,
    fold_of,
    shipped_rows,
    start_of,
)
from roofline.validation.model_labels import UnderSpecified

# Where the fit starts and what it is drawn to: from reading what engines allocate (docs/algorithms/memory.md).
PRIOR = ServingConstants(
    hidden_vectors_0=3.0,
    hidden_vectors_1=4.0,
    logit_bytes_1=36.0,
    logit_bytes_2=14.0,
    expert_workspace=1.0,
    non_torch_0=0.25 * GIB,
    non_torch_single_1=0.13 * GIB,
    non_torch_single_2=0.25 * GIB,
    non_torch_parallel_1=0.6 * GIB,
    non_torch_parallel_2=2.1 * GIB,
    graph_base=0.4 * GIB,
    graph_per_layer=0.015 * GIB,
    graph_moe=0.5 * GIB,
    pool_overhead_single=0.5 * GIB,
    pool_overhead_parallel=1.9 * GIB,
    llama_cpp_runtime=0.5 * GIB,
)
FIXED_SOURCES = {
    "pool_overhead_single": "CUDA context and libraries, as vLLM logs them",
    "pool_overhead_parallel": "KV pool of Qwen3-235B-A22B-FP8 on 4 x H100 (sgl-project, vllm-project/vllm #21348)",
    "llama_cpp_runtime": "CUDA context",
}
PRIOR_WEIGHT = 0.02  # GiB of residual for a change by the whole starting value
NEW_SINCE = 2026.3  # vLLM 0.19
LEVEL = 80
QUANTITIES = ("weights_bytes", "kv_cache_bytes", "kv_cache_tokens")
LOSS_SCALE = 0.1  # GiB: from here a residual counts as an outlier
UNITS = {
    "hidden_vectors_0": "vectors",
    "hidden_vectors_1": "vectors",
    "expert_workspace": "share",
    "logit_bytes_1": "bytes/logit",
    "logit_bytes_2": "bytes/logit",
}


def _logged(start_row: Mapping[str, str], name: str) -> float:
    try:
        return float(start_row[name])
    except (KeyError, ValueError):
        return math.nan


class Logs:
    """The rows of a fit: their batch and what they measured, GiB; nan where not logged."""

    def __init__(self, rows: Sequence[Mapping[str, str]]) -> None:
        self.starts: list[Start] = []
        used: list[Mapping[str, str]] = []
        for row in rows:
            try:
                start = start_of(row)
            except UnderSpecified:
                continue
            if start.engine == "vllm" and not start.guessed and "MODEL INFERRED" not in row.get("note", ""):
                self.starts.append(start)
                used.append(row)
        self.batch = batch_of(self.starts)
        columns = (
            "activation_peak_GiB",
            "non_torch_GiB",
            "cuda_graph_GiB",
            "weights_GiB_per_gpu",
            "kv_cache_GiB_per_gpu",
        )
        peak, other, graphs, weights, cache = (np.array([_logged(row, name) for row in used]) for name in columns)
        utilization = np.array([start.utilization for start in self.starts])
        for index, row in enumerate(used):
            if contradicts_itself(row):
                cache[index] = np.nan
        self.activation, self.non_torch, self.graphs, self.weights, self.cache = peak, other, graphs, weights, cache
        self.tokens = np.array([_logged(row, "kv_tokens") for row in used])
        self.budget = utilization * np.asarray(self.batch.gpu.memory_bytes) / GIB - weights - cache


def predicted(
    logs: Logs, constants: ServingConstants
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Activation peak, non-torch memory and CUDA graphs of the rows, GiB."""
    context, graphs = runtime(logs.batch, constants)
    return activation_peak(logs.batch, constants) / GIB, context / GIB, graphs / GIB


def residuals(logs: Logs, constants: ServingConstants) -> NDArray[np.float64]:
    """Predicted less measured, GiB, for whatever the rows logged."""
    peak, context, graphs = predicted(logs, constants)
    parts = (peak - logs.activation, context - logs.non_torch, graphs - logs.graphs, peak + context - logs.budget)
    return np.concatenate([part[np.isfinite(part)] for part in parts])


def fit(rows: Sequence[Mapping[str, str]]) -> tuple[ServingConstants, float]:
    """Constants fitted to `rows` and the median absolute residual in bytes."""
    logs = Logs(rows)
    prior = np.array(PRIOR)
    free = np.array([name not in FIXED_SOURCES for name in ServingConstants._fields])

    def cost(scales: NDArray[np.float64]) -> NDArray[np.float64]:
        values = prior.copy()
        values[free] *= scales
        return np.concatenate([residuals(logs, ServingConstants(*values)), PRIOR_WEIGHT * (scales - 1)])

    found = least_squares(cost, np.ones(int(free.sum())), loss="soft_l1", f_scale=LOSS_SCALE, bounds=(0.0, 5.0))
    values = prior.copy()
    values[free] *= found.x
    constants = ServingConstants(*(float(value) for value in values))
    return constants, float(np.median(np.abs(residuals(logs, constants)))) * GIB


@cache
def fold_constants() -> tuple[ServingConstants, ...]:
    """Constants of each fold, fitted to the shipped rows of all other folds."""
    rows = [(fold, row) for row in shipped_rows() if (fold := _fold(row)) is not None]
    return tuple(fit([row for other, row in rows if other != fold])[0] for fold in range(FOLDS))


def _fold(row: Mapping[str, str]) -> int | None:
    try:
        return fold_of(start_of(row))
    except UnderSpecified:
        return None


def spread_of(quantity: str, year: float) -> float:
    """80th percentile of |ln(predicted / measured)| of left-out rows, for releases as old as `year`; nan is new."""
    return spreads()[f"{quantity}.{'old' if year < NEW_SINCE else 'new'}"]


def left_out_spreads() -> dict[str, float]:
    """The spreads as cross-validation over the shipped rows gives them."""
    logs = Logs(shipped_rows())
    folds = np.array([fold_of(start) for start in logs.starts], dtype=np.intp)
    held = serving(logs.batch, ServingConstants(*np.array(fold_constants())[folds].T))
    old = np.array([start.year < NEW_SINCE for start in logs.starts])
    pairs = {
        "weights_bytes": (np.asarray(held.weights_bytes) / GIB, logs.weights),
        "kv_cache_bytes": (np.asarray(held.kv_available_bytes) / GIB, logs.cache),
        "kv_cache_tokens": (np.asarray(held.kv_cache_tokens), logs.tokens),
    }
    found = {}
    for quantity, (predicted_, measured) in pairs.items():
        error = np.abs(np.log(np.maximum(predicted_, 1e-9) / np.where(measured > 0, measured, np.nan)))
        for age, among in (("old", old), ("new", ~old)):
            found[f"{quantity}.{age}"] = float(np.nanpercentile(error[among], LEVEL))
    return found


def records(constants: ServingConstants, error: float, rows: int) -> list[dict[str, Any]]:
    """The lines of coefficients/memory.csv for the serving constants."""
    source = f"fit to {rows} start-up logs of data/measurements/serving_memory.csv"
    return [
        {
            "name": f"serving.{name}",
            "value": f"{value:.5g}",
            "unit": UNITS.get(name, "bytes"),
            "source": FIXED_SOURCES.get(name, source),
            "rows": "" if name in FIXED_SOURCES else rows,
            "fit_error": "" if name in FIXED_SOURCES else f"{error:.3g} bytes (median)",
        }
        for name, value in zip(ServingConstants._fields, constants, strict=True)
    ]


def main(path: Path | None = None) -> None:
    """Fit to the shipped rows and write the serving lines of coefficients/memory.csv; training lines stay as they
    are.
    """
    rows = shipped_rows()
    constants, error = fit(rows)
    target = path or Path(str(resources.files("roofline").joinpath("coefficients/memory.csv")))
    with target.open(encoding="utf-8", newline="") as lines:
        kept = [
            row
            for row in csv.DictReader(lines)
            if not row["name"].startswith(("serving.", *(f"spread.{name}" for name in QUANTITIES)))
        ]
    fitted = records(constants, error, len(Logs(rows).starts))
    with target.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.DictWriter(lines, fieldnames=list(fitted[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows([*fitted, *kept, *_spread_records()])


def _spread_records() -> list[dict[str, Any]]:
    source = "left-out rows of data/measurements/serving_memory.csv, 80th percentile"
    empty = {"rows": "", "fit_error": ""}
    return [
        {"name": f"spread.{name}", "value": f"{value:.4g}", "unit": "ln", "source": source} | empty
        for name, value in left_out_spreads().items()
    ]


if __name__ == "__main__":
    main()
