"""Validation of serving memory: weights and KV cache of start-up logs, predicted with constants that saw no row of
the same fold.

A fold is all rows of one model, GPU, number of GPUs, precision and engine. Rows that say too little are skipped with
what they do not say.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from roofline.architecture import Architecture
from roofline.columns import Batch
from roofline.fitting import memory as fitting
from roofline.hardware import Gpu
from roofline.memory.cache import cache as kv_cache
from roofline.memory.constants import ServingConstants
from roofline.memory.serving import ServingMemory, serving
from roofline.memory.shards import kv_heads, stage
from roofline.units import GIB
from roofline.validation.memory_table import (
    Start,
    batch_of,
    catalogue_gpu,
    catalogue_model,
    contradicts_itself,
    fold_of,
    read_rows,
    start_of,
)
from roofline.validation.model_labels import NO_MODEL, UnderSpecified
from roofline.validation.report import Outcome
from roofline.validation.residuals import Residual, source_name

QUANTITIES = ("weights_bytes", "kv_cache_tokens", "kv_cache_bytes")
MEASURED = {
    "weights_bytes": ("weights_GiB_per_gpu", GIB),
    "kv_cache_tokens": ("kv_tokens", 1.0),
    "kv_cache_bytes": ("kv_cache_GiB_per_gpu", GIB),
}
REPORTS_SEQUENCES_SINCE = (
    2026.4  # vLLM 0.20: the log's tokens are concurrency x max_model_len; before, blocks over groups
)
# ln: names round sizes and leave out towers for images; engines that are not modelled keep other buffers.
SIZE_SPREAD = 0.3
NOTHING_LEFT = "an out-of-memory record"


def constants_for(starts: Sequence[Start]) -> ServingConstants:
    """Columns of constants: for each row those of its fold."""
    folds = np.array([fold_of(start) for start in starts], dtype=np.intp)
    return ServingConstants(*np.array(fitting.fold_constants())[folds].T)


def validate(
    rows_or_path: Sequence[Mapping[str, str]] | str | Path,
    resolve_model: Callable[[Mapping[str, str]], Architecture] = catalogue_model,
    resolve_gpu: Callable[[Mapping[str, str]], Gpu | None] = catalogue_gpu,
) -> Outcome:
    """Residuals of every row of a table. Reads only the input columns for the prediction, the measured ones to compare."""
    rows = read_rows(rows_or_path) if isinstance(rows_or_path, str | Path) else list(rows_or_path)
    skipped: Counter[str] = Counter()
    starts, used = [], []
    for number, row in enumerate(rows, start=1):
        try:
            starts.append(start_of(row, resolve_model, resolve_gpu))
        except UnderSpecified as fault:
            skipped[str(fault)] += 1
        else:
            used.append((str(row.get("id") or number), row))
    residuals: list[Residual] = []
    if starts:
        batch = batch_of(starts)
        memory = serving(batch, constants_for(starts))
        tokens = reported_tokens(batch, memory)
        for index, ((identity, row), start) in enumerate(zip(used, starts, strict=True)):
            found = _residuals(identity, row, start, _predicted(memory, tokens, index))
            residuals.extend(found)
            if not found:
                skipped[NO_MODEL if start.size_only else _why_nothing(row)] += 1
    return Outcome(len(rows), len(rows) - sum(skipped.values()), residuals, skipped)


def reported_tokens(batch: Batch, memory: ServingMemory) -> NDArray[np.float64]:
    """Tokens as the engine's log counts them: before vLLM 0.20 the blocks of all groups, however few tokens a
    windowed group needs.
    """
    assert batch.serving is not None
    held = kv_cache(batch, stage(batch.model, batch.layout.pp), kv_heads(batch.model, batch.layout.tp))
    groups = np.maximum(held.full_groups + held.window_groups + held.state_groups, 1.0)
    usable = np.floor(np.maximum(memory.kv_available_bytes, 0.0) / held.block)
    old = held.grouped & (batch.serving.engine_year < REPORTS_SEQUENCES_SINCE)
    shortest = np.where(
        held.window_groups > 0, np.minimum(held.full_block_tokens, held.window_block_tokens), held.full_block_tokens
    )
    tokens: NDArray[np.float64] = np.where(old, np.floor(usable / groups) * shortest, memory.kv_cache_tokens)
    return tokens


def _predicted(memory: ServingMemory, tokens: NDArray[np.float64], index: int) -> dict[str, float]:
    return {
        "weights_bytes": float(memory.weights_bytes[index]),
        "kv_cache_tokens": float(tokens[index]),
        "kv_cache_bytes": max(float(memory.kv_available_bytes[index]), 0.0),
    }


def _residuals(identity: str, row: Mapping[str, str], start: Start, predicted: Mapping[str, float]) -> list[Residual]:
    found = []
    for quantity in QUANTITIES:
        column, unit = MEASURED[quantity]
        measured = _measured(row, column) * unit
        silent = math.isnan(start.utilization) or start.size_only or contradicts_itself(row)
        says_enough = quantity == "weights_bytes" or not silent
        if not measured > 0 or not says_enough:
            continue
        value = predicted[quantity]
        spread = math.exp(SIZE_SPREAD if start.guessed or start.size_only else fitting.spread_of(quantity, start.year))
        found.append(
            Residual(
                id=identity,
                quantity=quantity,
                measured=measured,
                predicted=value,
                low=value / spread,
                high=value * spread,
                gpu=row.get("gpu", ""),
                source=source_name(row.get("ref", "")),
                architecture=start.model.kind,
                engine=start.engine,
                model=row.get("model", ""),
                precision=start.weights,
            )
        )
    return found


def _measured(row: Mapping[str, str], column: str) -> float:
    try:
        return float(row.get(column) or "nan")
    except ValueError:
        return math.nan


def _why_nothing(row: Mapping[str, str]) -> str:
    if not (row.get("gpu_memory_utilization") or "").strip():
        return "memory utilization not stated"
    return NOTHING_LEFT
