"""What a predicted step is made of, operator by operator, and how sure it is; from the functions that compute the step."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from roofline.ceilings import Column, OpTime, bound
from roofline.codes import BOUNDS
from roofline.columns import Batch
from roofline.training import corrections
from roofline.training.coefficients import TrainingCoefficients, resolve
from roofline.training.communication import Traffic, communication
from roofline.training.corrections import Interval
from roofline.training.operators import micro_batch_operators
from roofline.training.speed import OPTIMIZER_BYTES, TrainingSpeed, optimizer_time, predict, recomputed

Row = dict[str, Any]


def interval(batch: Batch, coefficients: TrainingCoefficients) -> Interval:
    """Factors on the predicted tokens/s that bound 80 % of left-out measurements, and their basis (code into BASES)."""
    return corrections.interval(batch, coefficients.corrections)


def operators(batch: Batch, coefficients: TrainingCoefficients) -> list[Row]:
    """The operators of one scenario (shape ()): one occurrence on one GPU, times `count` in a step of one GPU.

    Communication is listed with its full time; overlap hides part of it. Pipeline bubble, host and stragglers are not operators.
    """
    rates = resolve(batch, coefficients)
    layout = batch.layout
    shape, found = micro_batch_operators(batch, rates)
    steps = _micro_batches(batch)
    rows: list[Row] = []
    for op in found:
        count = np.ceil(op.count / layout.pp if op.tower else op.count) * steps
        if count > 0 and op.forward.time > 0:
            again = recomputed(batch, op)
            rows.append(_row(op.name, "forward", count * (1.0 + again), op.forward, 1.0, rates.framework))
            rows.append(_row(op.name, "backward", count, op.forward, op.backward, rates.framework))
    traffic = communication(batch, rates, shape, coefficients)
    rows += _communication_rows(traffic._asdict(), batch, steps)
    rows.append(_optimizer_row(batch, coefficients, shape))
    return [row for row in rows if row["count"] > 0 and row["time_s"] > 0]


def _micro_batches(batch: Batch) -> float:
    assert batch.training is not None
    return float(np.maximum(batch.training.global_batch / (batch.layout.dp * batch.training.micro_batch), 1.0))


def _row(name: str, phase: str, count: Column, op: OpTime, times: Column, slow: Column) -> Row:
    flops, moved = float(op.flops * times), float(op.bytes * times)
    return {
        "name": name,
        "phase": phase,
        "count": float(count),
        "flops": flops,
        "bytes": moved,
        "intensity": flops / moved if moved else 0.0,
        "time_s": float(op.time * times * slow),
        "bound": BOUNDS[int(bound(op))],
    }


def _communication_rows(traffic: dict[str, Traffic], batch: Batch, steps: float) -> Iterator[Row]:
    sharded = float(batch.layout.zero_stage >= 3)
    each_step = 1.0 + (steps - 1.0) * sharded
    counts = {"tp": 2.0 * steps, "cp": 3.0 * steps, "ep": 2.0 * steps, "pp": 2.0 * steps * float(batch.layout.virtual_pipeline)}
    counts |= {"gather": (1.0 + sharded) * each_step, "reduce": each_step}
    names = {"tp": "tensor_parallel", "cp": "context_parallel", "ep": "expert_parallel", "pp": "pipeline_parallel"}
    names |= {"gather": "weights.gather", "reduce": "gradients.reduce"}
    for key, name in names.items():
        one = traffic[key]
        latency = float(one.latency) > 0.5 * float(one.time)
        yield {
            "name": name,
            "phase": "communication",
            "count": counts[key],
            "flops": 0.0,
            "bytes": float(one.bytes),
            "intensity": 0.0,
            "time_s": float(one.time),
            "bound": "latency" if latency else "interconnect",
        }


def _optimizer_row(batch: Batch, c: TrainingCoefficients, shape: Any) -> Row:
    assert batch.training is not None
    time = float(optimizer_time(batch, shape, c))
    moved = time * float(batch.gpu.bandwidth) * c["stream"] / c["optimizer_passes"]
    flops = moved / OPTIMIZER_BYTES[int(batch.training.optimizer)] * 16.0
    intensity = flops / moved if moved else 0.0
    return {"name": "optimizer", "phase": "optimizer", "count": 1.0, "flops": flops, "bytes": moved, "intensity": intensity, "time_s": time, "bound": "memory"}


__all__ = ["TrainingSpeed", "interval", "operators", "predict"]
