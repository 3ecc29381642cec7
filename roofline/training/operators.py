"""The operators of one micro-batch on one rank, whole depth of the model: sizes and times of forward and backward.

Every operator is timed once for its forward pass; the backward pass repeats the same shapes (a matrix product twice, flash attention two and
a half times, an element-wise chain twice). Layers are divided over pipeline stages later.
"""

from typing import NamedTuple

import numpy as np

from roofline.ceilings import Column, OpTime, overlapped
from roofline.codes import METHODS, RECOMPUTES, TRAINING_PRECISIONS
from roofline.columns import Batch
from roofline.operators import GemmCoefficients, MoeCoefficients, causal_pairs, gemm, moe
from roofline.training.coefficients import Rates

BF16 = 2.0  # bytes of an activation
LORA, QLORA = METHODS.index("lora"), METHODS.index("qlora")
FULL, SELECTIVE = RECOMPUTES.index("full"), RECOMPUTES.index("selective")
FP16, FP8, MXFP8, NVFP4 = (TRAINING_PRECISIONS.index(name) for name in ("fp16", "fp8", "mxfp8", "nvfp4"))
ALIGNMENT = 1.0 / 8.0  # tensor cores want dimensions that are multiples of eight elements
MISALIGNED = 0.94 / 0.61  # time of a product with a dimension that is not: 61 % of the peak instead of 94 %
ATTENTION_BACKWARD = 2.5  # five products of the size of two
ROUTER_PASSES = 6.0  # passes of a MoE layer over its router scores and indices


class Operator(NamedTuple):
    """One kind of operator: `forward` is one occurrence; it occurs `count` times in the forward pass of a micro-batch.

    `backward` is the time of its backward pass in units of the forward one, `tower` is 1 where pipeline stages divide it (0: the head).
    """

    name: str
    forward: OpTime
    count: Column
    backward: Column
    tower: float
    repeated: float  # 1 where full recomputation repeats it


class Shape(NamedTuple):
    """Sizes that several operators share."""

    tokens: Column  # tokens of a micro-batch on one context-parallel rank
    shared: Column  # of them on one tensor-parallel rank where activations are split (sequence parallelism), else all
    expert_tokens: Column  # tokens that one rank sends to experts
    adapters: Column  # 1 where only adapters are trained
    attention_layers: Column
    core_width: Column  # sum over attention layers of heads x value dimension: what the output projections read


def shape_of(batch: Batch) -> Shape:
    """The shared sizes. Shapes broadcast to (N,)."""
    model, layout, training = batch.model, batch.layout, batch.training
    assert training is not None
    tokens = training.micro_batch * training.seq_len / layout.cp
    width = model.full_layers * model.heads * model.v_dim + model.window_layers * model.window_heads * model.window_v_dim
    return Shape(
        tokens=tokens,
        shared=tokens / np.where(layout.sequence_parallel > 0, layout.tp, 1.0),
        expert_tokens=tokens * layout.expert_tp / layout.tp,
        adapters=np.where(training.method >= LORA, 1.0, 0.0),
        attention_layers=model.full_layers + model.window_layers + model.mla_layers,
        core_width=width + model.mla_layers * model.mla_heads * model.mla_v_dim,
    )


def product_coefficients(rates: Rates) -> GemmCoefficients:
    """The efficiency of dense matrix products at these rates."""
    none = dict.fromkeys(GemmCoefficients._fields, 0.0)  # effects of small and of repeated products that training does not see
    return GemmCoefficients(
        **none
        | {
            "eta_compute": rates.gemm,
            "eta_memory": rates.stream,
            "overlap": rates.overlap,
            "wave": rates.wave,
            "launch": rates.launch,
            "quant_passes": rates.casts,
            "activation_share": 1.0,
        }
    )


def _product(name: str, m: Column, n: Column, k: Column, count: Column, batch: Batch, rates: Rates, shape: Shape, coef: GemmCoefficients) -> Operator:
    head = name == "lm_head"
    peak = rates.head_peak if head else rates.peak
    work = gemm(
        m,
        n,
        k,
        weight_bytes=BF16 if head else rates.element_bytes,
        act_bytes=BF16 if head else rates.element_bytes,
        peak=peak,
        bandwidth=batch.gpu.bandwidth,
        sms=batch.gpu.sms,
        coef=coef,
    )
    return Operator(name, work, count, 2.0 - shape.adapters, 0.0 if head else 1.0, 0.0 if head else 1.0)


def matrix_products(batch: Batch, rates: Rates, shape: Shape) -> list[Operator]:
    """Dense projections. Widths are those of one tensor-parallel rank; k and n of adapters are left out (see `adapters`)."""
    model, tp = batch.model, batch.layout.tp
    layers = np.maximum(shape.attention_layers, 1.0)
    core = shape.core_width / layers
    inward = (model.attention_params / layers - core * model.hidden) / model.hidden
    recurrent = (model.recurrent_in + model.recurrent_out) / model.hidden
    coef = product_coefficients(rates)
    plain = coef._replace(eta_compute=rates.head_gemm, quant_passes=0.0)
    token, hidden = shape.tokens, model.hidden
    shapes = (
        ("attention.in", inward / tp, hidden, shape.attention_layers, coef),
        ("attention.out", hidden, np.maximum(core, 1.0) / tp, shape.attention_layers, coef),
        ("recurrent.projections", recurrent / tp, hidden, model.recurrent_layers, coef),
        ("mlp.up", (model.mlp_matrices - 1.0) * model.mlp_width / tp, hidden, model.mlp_layers, coef),
        ("mlp.down", hidden, np.maximum(model.mlp_width, 1.0) / tp, model.mlp_layers, coef),
        ("shared_experts", 3.0 * model.shared_width / tp, hidden, model.moe_layers, coef),
        ("lm_head", model.vocab / tp, hidden, 1.0, plain),
    )
    return [_product(name, token, np.maximum(n, 1.0), k, count, batch, rates, shape, c) for name, n, k, count, c in shapes]


def expert_hidden(batch: Batch) -> Column:
    """Width of what experts read: the hidden size, less where tokens are projected into a latent space first."""
    model = batch.model
    width = np.maximum(model.moe_layers * model.experts * model.expert_matrices * model.expert_width, 1.0)
    return np.minimum(np.maximum(np.round(model.expert_params / width), 1.0), model.hidden)


def experts(batch: Batch, rates: Rates, shape: Shape) -> Operator:
    """Routed experts as one grouped product a layer."""
    model, layout = batch.model, batch.layout
    hidden = expert_hidden(batch)
    width = np.minimum(np.maximum(model.expert_width / layout.expert_tp, 1.0), hidden)
    coef = MoeCoefficients(
        **dict.fromkeys(MoeCoefficients._fields, 0.0)
        | {
            "eta_compute": rates.gemm * rates.grouped * width / (width + rates.grouped_width),
            "eta_memory": rates.stream,
            "overlap": rates.overlap,
            "launch": rates.moe_launch,
            "tile_rows": 128.0,
        }
    )
    work = moe(
        shape.expert_tokens * layout.ep,
        hidden=hidden,
        width=model.expert_width,
        experts=np.maximum(model.experts, 1.0),
        top_k=np.maximum(model.top_k, 1.0),
        ep=layout.ep,
        tp=layout.expert_tp,
        weight_bytes=rates.element_bytes,
        peak=rates.peak,
        bandwidth=batch.gpu.bandwidth,
        coef=coef,
        matrices=model.expert_matrices,
    )
    return Operator("experts", work, model.moe_layers, 2.0 - shape.adapters, 1.0, 1.0)


def routing(batch: Batch, rates: Rates, shape: Shape) -> Operator:
    """Router, gathering of tokens by expert, weighting and summing back: passes over routed hidden states; 8-bit recipes convert them too."""
    model = batch.model
    rows = shape.expert_tokens * model.top_k
    width = expert_hidden(batch)
    inner = model.expert_width / batch.layout.expert_tp
    moved = BF16 * rates.permute * (shape.expert_tokens * model.hidden + rows * width) + rates.casts * 1.5 * BF16 * rows * (width + inner)
    memory = moved / (batch.gpu.bandwidth * rates.stream)
    nothing = 0.0 * memory
    return Operator("routing", OpTime(memory, nothing, moved, nothing, memory, nothing), model.moe_layers, 2.0, 1.0, 1.0)


def attention_core(batch: Batch, rates: Rates, shape: Shape) -> Operator:
    """Scores and values of all attention layers. Fused kernels keep the scores on the chip; without them they travel through memory."""
    model, layout, training = batch.model, batch.layout, batch.training
    assert training is not None
    s, ranks = training.seq_len, layout.tp * layout.cp
    full, near = causal_pairs(s), causal_pairs(s, window=np.maximum(model.window, 1.0))
    head = 2.0 * rates.softmax
    mla = model.mla_layers * model.mla_heads
    dims_mla = model.mla_nope_dim + model.mla_rope_dim + model.mla_v_dim
    everywhere = model.full_layers * model.heads
    windowed = model.window_layers * model.window_heads
    dims, window_dims = model.qk_dim + model.v_dim, model.window_qk_dim + model.window_v_dim
    share = training.micro_batch / ranks
    pairs = everywhere * dims + mla * dims_mla
    flops = 2.0 * share * (full * pairs + near * windowed * window_dims)
    visited = 2.0 * share * (full * (pairs + head * (everywhere + mla)) + near * windowed * (window_dims + head))
    fused = np.maximum(batch.levers.flash_attention_2, batch.levers.flash_attention_3)
    scores = (1.0 - fused) * share * s * s * (everywhere + mla + windowed)
    moved = BF16 * 2.0 * share * s * (pairs + windowed * window_dims) + scores * (BF16 * rates.score_passes)
    compute = visited * (2.0 - fused) / (rates.head_peak * rates.attention)  # unfused kernels compute the masked half as well
    memory = moved / (batch.gpu.bandwidth * rates.stream)
    work = OpTime(overlapped(compute, memory, rates.overlap), flops, moved, compute, memory, 0.0 * flops)
    return Operator("attention.core", work, 1.0, 2.0 + (ATTENTION_BACKWARD - 2.0) * fused, 1.0, 1.0)


def scans(batch: Batch, rates: Rates, shape: Shape) -> Operator:
    """The scans of recurrent layers (state-space, gated delta): little arithmetic, bound by memory and short kernels."""
    model, tp = batch.model, batch.layout.tp
    flops = model.recurrent_flops * shape.tokens / tp
    moved = 12.0 * BF16 * model.hidden * shape.tokens / tp
    compute = flops / (rates.head_peak * rates.scan)
    memory = moved / (batch.gpu.bandwidth * rates.stream)
    return Operator("recurrent.scan", OpTime(compute + memory, flops, moved, compute, memory, 0.0 * flops), model.recurrent_layers, 2.0, 1.0, 1.0)


def element_wise(batch: Batch, rates: Rates, shape: Shape) -> Operator:
    """Norms, residuals, rotary embedding, activation function, dropout: bytes that one pass moves, times the passes that fusion leaves."""
    model, tp = batch.model, batch.layout.tp
    rope = shape.attention_layers * (model.attention_params / np.maximum(shape.attention_layers, 1.0) / model.hidden) / tp
    gates = model.mlp_layers * model.mlp_width * model.mlp_matrices / tp
    routed = model.moe_layers * (model.top_k * model.expert_width * model.expert_matrices / tp + model.shared_width * 3.0 / tp)
    split = shape.shared / shape.tokens
    elements = shape.tokens * (8.0 * model.layers * model.hidden * split + rope + gates + routed)
    adapter = shape.adapters * shape.tokens * rates.adapter_passes * (rope + gates)
    moved = BF16 * (elements * rates.passes + adapter)
    memory = moved / (batch.gpu.bandwidth * rates.stream)
    nothing = 0.0 * memory
    return Operator("element_wise", OpTime(memory, nothing, moved, nothing, memory, nothing), 1.0, 2.0, 1.0, 1.0)


def loss(batch: Batch, rates: Rates, shape: Shape) -> Operator:
    """Softmax and cross entropy over the vocabulary: the logits travel several times, in 32 bit."""
    moved = shape.tokens * batch.model.vocab / batch.layout.tp * 4.0 * rates.loss_passes
    memory = moved / (batch.gpu.bandwidth * rates.stream)
    nothing = 0.0 * memory
    return Operator("loss", OpTime(memory, nothing, moved, nothing, memory, nothing), 1.0, 1.0, 0.0, 0.0)


def dequantisation(batch: Batch, rates: Rates, shape: Shape) -> Operator:
    """4-bit base weights become 16 bit before each use, in the forward and in the backward pass (QLoRA)."""
    model, training = batch.model, batch.training
    assert training is not None
    weights = (model.total_params - model.embedding_params - model.lm_head_params) / batch.layout.tp
    moved = np.where(training.method == QLORA, weights * (0.5 + 2.0 * BF16), 0.0)
    memory = moved / (batch.gpu.bandwidth * rates.stream) * rates.dequantise
    nothing = 0.0 * memory
    return Operator("dequantisation", OpTime(memory, nothing, moved, nothing, memory, nothing), 1.0, 1.0, 1.0, 1.0)


def micro_batch_operators(batch: Batch, rates: Rates) -> tuple[Shape, list[Operator]]:
    """All operators of one micro-batch on one rank."""
    shape = shape_of(batch)
    dense = matrix_products(batch, rates, shape)
    others = (routing, attention_core, scans, element_wise, loss, dequantisation)
    return shape, [*dense, experts(batch, rates, shape), *(of(batch, rates, shape) for of in others)]


def misalignment(batch: Batch, shape: Shape) -> Column:
    """Extra time, as a share of the products' time, of dimensions that are no multiple of eight: the weight-gradient product sums over tokens."""
    odd = shape.tokens * ALIGNMENT
    return np.where(odd == np.floor(odd), 0.0, (MISALIGNED - 1.0) / 3.0)
