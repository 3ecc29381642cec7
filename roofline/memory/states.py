"""Model states of training: weights, gradients and optimizer states of one GPU by recipe, sharding and method.

Two recipes for 16-bit and narrower training (bytes of one parameter: weight + gradient + master + moments):
- Megatron, NeMo, DeepSpeed, nanotron, others: 2 + g + 4 + moments, g = 4 where gradients are accumulated in fp32,
  else 2. DeepSpeed accumulates in fp32 beside the 16-bit gradients: g = 6;
- FSDP stacks (PyTorch FSDP, torchtitan, llm-foundry, HF Trainer, MaxText): fp32 parameters are the master copy:
  4 + 4 + 0 + moments; fine-tuning with PyTorch FSDP tools in bf16 alone: 2 + 2 + 0 + half of the moments.
NeMo's recipes of models with latent attention halve the moments, too (bf16).

Sharding over D data-parallel ranks: stage 1 the master and moments, 2 also the gradients, 3 also the
  weights. Routed experts shard over their own group D·t/(ep·etp). Adapters (LoRA) are trained with the recipe's
  states; what is frozen has neither gradients nor states. Sources: ZeRO (arXiv 1910.02054), Megatron-LM's distributed
  optimizer (6 + 12/D), docs/algorithms/memory.md.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from roofline.codes import FRAMEWORKS, GRADIENT_DTYPES, LORA_TARGETS, METHODS, OPTIMIZERS, TRAINING_PRECISIONS
from roofline.columns import Batch, Layout, Model
from roofline.memory.shards import Shard
from roofline.precision import FORMATS
from roofline.selection import indicator, maximum, pick

Column = Any
# Whether parameters are kept in fp32 and are their own master copy.
_FP32_NAMES = ("fsdp", "torchtitan", "llm_foundry", "hf_trainer", "maxtext")
FP32_PARAMETERS: NDArray[np.float64] = np.array([float(name in _FP32_NAMES) for name in FRAMEWORKS])
# Moments in fp32: two for Adam, one for momentum methods; Adafactor keeps a row and a column.
_MOMENTS = {"adamw": 8.0, "adamw_8bit": 2.0, "adafactor": 0.01, "muon": 4.0, "lion": 4.0, "sgd": 4.0}
MOMENTS: NDArray[np.float64] = np.array([_MOMENTS[name] for name in OPTIMIZERS])
WIDE: NDArray[np.float64] = np.array([float(name in ("fp32", "tf32")) for name in TRAINING_PRECISIONS])
# A frozen weight is kept in the format that it is multiplied in.
_FROZEN = {"fp32": 4.0, "tf32": 4.0, "fp8": 1.0, "mxfp8": FORMATS["mxfp8"].body, "nvfp4": FORMATS["nvfp4"].body}
FROZEN: NDArray[np.float64] = np.array([_FROZEN.get(name, 2.0) for name in TRAINING_PRECISIONS])
LORA, QLORA = METHODS.index("lora"), METHODS.index("qlora")
ALL_LINEAR = LORA_TARGETS.index("all_linear")
NF4 = FORMATS["nf4"].body
DEEPSPEED, FSDP = FRAMEWORKS.index("deepspeed"), FRAMEWORKS.index("fsdp")
NEMO, FULL_FINETUNE = FRAMEWORKS.index("nemo"), METHODS.index("full_finetune")
FP32_GRADIENTS = GRADIENT_DTYPES.index("fp32")


class Bytes(NamedTuple):
    """Bytes of one trained parameter, before sharding."""

    weight: Column
    gradient: Column
    optimizer: Column  # master copy and moments


class States(NamedTuple):
    """Bytes on one GPU."""

    weights: Column
    gradients: Column
    optimizer: Column
    largest_unit: Column  # parameters of the largest unit that ZeRO-3 or FSDP gathers
    step_workspace: Column  # gradients of the shard in fp32 while DeepSpeed steps
    spread: Column  # weights that ZeRO-3 or FSDP leaves to other ranks


def recipe_bytes(batch: Batch) -> Bytes:
    """Bytes of one trained parameter for each scenario."""
    run = batch.training
    assert run is not None
    wide = WIDE[run.precision]
    tuned = (run.framework == FSDP) & (run.method == FULL_FINETUNE) & (run.gradient_dtype != FP32_GRADIENTS)
    pure = (1.0 - wide) * tuned
    full = maximum(wide, FP32_PARAMETERS[run.framework] - pure)
    accumulated = pick(run.gradient_dtype == FP32_GRADIENTS, pick(run.framework == DEEPSPEED, 4.0, 2.0), 0.0)
    # NeMo's recipes of models with latent attention keep both moments in bf16.
    halved = maximum(pure, (run.framework == NEMO) * indicator(batch.model.mla_layers > 0))
    return Bytes(
        weight=2.0 + 2.0 * full,
        gradient=2.0 + accumulated + full * (2.0 - accumulated),
        optimizer=4.0 * (1.0 - full) * (1.0 - pure) + MOMENTS[run.optimizer] * (1.0 - 0.5 * halved),
    )


def adapter_params(model: Model, rank: Column, targets: Column) -> Column:
    """Parameters of LoRA adapters, whole model: rank x (inputs + outputs) of each adapted matrix. Routed experts get
    none.
    """
    d = model.hidden
    width, values = model.heads * model.qk_dim, model.heads * model.v_dim
    full = model.full_layers * (4.0 * d + width + values + model.kv_heads * (model.qk_dim + model.v_dim))
    window_width = model.window_heads * (model.window_qk_dim + model.window_v_dim)
    window = model.window_layers * (
        4.0 * d + window_width + model.window_kv_heads * (model.window_qk_dim + model.window_v_dim)
    )
    inner = model.mla_heads * (model.mla_nope_dim + model.mla_v_dim)
    query = model.mla_heads * (model.mla_nope_dim + model.mla_rope_dim)
    latent = model.mla_layers * (
        3.0 * d
        + 2.0 * (model.mla_q_rank + model.mla_kv_rank)
        + model.mla_rope_dim
        + query
        + inner
        + model.mla_heads * model.mla_v_dim
    )
    feed = model.mlp_layers * model.mlp_matrices * (d + model.mlp_width) + model.moe_layers * model.expert_matrices * (
        d + model.shared_width
    ) * (model.shared_width > 0)
    return rank * (full + window + latent + feed * (targets == ALL_LINEAR))


def expert_ranks(layout: Layout) -> Column:
    """Data-parallel ranks that hold the same routed experts."""
    return maximum(layout.dp * layout.cp * layout.tp / (layout.ep * layout.expert_tp), 1.0)


def states(batch: Batch, held: Shard, layers: Column) -> States:
    """Weights, gradients and optimizer states of the parameters `held` by one GPU, which has `layers` layers."""
    model, layout, run = batch.model, batch.layout, batch.training
    assert run is not None
    each = recipe_bytes(batch)
    ranks, expert_group = layout.dp * layout.cp, expert_ranks(layout)
    sharded = [layout.zero_stage >= stage for stage in (1, 2, 3)]
    # What divides the dense and the expert part at each stage: 1 where the stage is not on.
    dense_by = [pick(on, 1.0 / ranks, 1.0) for on in sharded]
    experts_by = [pick(on, 1.0 / expert_group, 1.0) for on in sharded]
    dense = held.total() - held.experts
    adapted = run.method >= LORA
    frozen = indicator(adapted)
    adapters = frozen * adapter_params(model, run.lora_rank, run.lora_targets) * layers / (model.layers * layout.tp)
    frozen_bytes = FROZEN[run.precision]
    table_bytes = pick(adapted, maximum(frozen_bytes, 2.0), each.weight)
    base_bytes = pick(adapted, pick(run.method == QLORA, NF4, frozen_bytes), each.weight)
    tables = held.table + held.head + held.rest
    dense_weights = (dense - tables) * base_bytes + tables * table_bytes + adapters * each.weight
    expert_weights = held.experts * base_bytes
    weights = dense_weights * dense_by[2] + expert_weights * experts_by[2]
    trained, trained_experts = adapters + (1.0 - frozen) * dense, (1.0 - frozen) * held.experts
    shard = trained * dense_by[0] + trained_experts * experts_by[0]
    gradients = each.gradient * (trained * dense_by[1] + trained_experts * experts_by[1])
    optimizer = each.optimizer * shard
    return States(
        weights=weights,
        gradients=gradients,
        optimizer=optimizer,
        largest_unit=maximum((dense - tables + held.experts) / layers, maximum(held.table, held.head)),
        step_workspace=4.0 * shard * (run.framework == DEEPSPEED),
        spread=dense_weights + expert_weights - weights,
    )
