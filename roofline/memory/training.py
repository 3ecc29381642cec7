"""Memory of one GPU in training: states, activations, gathered units, and what libraries and allocator add.

All columns broadcast to the shape of the batch, () or (N,). Bytes. The peak is known under three definitions, each
with more in it: `allocated` (tensors), `reserved` (the caching allocator's blocks) and `nvidia_smi` (all that the
driver sees: context and communicators too). Sources: docs/algorithms/memory.md.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from roofline.columns import Batch
from roofline.memory.activations import activations
from roofline.memory.constants import TrainingConstants, training_constants
from roofline.memory.shards import kv_heads, shard, stage
from roofline.memory.states import DEEPSPEED, FP32_PARAMETERS, states
from roofline.selection import indicator, maximum, minimum, pick

Column = Any
DEFINITIONS = ("allocated", "reserved", "nvidia_smi")
LEAST_SLACK = 0.02
PREFETCHED = 2.0  # units gathered at once: the one computed and the next


@dataclass(slots=True)
class TrainingMemory:
    """Bytes on the fullest GPU; the first five add up to `total_bytes` (what nvidia-smi shows)."""

    weights_bytes: Column
    gradients_bytes: Column
    optimizer_bytes: Column
    activations_bytes: Column
    runtime_bytes: Column
    total_bytes: Column
    capacity_bytes: Column
    fits: Column  # bool
    allocated_bytes: Column
    reserved_bytes: Column
    largest_unit_bytes: (
        Column  # 16-bit weights of the largest unit that ZeRO-3 or FSDP gathers; part of the runtime where it does
    )


def training(batch: Batch, constants: TrainingConstants | None = None) -> TrainingMemory:
    """Memory of every scenario of `batch` (needs `batch.training`). `constants` may be columns; by default the
    shipped ones.
    """
    model, layout, run = batch.model, batch.layout, batch.training
    assert run is not None
    constants = constants or training_constants()
    heaviest = stage(model, layout.pp, layout.virtual_pipeline)
    held = shard(model, layout, layout.ep * layout.expert_tp, heaviest, kv_heads(model, layout.tp))
    kept = states(batch, held, heaviest.layers)
    live = activations(batch, heaviest, constants)
    # The loss is on the last stage, which holds fewer micro-batches than the first.
    first = live.layers + live.working
    last = live.layers * live.last_share + maximum(live.working, live.loss)
    activation_bytes = maximum(first, last)
    unit = 2.0 * kept.largest_unit
    # Units are freed after use: never more is gathered than what sharding has taken off, and nothing where one rank
    # holds everything.
    gathered = minimum((PREFETCHED + 1.0 + FP32_PARAMETERS[run.framework]) * unit, kept.spread)
    deepspeed = run.framework == DEEPSPEED
    buckets = pick(deepspeed, constants.deepspeed_buckets, 0.0)
    workspace = constants.workspace + gathered + kept.step_workspace + buckets
    allocated = kept.weights + kept.gradients + kept.optimizer + activation_bytes + workspace
    groups = sum(indicator(ranks > 1) for ranks in (layout.tp, layout.pp, layout.dp * layout.cp, layout.ep))
    libraries = constants.context + constants.communicator * groups
    share = pick(deepspeed, constants.deepspeed_fragmentation, constants.fragmentation)
    capacity = batch.gpu.memory_bytes
    # Short of memory, the allocator gives back what it had cached, down to what blocks lose by their sizes.
    left = maximum(capacity - allocated - libraries, LEAST_SLACK * allocated)
    slack = minimum(share * allocated, left)
    runtime = workspace + slack + libraries
    total = kept.weights + kept.gradients + kept.optimizer + activation_bytes + runtime
    return TrainingMemory(
        weights_bytes=kept.weights,
        gradients_bytes=kept.gradients,
        optimizer_bytes=kept.optimizer,
        activations_bytes=activation_bytes,
        runtime_bytes=runtime,
        total_bytes=total,
        capacity_bytes=capacity,
        fits=total <= capacity * (1 + 1e-9),
        allocated_bytes=allocated,
        reserved_bytes=allocated + slack,
        largest_unit_bytes=unit,
    )


def peak_memory(batch: Batch, definition: Column, constants: TrainingConstants | None = None) -> Column:
    """Peak bytes of one GPU by `definition`: an index into DEFINITIONS or a column of them."""
    result = training(batch, constants)
    code = np.asarray(definition)
    return pick(code == 0, result.allocated_bytes, pick(code == 1, result.reserved_bytes, result.total_bytes))
