"""Activations that training keeps for the backward pass, and the peak of the loss.

Bytes of one token in one layer, 16 bit, one GPU of t (Korthikanti et al., arXiv 2205.05198, extended):

    replicated part   2 norms: input and output of each, 8 d (+ 2 d of dropout masks in GPTs), / t with SP
    attention         2 (H + 2 Hkv) hd + 2 H hd + 4 H of softmax statistics, / t; without FlashAttention 5 H s more
    feed-forward      gated 6 ff, not gated 4 ff, / t; MoE k (6 e + 4 d) + 6 sh, / t: EP does not divide it

so 34 d for GPT-3 and for Llama-3-8B. Selective recompute drops the attention scores in Megatron and its relatives;
PyTorch stacks keep a layer's input, the attention output and every other product. Full recompute keeps the input of a
layer and one layer's full set to work with; the backward pass of a feed-forward holds gradients as large as what it
kept. A pipeline's first stage holds min(m, p) micro-batches, (p - 1) / v more where stages are interleaved. Sources:
docs/algorithms/memory.md.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from roofline.codes import FRAMEWORKS, RECOMPUTES, TRAINING_PRECISIONS
from roofline.columns import Batch
from roofline.memory.constants import TrainingConstants
from roofline.memory.shards import Stage
from roofline.memory.states import ALL_LINEAR, LORA, WIDE
from roofline.selection import indicator, minimum, pick

Column = Any
SELECTIVE, FULL = RECOMPUTES.index("selective"), RECOMPUTES.index("full")
# Stacks on Transformer Engine keep the inputs of 8-bit products in 8 bit; others cast them again.
STORES_NARROW: NDArray[np.float64] = np.array([float(name in ("megatron", "nemo", "other")) for name in FRAMEWORKS])
LLM_FOUNDRY, OTHER = FRAMEWORKS.index("llm_foundry"), FRAMEWORKS.index("other")
# Stacks of GPT-3's time, whose models without gates are trained with dropout.
DROPPING: NDArray[np.float64] = np.array([float(name in ("megatron", "deepspeed")) for name in FRAMEWORKS])
# Stacks whose "selective" checkpointing recomputes most elementwise work and every other product, not the attention
# core alone.
_EAGER_NAMES = ("fsdp", "torchtitan", "llm_foundry", "hf_trainer")
EAGER: NDArray[np.float64] = np.array([float(name in _EAGER_NAMES) for name in FRAMEWORKS])
# Stacks whose modules run kernel by kernel, each keeping its operands: nanotron, and those that are none of the known.
UNFUSED: NDArray[np.float64] = np.array([float(name in ("nanotron", "other")) for name in FRAMEWORKS])
# Stacks whose loss casts the logits to fp32 and takes softmax and gradient of the copy one after the other.
EAGER_LOSS: NDArray[np.float64] = np.array([float(name in (*_EAGER_NAMES, "other")) for name in FRAMEWORKS])
YEAR_LOSS_COMPILED = 2025.25  # until then torch.compile took the model and left the loss outside
NARROW: NDArray[np.float64] = np.array([float(name in ("fp8", "mxfp8", "nvfp4")) for name in TRAINING_PRECISIONS])


class Activations(NamedTuple):
    """Bytes on one GPU."""

    layers: Column  # kept between forward and backward
    working: Column  # one layer recomputed, and gradients inside its feed-forward
    loss: Column  # logits, their fp32 copy and gradient
    tokens: Column  # of one micro-batch on one GPU of the context-parallel group
    last_share: Column  # micro-batches in flight on the last stage over those on the fullest


def attention_token_bytes(batch: Batch) -> Column:
    """Attention and recurrent layers, one token, summed over all layers of the model, before tensor parallelism; 16
    bit, no norms.
    """
    model = batch.model
    full = (
        2.0 * model.heads * model.qk_dim
        + 2.0 * model.kv_heads * (model.qk_dim + model.v_dim)
        + 2.0 * model.heads * model.v_dim
        + 4.0 * model.heads
    )
    window = (
        2.0 * model.window_heads * (model.window_qk_dim + model.window_v_dim)
        + 2.0 * model.window_kv_heads * (model.window_qk_dim + model.window_v_dim)
        + 4.0 * model.window_heads
    )
    query = model.mla_heads * (model.mla_nope_dim + model.mla_rope_dim)
    latent = (
        4.0 * model.mla_q_rank
        + 4.0 * query
        + 4.0 * model.mla_kv_rank
        + 2.0 * model.mla_rope_dim
        + 4.0 * model.mla_heads * model.mla_v_dim
        + 4.0 * model.mla_heads
    )
    recurrent = 4.0 * (model.recurrent_in + model.recurrent_out) / model.hidden
    return (
        model.full_layers * full
        + model.window_layers * window
        + model.mla_layers * latent
        + model.recurrent_layers * recurrent
    )


def feed_token_bytes(batch: Batch, untrained: Column) -> Column:
    """Feed-forwards, one token, summed over all layers, before tensor parallelism; 16 bit.

    Where nothing in them is trained (`untrained` 1, else 0) the product of gate and up is not needed again.
    """
    model = batch.model
    dense = model.mlp_layers * model.mlp_width * 2.0 * (model.mlp_matrices - untrained)
    shared = model.moe_layers * model.shared_width * 2.0 * model.expert_matrices
    routed = model.moe_layers * (
        model.top_k * (2.0 * model.expert_matrices * model.expert_width + 4.0 * model.hidden) + 4.0 * model.experts
    )
    return dense + shared + routed


def narrow_token_bytes(batch: Batch) -> Column:
    """What eight-bit products save: inputs of the projections are kept in one byte, the attention output in both. One
    token, all layers.
    """
    model = batch.model
    attended = (
        model.full_layers * model.heads * model.v_dim + model.window_layers * model.window_heads * model.window_v_dim
    )
    products = model.mlp_layers * model.mlp_width + model.moe_layers * (
        model.shared_width + model.top_k * (model.expert_width + model.hidden)
    )
    return products - attended


def _every_other_product(batch: Batch) -> Column:
    """What selective checkpointing of PyTorch stacks keeps beside a layer's input: attention output and half of the
    products, none of the grouped ones of routed experts, which are no plain matrix products. One token, all layers.
    """
    model = batch.model
    attended = model.full_layers * (2.0 * model.heads * model.v_dim + 4.0 * model.heads)
    attended = attended + model.window_layers * (
        2.0 * model.window_heads * model.window_v_dim + 4.0 * model.window_heads
    )
    attended = attended + model.mla_layers * (2.0 * model.mla_heads * model.mla_v_dim + 4.0 * model.mla_heads)
    projected = model.full_layers * (
        model.heads * model.qk_dim + model.kv_heads * (model.qk_dim + model.v_dim) + model.hidden
    )
    projected = projected + model.window_layers * (model.window_heads * model.window_qk_dim + model.hidden)
    projected = projected + model.mla_layers * (
        model.mla_heads * (2.0 * model.mla_nope_dim + model.mla_rope_dim + model.mla_v_dim) + model.hidden
    )
    feed = model.mlp_layers * ((model.mlp_matrices - 1) * model.mlp_width + model.hidden)
    feed = feed + model.moe_layers * 2.0 * model.shared_width
    return attended + projected + feed


def activations(batch: Batch, heaviest: Stage, constants: TrainingConstants) -> Activations:
    """Activations of the stage `heaviest` for each scenario (needs `batch.training`)."""
    model, layout, run = batch.model, batch.layout, batch.training
    assert run is not None
    tp, layer_share = layout.tp, 1.0 / model.layers
    tokens = run.micro_batch * run.seq_len / layout.cp
    wide, eager = 1.0 + WIDE[run.precision], EAGER[run.framework]
    narrow = NARROW[run.precision] * STORES_NARROW[run.framework]
    full, selective = run.recompute == FULL, run.recompute == SELECTIVE
    replicated_share = pick(layout.sequence_parallel > 0, 1.0 / tp, 1.0)
    entry = 2.0 * model.hidden * replicated_share
    dropout = DROPPING[run.framework] * ((model.mlp_matrices == 2) & (model.moe_layers == 0))
    # Adapters on attention alone: frozen feed-forwards keep neither their inputs nor the product.
    untrained = indicator((run.method >= LORA) & (run.lora_targets != ALL_LINEAR))
    feed = feed_token_bytes(batch, untrained)
    divided = attention_token_bytes(batch) + feed - narrow * narrow_token_bytes(batch)
    kept = (4.0 + dropout - narrow - untrained * (1.0 - narrow / 2)) * entry + divided * layer_share / tp
    flash = batch.levers.flash_attention_2 + batch.levers.flash_attention_3 > 0
    heads = model.full_layers * model.heads + model.window_layers * model.window_heads
    scores = (
        5.0 * (heads + model.mla_layers * model.mla_heads) * layer_share * run.seq_len / tp * (1.0 - indicator(flash))
    )
    # Among the unknown ones those with fused kernels keep what the known ones keep.
    plain = UNFUSED[run.framework] * (1.0 - batch.levers.fused_kernels * (run.framework == OTHER))
    kept = kept * (1.0 + plain * (constants.unfused - 1.0))
    whole = kept + scores
    chosen = kept + eager * (entry + _every_other_product(batch) * layer_share / tp - kept)
    # What is recomputed is never more than what would be kept, and a layer's own share of it is there already.
    layer = minimum(pick(full, entry, pick(selective, chosen, whole)), whole)
    recomputed = indicator(full | selective) * (whole - layer)
    gradients = feed * layer_share / tp
    # Rank r of p holds p - r micro-batches, p + (p - 2 r - 1) / v where v chunks of a stage are interleaved.
    chunks, rank = layout.virtual_pipeline, 1.0 - heaviest.has_table
    held = layout.pp - rank + pick(chunks > 1, (layout.pp - 1 - 2 * rank) / chunks + rank, 0.0)
    batches = run.global_batch / (run.micro_batch * layout.dp)
    flight = minimum(batches, held)
    last = minimum(batches, pick(chunks > 1, layout.pp - (layout.pp - 1.0) / chunks, 1.0))
    inside = pick(run.framework_year < YEAR_LOSS_COMPILED, constants.logit_outside, constants.logit_compiled)
    eager_logit = pick(batch.levers.torch_compile > 0, inside, constants.logit_eager)
    logit = constants.logit_fused + EAGER_LOSS[run.framework] * (eager_logit - constants.logit_fused)
    logit = pick(run.framework == LLM_FOUNDRY, constants.logit_in_place, logit)
    return Activations(
        layers=tokens * wide * flight * (heaviest.layers * layer + heaviest.has_table * entry),
        working=tokens * wide * (recomputed + gradients),
        loss=tokens * model.vocab / tp * logit,
        tokens=tokens,
        last_share=last / flight,
    )
