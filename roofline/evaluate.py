"""Memory, speed and cost of a batch: the engine on arrays, one call for one scenario or a million."""

from dataclasses import dataclass, fields, is_dataclass, replace
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from roofline import memory, serving, training
from roofline.columns import Batch, Column
from roofline.cost import Cost, busy_power, cost
from roofline.hardware import Gpu
from roofline.selection import maximum, pick, some

Record = TypeVar("Record")
# Chunk in which a large batch is computed: its intermediate arrays stay in the processor's cache.
CHUNK = 8_192
TIMES = (
    "step_time_s",
    "time_to_train_s",
    "ttft_s",
    "ttft_benchmark_s",
    "ttft_p99_s",
    "tpot_s",
    "itl_p99_s",
    "e2e_latency_s",
)
RATES = (
    "tokens_per_s",
    "tokens_per_s_per_gpu",
    "tflops_per_gpu",
    "mfu",
    "hfu",
    "mbu",
    "output_tokens_per_s",
    "output_tokens_per_s_per_gpu",
    "total_tokens_per_s",
    "requests_per_s",
    "prefill_tokens_per_s",
)


@dataclass(slots=True)
class Business:
    """What turns speed into money; arrays of the shape of the batch."""

    usd_per_gpu_hour: Column  # nan where no price is known
    productive: Column  # utilization times goodput


@dataclass(slots=True)
class Evaluation:
    """Everything computed for a batch. One of `training` and `serving` is set."""

    memory: Any
    speed: Any
    cost: Cost
    fits: Column


def evaluate(batch: Batch, gpus: tuple[Gpu, ...], business: Business, *, slowdown: Column = 1.0) -> Evaluation:
    """Evaluate `batch`, whose GPU codes index `gpus`. `slowdown` multiplies every time of the hardware (a calibration);
    shapes broadcast.

    What does not come from the hardware keeps its pace: arriving requests and the data loader are given to the engine
    as many times faster as all times are stretched afterwards.
    """
    if batch.training is not None:
        return _evaluate_training(batch, gpus, business, slowdown)
    return _evaluate_serving(batch, gpus, business, slowdown)


def _evaluate_training(batch: Batch, gpus: tuple[Gpu, ...], business: Business, slowdown: Column) -> Evaluation:
    assert batch.training is not None
    held = memory.training(batch)
    speed = _slower(training.predict(_hurried(batch, slowdown), training.load(gpus)), slowdown)
    watts = busy_power(batch.gpu.tdp_watts, batch.gpu.idle_watts, speed.compute_share + speed.memory_share)
    spent = cost(
        gpus=batch.layout.gpus,
        usd_per_gpu_hour=business.usd_per_gpu_hour,
        total_tokens_per_s=speed.tokens_per_s,
        output_tokens_per_s=np.nan,
        run_tokens=batch.training.total_tokens,
        watts_per_gpu=watts,
        productive=business.productive,
    )
    return Evaluation(held, speed, spent, held.fits)


def _evaluate_serving(batch: Batch, gpus: tuple[Gpu, ...], business: Business, slowdown: Column) -> Evaluation:
    held = memory.serving(batch)
    speed = _slower(_served(_hurried(batch, slowdown), held, serving.load(gpus)), slowdown)
    watts = busy_power(batch.gpu.tdp_watts, batch.gpu.idle_watts, speed.busy * maximum(speed.mbu, speed.mfu))
    spent = cost(
        gpus=batch.layout.gpus,
        usd_per_gpu_hour=business.usd_per_gpu_hour,
        total_tokens_per_s=speed.total_tokens_per_s,
        output_tokens_per_s=speed.output_tokens_per_s,
        run_tokens=np.nan,
        watts_per_gpu=watts,
        productive=business.productive,
    )
    return Evaluation(held, speed, spent, held.fits)


def _served(batch: Batch, held: memory.ServingMemory, coefficients: serving.ServingCoefficients) -> Any:
    """Speed under load. "All that fits" (an infinite concurrency) is the closed loop of as many as run at once."""
    speed = serving.predict(batch, held, coefficients)
    load = batch.serving
    assert load is not None
    all_that_fits = load.concurrency == np.inf
    if not some(all_that_fits):
        return speed
    most = pick(all_that_fits, maximum(np.floor(speed.concurrency), 1.0), load.concurrency)
    return serving.predict(replace(batch, serving=replace(load, concurrency=most)), held, coefficients)


def _is_one(factor: Column) -> bool:
    return np.ndim(factor) == 0 and bool(factor == 1.0)


def _hurried(batch: Batch, factor: Column) -> Batch:
    """The batch with requests and training data arriving `factor` times as fast."""
    if _is_one(factor):
        return batch
    if batch.training is not None:
        faster = batch.training.data_loader_bytes_per_s * factor
        return replace(batch, training=replace(batch.training, data_loader_bytes_per_s=faster))
    assert batch.serving is not None
    return replace(batch, serving=replace(batch.serving, request_rate=batch.serving.request_rate * factor))


def _slower(speed: Record, factor: Column) -> Record:
    """All times multiplied by `factor`, all rates and shares of a peak divided by it."""
    if _is_one(factor):
        return speed
    for name in TIMES:
        if hasattr(speed, name):
            setattr(speed, name, getattr(speed, name) * factor)
    for name in RATES:
        if hasattr(speed, name):
            setattr(speed, name, getattr(speed, name) / factor)
    return speed


def rows(record: Record, index: int | NDArray[np.intp]) -> Record:
    """Row `index`, or the rows of an array of them, of a record of arrays (dataclasses, named tuples, mappings and
    arrays, nested).

    What has no rows is shared.
    """
    row: Record = _row(record, index)
    return row


@lru_cache(maxsize=64)
def _names(kind: type) -> tuple[str, ...]:
    return tuple(f.name for f in fields(kind))


def _row(record: Any, index: int | NDArray[np.intp]) -> Any:
    if getattr(record, "ndim", None) is not None:
        return record[index] if record.ndim else record
    if is_dataclass(record):
        kind: Any = type(record)
        return kind(*[_row(getattr(record, name), index) for name in _names(kind)])
    if isinstance(record, tuple) and hasattr(record, "_fields"):
        return type(record)(*[_row(value, index) for value in record])
    if isinstance(record, dict):
        return {key: _row(value, index) for key, value in record.items()}
    return record


def listed(record: Any, count: int) -> Any:
    """A record of columns of shape () or (count,) with lists of plain values for columns."""
    if is_dataclass(record):
        kind: Any = type(record)
        return kind(*[listed(getattr(record, name), count) for name in _names(kind)])
    if isinstance(record, dict):
        return {key: listed(value, count) for key, value in record.items()}
    if isinstance(record, np.ndarray):
        return record.tolist() if record.ndim else [record.item()] * count
    return [record] * count


class Row:
    """One row of a `listed` record, read figure by figure."""

    __slots__ = ("_index", "_record")

    def __init__(self, record: Any, index: int) -> None:
        self._record, self._index = record, index

    def __getattr__(self, name: str) -> Any:
        column = getattr(self._record, name)
        if type(column) is list:
            return column[self._index]
        if type(column) is dict:
            return {key: values[self._index] for key, values in column.items()}
        return Row(column, self._index)
