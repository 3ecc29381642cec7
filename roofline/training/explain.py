"""What a predicted step is made of, operator by operator, and how sure it is; from the functions that compute the step."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from roofline.ceilings import Column, OpTime, bound
from roofline.codes import BOUNDS
from roofline.columns import Batch
from roofline.selection import maximum
from roofline.training import corrections
from roofline.training.coefficients import Rates, TrainingCoefficients, resolve
from roofline.training.communication import Traffic, communication
from roofline.training.corrections import Interval
from roofline.training.speed import OPTIMIZER_BYTES, TrainingSpeed, optimizer_time, predict
from roofline.training.work import Operator, Shape, micro_batch_operators, product_time, projection_kinds, shape_of

Row = dict[str, Any]


def interval(batch: Batch, coefficients: TrainingCoefficients) -> Interval:
    """Factors on the predicted tokens/s that bound 80 % of left-out measurements, and their basis (code into BASES)."""
    return corrections.interval(batch, coefficients.corrections)


def operators(batch: Batch, coefficients: TrainingCoefficients) -> list[Row]:
    """The operators of one scenario (shape ()): one occurrence on one GPU, times `count` in a step of one GPU.

    Communication is listed with its full time; overlap hides part of it. Pipeline bubble, host and stragglers are not operators.
    """
    rates = resolve(batch, coefficients)
    shape = shape_of(batch)
    steps = _micro_batches(batch)
    rows: list[Row] = []
    whole, *others = micro_batch_operators(batch, rates, shape)
    for op in (*_projection_rows(batch, rates, shape, whole), *others):
        rows += _operator_rows(op, batch, shape, steps, float(rates.framework))
    traffic = communication(batch, rates, shape, coefficients)
    rows += _communication_rows(traffic._asdict(), batch, steps)
    rows.append(_optimizer_row(batch, coefficients, shape))
    return [row for row in rows if row["count"] > 0 and row["time_s"] > 0]


def _micro_batches(batch: Batch) -> float:
    assert batch.training is not None
    return float(maximum(batch.training.global_batch / (batch.layout.dp * batch.training.micro_batch), 1.0))


def _operator_rows(op: Operator, batch: Batch, shape: Shape, steps: float, slow: float) -> Iterator[Row]:
    """Forward (recomputation included in the count) and backward of one operator, one layer at a time; count is of the fullest stage."""
    layers = float(op.count) if op.name in COUNTED else _layers(op.name, batch, shape)
    one = op.forward if op.name in COUNTED else OpTime(*(part / max(layers, 1.0) for part in op.forward))
    count = float(np.ceil(layers / batch.layout.pp) if op.tower else layers) * steps
    yield _row(op.name, "forward", count * (1.0 + float(op.again)), one, 1.0, slow)
    yield _row(op.name, "backward", count, one, float(op.backward), slow)


COUNTED = ("experts", "routing", "recurrent.scan")  # operators that are one layer's already


def _layers(name: str, batch: Batch, shape: Shape) -> float:
    """Layers that hold an operator which is summed over the whole depth; 1 for what occurs once."""
    model = batch.model
    kinds = {
        "attention": shape.attention_layers,
        "recurrent": model.recurrent_layers,
        "mlp": model.mlp_layers,
        "shared_experts": model.moe_layers,
        "element_wise": model.layers,
        "dequantisation": model.layers,
    }
    return float(kinds.get(name.partition(".")[0], 1.0))


def _projection_rows(batch: Batch, rates: Rates, shape: Shape, whole: Operator) -> Iterator[Operator]:
    """The dense products by kind, each with its share of the time of them all."""
    kinds = projection_kinds(batch, shape)
    timed = [
        product_time(
            shape.tokens,
            kind.weights,
            kind.inputs + kind.outputs,
            rates.peak * rates.gemm,
            rates.element_bytes,
            batch,
            rates,
        )
        for kind in kinds
    ]
    scale = whole.forward.time / sum(one.time for one in timed)
    for kind, one in zip(kinds, timed, strict=True):
        yield whole._replace(name=kind.name, forward=one._replace(time=one.time * scale))


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
    counts = {
        "tp": 2.0 * steps,
        "cp": 3.0 * steps,
        "ep": 2.0 * steps,
        "pp": 2.0 * steps * float(batch.layout.virtual_pipeline),
    }
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
    return {
        "name": "optimizer",
        "phase": "optimizer",
        "count": 1.0,
        "flops": flops,
        "bytes": moved,
        "intensity": intensity,
        "time_s": time,
        "bound": "memory",
    }


__all__ = ["TrainingSpeed", "interval", "operators", "predict"]
