"""The operators of one micro-batch on one rank, whole depth of the model: sizes and times of forward and backward.

Every operator is timed once for its forward pass; the backward pass repeats the same shapes (a matrix product twice,
flash attention two and a half times, an element-wise chain twice). Layers are divided over pipeline stages later.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from roofline.ceilings import Column, OpTime, overlapped
from roofline.codes import FRAMEWORKS, METHODS, RECOMPUTES
from roofline.columns import Batch
from roofline.selection import indicator, maximum, minimum, pick
from roofline.training.coefficients import Rates

BF16 = 2.0  # bytes of an activation
LORA, QLORA = METHODS.index("lora"), METHODS.index("qlora")
FULL, SELECTIVE = RECOMPUTES.index("full"), RECOMPUTES.index("selective")
ALIGNMENT = 1.0 / 8.0  # tensor cores want dimensions that are multiples of eight elements
MISALIGNED = 0.94 / 0.61  # time of a product with a dimension that is not: 61 % of the peak instead of 94 %
ATTENTION_BACKWARD = 2.5  # five products of the size of two
TORCHTITAN = FRAMEWORKS.index("torchtitan")  # whose selective recomputation repeats every other product
EVERY_OTHER = 0.5
SELECTIVE_SHARE = 0.12  # element-wise work that recomputation of single modules repeats
ROW_TILE = 64.0  # rows that a product is padded to
TILE = 128.0  # rows and columns of the output tile that one SM works on
TILE_ROWS = 128.0  # rows by which one expert's product is padded, twice the mean


class Operator(NamedTuple):
    """One operator: `forward` is one occurrence; it occurs `count` times in the forward pass of a micro-batch."""

    name: str
    forward: OpTime
    count: Column
    backward: Column  # time of the backward pass in units of the forward one
    again: Column  # forward passes that recomputation adds
    tower: bool  # divided over pipeline stages; the head is not
    product: bool  # communication can hide behind it


class Shape(NamedTuple):
    """Sizes that several operators share."""

    tokens: Column  # tokens of a micro-batch on one context-parallel rank
    split: Column  # share of the activations on one tensor-parallel rank: 1 without sequence parallelism
    expert_tokens: Column  # tokens that one rank sends to experts
    expert_hidden: (
        Column  # width of what experts read: less than the hidden size where tokens are projected into a latent space
    )
    trained: Column  # 0 where only adapters are trained
    attention_layers: Column
    core_width: Column  # sum over attention layers of heads x value dimension: what the output projections read
    pairs: Column  # query-key pairs of a causal sequence
    near_pairs: Column  # the same within the window
    again: Column  # share of the layers' forward work that is recomputed
    modules: Column  # 1 where single modules are


def shape_of(batch: Batch) -> Shape:
    """The shared sizes. Shapes broadcast to (N,)."""
    model, layout, training = batch.model, batch.layout, batch.training
    assert training is not None
    tokens = training.micro_batch * training.seq_len / layout.cp
    near = minimum(training.seq_len, model.window)
    selective = indicator(training.recompute == SELECTIVE)
    width = (
        model.full_layers * model.heads * model.v_dim + model.window_layers * model.window_heads * model.window_v_dim
    )
    expert_columns = maximum(model.moe_layers * model.experts * model.expert_matrices * model.expert_width, 1.0)
    return Shape(
        tokens=tokens,
        split=1.0 / (1.0 + layout.sequence_parallel * (layout.tp - 1.0)),
        expert_tokens=tokens * layout.expert_tp / layout.tp,
        expert_hidden=minimum(maximum(np.rint(model.expert_params / expert_columns), 1.0), model.hidden),
        trained=1.0 - indicator(training.method >= LORA),
        attention_layers=model.full_layers + model.window_layers + model.mla_layers,
        core_width=width + model.mla_layers * model.mla_heads * model.mla_v_dim,
        pairs=0.5 * training.seq_len * (training.seq_len + 1.0),
        near_pairs=near * (training.seq_len - 0.5 * (near - 1.0)),
        again=indicator(training.recompute == FULL)
        + selective * pick(training.framework == TORCHTITAN, EVERY_OTHER, 0.0),
        modules=selective,
    )


def product_time(
    rows: Column, weights: Column, edges: Column, rate: Column, element_bytes: Column, batch: Batch, rates: Rates
) -> OpTime:
    """Time of products of `rows` rows with `weights` weights in all, whose inputs and outputs are `edges` elements wide in all.

    Products are so large in training that compute and traffic of several add up; `rate` is FLOP/s reached, rows are padded to tiles.
    """
    flops = 2.0 * rows * weights
    compute = (2.0 * ROW_TILE) * np.ceil(rows * (1.0 / ROW_TILE)) * weights / rate
    moved = element_bytes * (weights + rows * edges)
    memory = moved / (batch.gpu.bandwidth * rates.stream)
    return OpTime(overlapped(compute, memory, rates.overlap), flops, moved, compute, memory, 0.0)


class Projection(NamedTuple):
    """Products of one kind: weights and widths (inputs + outputs) of one tensor-parallel rank, summed over layers."""

    name: str
    weights: Column
    inputs: Column
    outputs: Column


def projection_kinds(batch: Batch, shape: Shape) -> list[Projection]:
    """The dense products of the layers by kind."""
    model, tp = batch.model, batch.layout.tp
    hidden, mixers = model.hidden, shape.attention_layers
    core = shape.core_width
    feed = model.mlp_layers * model.mlp_width
    up = model.mlp_layers * (model.mlp_matrices - 1.0) * model.mlp_width
    shared = model.moe_layers * model.shared_width
    gates = maximum(model.expert_matrices - 1.0, 0.0)
    recurrent = model.recurrent_layers * (model.recurrent_in + model.recurrent_out)
    inward = model.attention_params - core * hidden
    return [
        Projection("attention.in", inward / tp, mixers * hidden, inward / (hidden * tp)),
        Projection("attention.out", core * hidden / tp, core / tp, mixers * hidden),
        Projection("recurrent", recurrent / tp, 1.5 * model.recurrent_layers * hidden, recurrent / (hidden * tp)),
        Projection("mlp.up", up * hidden / tp, model.mlp_layers * hidden, up / tp),
        Projection("mlp.down", feed * hidden / tp, feed / tp, model.mlp_layers * hidden),
        Projection("shared_experts.up", gates * shared * hidden / tp, model.moe_layers * hidden, gates * shared / tp),
        Projection("shared_experts.down", shared * hidden / tp, shared / tp, model.moe_layers * hidden),
    ]


def _idle_wave(rows: Column, columns: Column, hidden: Column, batch: Batch) -> Column:
    """Mean share of a product's waves of tiles that stays empty: half a wave over the number of waves, for products of `columns` and of
    `hidden` columns alike."""
    tiles = np.ceil(rows * (1.0 / TILE)) * (1.0 / TILE)
    return 0.25 * batch.gpu.sms * (1.0 / columns + 1.0 / hidden) / tiles


def projections(batch: Batch, rates: Rates, shape: Shape) -> Operator:
    """All dense products of the layers as one operator; `projection_kinds` tells them apart."""
    model, tp = batch.model, batch.layout.tp
    hidden = model.hidden
    weights = model.attention_params + model.mlp_params + model.shared_expert_params + model.recurrent_params
    shared = model.moe_layers * (model.shared_width > 0)
    blocks = maximum(2.0 * (shape.attention_layers + model.recurrent_layers + model.mlp_layers + shared), 1.0)
    split = weights / (hidden * tp)
    rate = rates.peak * rates.gemm / (1.0 + rates.wave * _idle_wave(shape.tokens, split / blocks, hidden, batch))
    work = product_time(shape.tokens, weights / tp, split + blocks * hidden, rate, rates.element_bytes, batch, rates)
    casts = (
        rates.casts
        * (BF16 + rates.element_bytes)
        * shape.tokens
        * (0.5 * split + blocks * hidden)
        / (batch.gpu.bandwidth * rates.stream)
    )
    launches = rates.launch * blocks
    work = work._replace(time=work.time + casts + launches, latency=launches)
    return Operator("projections", work, 1.0, 1.0 + shape.trained, shape.again, True, True)


def head(batch: Batch, rates: Rates, shape: Shape) -> Operator:
    """The projection to the vocabulary, in 16 bit."""
    model, tp = batch.model, batch.layout.tp
    columns = model.vocab / tp
    work = product_time(
        shape.tokens,
        columns * model.hidden,
        columns + model.hidden,
        rates.head_peak * rates.head_gemm,
        BF16,
        batch,
        rates,
    )
    return Operator("lm_head", work, 1.0, 1.0 + shape.trained, 0.0, False, True)


def fullest_rank(batch: Batch, rates: Rates) -> Column:
    """Tokens of the expert-parallel rank with most of them over the mean: real routing favours some experts, and the others wait. Recipes
    whose routing is balanced, by force in benchmarks and by an auxiliary loss in pretraining, count as even."""
    return 1.0 + rates.skew * np.log2(batch.layout.ep)


def experts(batch: Batch, rates: Rates, shape: Shape) -> Operator:
    """Routed experts as one grouped product a layer: each local expert's rows are padded to a tile, its weights are read."""
    model, layout = batch.model, batch.layout
    inner = model.expert_width / layout.expert_tp
    narrow = minimum(inner, shape.expert_hidden) + 1.0
    rows = shape.expert_tokens * model.top_k
    local = minimum(model.experts / layout.ep, rows)
    one = model.expert_matrices * shape.expert_hidden * inner
    rate = rates.peak * rates.gemm * rates.grouped * narrow / (narrow + rates.grouped_width)
    flops = 2.0 * rows * one
    compute = (flops * fullest_rank(batch, rates) + TILE_ROWS * local * one) / rate
    moved = rates.element_bytes * (local * one + rows * (shape.expert_hidden + inner))
    memory = moved / (batch.gpu.bandwidth * rates.stream)
    time = overlapped(compute, memory, rates.overlap) + rates.moe_launch
    work = OpTime(time, flops, moved, compute, memory, rates.moe_launch)
    return Operator("experts", work, model.moe_layers, 1.0 + shape.trained, shape.again, True, True)


def _streamed(moved: Column, batch: Batch, rates: Rates) -> OpTime:
    """An operator that only moves bytes."""
    memory = moved / (batch.gpu.bandwidth * rates.stream)
    return OpTime(memory, 0.0, moved, 0.0, memory, 0.0)


def routing(batch: Batch, rates: Rates, shape: Shape) -> Operator:
    """Router, gathering of tokens by expert, weighting and summing back: passes over routed hidden states, which 8-bit
    recipes convert as well."""
    model = batch.model
    rows = shape.expert_tokens * model.top_k
    inner = model.expert_width / batch.layout.expert_tp
    gathered = rates.permute * (
        shape.expert_tokens * model.hidden + rows * shape.expert_hidden * fullest_rank(batch, rates)
    )
    converted = (1.5 * rates.casts) * rows * (shape.expert_hidden + inner)
    work = _streamed(BF16 * (gathered + converted), batch, rates)
    return Operator("routing", work, model.moe_layers, 2.0, shape.again, True, False)


def attention_core(batch: Batch, rates: Rates, shape: Shape) -> Operator:
    """Scores and values of all attention layers. Fused kernels keep the scores on the chip; without them they travel through memory."""
    model, layout, training = batch.model, batch.layout, batch.training
    assert training is not None
    mla = model.mla_layers * model.mla_heads
    everywhere = model.full_layers * model.heads
    windowed = model.window_layers * model.window_heads
    dims = everywhere * (model.qk_dim + model.v_dim) + mla * (model.mla_nope_dim + model.mla_rope_dim + model.mla_v_dim)
    window_dims = windowed * (model.window_qk_dim + model.window_v_dim)
    share = training.micro_batch / (layout.tp * layout.cp)
    s = training.seq_len
    unfused = 1.0 - maximum(batch.levers.flash_attention_2, batch.levers.flash_attention_3)
    flops = 2.0 * share * (shape.pairs * dims + shape.near_pairs * window_dims)
    softmax = (4.0 * rates.softmax) * share * (shape.pairs * (everywhere + mla) + shape.near_pairs * windowed)
    scores = unfused * s * s * (everywhere + mla + windowed)
    moved = BF16 * share * (2.0 * s * (dims + window_dims) + rates.score_passes * scores)
    compute = (
        (flops + softmax) * (1.0 + unfused) / (rates.head_peak * rates.attention)
    )  # unfused kernels compute the masked half as well
    memory = moved / (batch.gpu.bandwidth * rates.stream)
    work = OpTime(overlapped(compute, memory, rates.overlap), flops, moved, compute, memory, 0.0)
    again = shape.again + shape.modules * unfused
    return Operator("attention.core", work, 1.0, ATTENTION_BACKWARD - 0.5 * unfused, again, True, True)


def scans(batch: Batch, rates: Rates, shape: Shape) -> Operator:
    """The scans of recurrent layers (state-space, gated delta): little arithmetic, bound by memory and short kernels."""
    model = batch.model
    token = shape.tokens / batch.layout.tp
    flops, moved = model.recurrent_flops * token, (12.0 * BF16) * model.hidden * token
    compute = flops / (rates.head_peak * rates.scan)
    memory = moved / (batch.gpu.bandwidth * rates.stream)
    return Operator(
        "recurrent.scan",
        OpTime(compute + memory, flops, moved, compute, memory, 0.0),
        model.recurrent_layers,
        2.0,
        shape.again,
        True,
        True,
    )


def element_wise(batch: Batch, rates: Rates, shape: Shape) -> Operator:
    """Norms, residuals, rotary embedding, activation function, dropout: bytes that one pass moves, times the passes that fusion leaves."""
    model, layout = batch.model, batch.layout
    inner = model.attention_params / model.hidden + model.mlp_layers * model.mlp_width * model.mlp_matrices
    routed = model.moe_layers * (model.top_k * model.expert_width * model.expert_matrices + 3.0 * model.shared_width)
    elements = (8.0 * rates.passes) * shape.split * model.layers * model.hidden + rates.passes * (
        inner + routed
    ) / layout.tp
    adapters = (1.0 - shape.trained) * rates.adapter_passes * inner / layout.tp
    work = _streamed(BF16 * shape.tokens * (elements + adapters), batch, rates)
    return Operator("element_wise", work, 1.0, 2.0, shape.again + SELECTIVE_SHARE * shape.modules, True, False)


def loss(batch: Batch, rates: Rates, shape: Shape) -> Operator:
    """Softmax and cross entropy over the vocabulary: the logits travel several times, in 32 bit."""
    work = _streamed(shape.tokens * batch.model.vocab / batch.layout.tp * (4.0 * rates.loss_passes), batch, rates)
    return Operator("loss", work, 1.0, 1.0, 0.0, False, False)


def dequantisation(batch: Batch, rates: Rates, shape: Shape) -> Operator:
    """4-bit base weights become 16 bit before each use, in the forward and in the backward pass (QLoRA)."""
    model, training = batch.model, batch.training
    assert training is not None
    quantised = model.total_params - model.embedding_params - model.lm_head_params
    weights = pick(training.method == QLORA, quantised / batch.layout.tp, 0.0)
    work = _streamed((0.5 + 2.0 * BF16) * rates.dequantise * weights, batch, rates)
    return Operator("dequantisation", work, 1.0, 1.0, shape.again, True, False)


OPERATORS = (projections, head, experts, routing, attention_core, scans, element_wise, loss, dequantisation)


def micro_batch_operators(batch: Batch, rates: Rates, shape: Shape) -> Iterator[Operator]:
    """All operators of one micro-batch on one rank, one after the other: their arrays are many and need not live together."""
    return (of(batch, rates, shape) for of in OPERATORS)


def misalignment(shape: Shape) -> Column:
    """Extra time, as a share of the products' time, of a number of tokens that is no multiple of eight: the product of
    the weight gradient sums over them."""
    eighths = shape.tokens * ALIGNMENT
    return pick(eighths != np.floor(eighths), (MISALIGNED - 1.0) / 3.0, 0.0)
