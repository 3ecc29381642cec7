"""From operators and traffic to the step: recomputation, pipeline, exposed communication, optimizer, host, scale."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from roofline.ceilings import Column, overlapped
from roofline.codes import RECOMPUTES
from roofline.columns import Batch
from roofline.selection import maximum, pick
from roofline.training.coefficients import Rates, TrainingCoefficients, resolve
from roofline.training.communication import Communication, adapter_parameters, communication, exposed, local_parameters
from roofline.training.corrections import locate
from roofline.training.pipeline import pipeline_time, slowest_stage
from roofline.training.work import LORA, Operator, Shape, micro_batch_operators, misalignment, shape_of

MFU_DEFINITION = (
    "model FLOPs (6 per active matmul parameter and causal attention; 4 per frozen one; no recomputation) "
    "over the dense peak of the compute precision"
)
TOKEN_BYTES = 4.0  # of a token id that the input pipeline delivers
OPTIMIZER_BYTES = np.array(
    (34.0, 22.0, 20.0, 26.0, 26.0, 14.0)
)  # read and written for one parameter, by codes.OPTIMIZERS
KERNELS, MOE_KERNELS = 14.0, 40.0  # of one layer, one pass, fused
CONVERTING = 0.7  # more of them where operands are converted to 8 or 4 bit
ADAPTER_KERNELS = 14.0  # of the low-rank adapters of one layer, one pass
FULL = RECOMPUTES.index("full")
GROUPED_EXPERTS = 16.0  # local experts from which one launch serves several
HOST_OVERLAP = 0.1  # how much host and GPU time of a micro-batch add up


@dataclass(slots=True)
class TrainingSpeed:
    """Speed of training runs; arrays of shape () or (N,). Shares add up to 1."""

    tokens_per_s: Column
    tokens_per_s_per_gpu: Column
    step_time_s: Column
    tflops_per_gpu: Column  # model FLOPs, 10^12
    mfu: Column
    hfu: Column
    time_to_train_s: Column  # nan where the number of tokens is not given
    compute_share: Column
    memory_share: Column
    interconnect_share: Column
    latency_share: Column  # launches, host, pipeline bubble, stragglers
    mfu_definition: str = MFU_DEFINITION


class Parts(NamedTuple):
    """Seconds of one micro-batch through the whole depth."""

    layers: Column
    ends: Column
    forward_layers: Column
    compute: Column
    memory: Column
    products: Column  # of layers, forward and backward: what communication hides behind


class Step(NamedTuple):
    """Seconds of one optimizer step and what they are made of."""

    time: Column
    compute: Column
    memory: Column
    interconnect: Column
    micro_batches: Column
    peak: Column  # dense FLOP/s of the compute precision
    shape: Shape


def micro_batch_parts(rates: Rates, shape: Shape, operators: Iterable[Operator]) -> Parts:
    """Sums over the operators, recomputation included."""
    layers = ends = forward = compute = busy = products = 0.0
    for op in operators:
        once, slow = op.count * op.forward.time, op.count * op.forward.compute
        passes = 1.0 + op.backward + op.again
        total = once * passes
        compute = compute + slow * passes
        busy = busy + total
        if op.tower:
            layers, forward = layers + total, forward + once
        else:
            ends = ends + total
        if op.product:
            products = products + total
    extra = misalignment(shape) * products
    scale = rates.framework
    return Parts(
        (layers + extra) * scale,
        ends * scale,
        forward * scale,
        (compute + extra) * scale,
        (busy - compute) * scale,
        products * scale,
    )


def _host_time(batch: Batch, rates: Rates) -> tuple[Column, Column]:
    """Host time to launch the kernels of one micro-batch on one stage: of dense operators, of MoE layers."""
    training, model = batch.training, batch.model
    assert training is not None
    passes = pick(training.recompute == FULL, 4.0, 3.0)
    converted = pick(rates.casts > 0, 1.0 + CONVERTING, 1.0)
    adapters = pick(training.method >= LORA, ADAPTER_KERNELS, 0.0)
    dense = rates.host * (KERNELS * converted + adapters) * model.layers
    local = model.experts / batch.layout.ep
    launched = local * GROUPED_EXPERTS / (local + GROUPED_EXPERTS)
    routed = rates.moe_host * (MOE_KERNELS + rates.expert_kernels * launched) * model.moe_layers
    scale = passes / batch.layout.pp
    return dense * scale, routed * scale


def step_of(batch: Batch, c: TrainingCoefficients) -> Step:
    """The time of one optimizer step."""
    layout, training, model = batch.layout, batch.training, batch.model
    assert training is not None
    rates = resolve(batch, c)
    shape = shape_of(batch)
    parts = micro_batch_parts(rates, shape, micro_batch_operators(batch, rates, shape))
    traffic = communication(batch, rates, shape, c)
    micro_batches = maximum(training.global_batch / (layout.dp * training.micro_batch), 1.0)
    stage = 1.0 / layout.pp
    communicated = _exposed_per_micro_batch(batch, parts, traffic, c)
    slowest = slowest_stage(parts.layers, parts.ends, model.layers, layout.pp, layout.virtual_pipeline)
    dense_host, moe_host = _host_time(batch, rates)
    # The host learns how many tokens each expert got before it can launch: what it does from there on, the GPU waits for.
    waited = c["moe_sync"] * moe_host
    busy = overlapped(slowest + communicated + waited, dense_host + moe_host, HOST_OVERLAP)
    mean = (parts.layers + parts.ends) * stage + communicated + waited
    pipeline = pipeline_time(busy, mean, layout.pp, micro_batches, layout.virtual_pipeline)
    exchange = _exposed_data_parallel(batch, parts, traffic, c, micro_batches)
    optimizer = optimizer_time(batch, shape, c) + weight_conversion_time(batch, rates, shape)
    doublings = np.log2(maximum(layout.gpus / layout.gpus_per_node, 1.0))
    beyond = np.log2(maximum(layout.gpus / 1024.0, 1.0))
    slowdown = 1.0 + c["jitter"] * doublings + c["big_jitter"] * beyond
    time = (pipeline + exchange + optimizer) * slowdown + c["step_fixed"]
    return Step(
        time=time,
        compute=parts.compute * stage * micro_batches,
        memory=parts.memory * stage * micro_batches + optimizer,
        interconnect=communicated * micro_batches + exchange,
        micro_batches=micro_batches,
        peak=rates.peak,
        shape=shape,
    )


def _exposed_per_micro_batch(batch: Batch, parts: Parts, traffic: Communication, c: TrainingCoefficients) -> Column:
    """Traffic of one micro-batch on one stage that computation does not hide: tensor, context, expert and pipeline dimensions."""
    layout, training, on = batch.layout, batch.training, batch.levers.comm_overlap
    assert training is not None
    passes = pick(training.recompute == FULL, 3.0, 2.0)
    window = parts.products / layout.pp
    tp = exposed(traffic.tp.time * passes, window, c["tp_hidden"] * on)
    cp = exposed(traffic.cp.time * (passes + 1.0), window, c["cp_hidden"] * on)
    ep = exposed(traffic.ep.time * passes, window, c["ep_hidden"] * on)
    pp = traffic.pp.time * 2.0 * layout.virtual_pipeline * (1.0 - c["pp_hidden"] * on)
    return tp + cp + ep + pp


def _exposed_data_parallel(
    batch: Batch, parts: Parts, traffic: Communication, c: TrainingCoefficients, micro_batches: Column
) -> Column:
    """Weights gathered and gradients reduced: each micro-batch with ZeRO-3, else once a step, behind one forward and one backward pass."""
    layout = batch.layout
    sharded = layout.zero_stage >= 3
    hidden = c["dp_hidden"] * batch.levers.comm_overlap
    forward = parts.forward_layers / layout.pp
    backward = (parts.layers + parts.ends) / layout.pp - forward
    ahead = exposed(traffic.gather.time, forward, hidden)
    behind = exposed(traffic.reduce.time + pick(sharded, traffic.gather.time, 0.0), backward, hidden)
    return (ahead + behind) * pick(sharded, micro_batches, 1.0)


def weight_conversion_time(batch: Batch, rates: Rates, shape: Shape) -> Column:
    """8- and 4-bit recipes convert the weights that a rank trains once a step, along rows and columns."""
    dense, experts = local_parameters(batch)
    moved = shape.trained * (rates.casts > 0) * (2.0 + 2.0 * rates.element_bytes) * (dense + experts)
    return moved / (batch.gpu.bandwidth * rates.stream)


def optimizer_time(batch: Batch, shape: Shape, c: TrainingCoefficients) -> Column:
    """Optimizer step: states read and written at the speed of the memory, on the ranks that hold them."""
    layout, training = batch.layout, batch.training
    assert training is not None
    dense, experts = local_parameters(batch)
    shards = pick(layout.zero_stage >= 1, layout.dp * layout.cp, 1.0)
    expert_shards = pick(
        layout.zero_stage >= 1, maximum(layout.dp * layout.cp * layout.tp / (layout.ep * layout.expert_tp), 1.0), 1.0
    )
    whole = dense / shards + experts / expert_shards
    held = shape.trained * whole + (1.0 - shape.trained) * adapter_parameters(batch, shape) / shards
    moved = OPTIMIZER_BYTES[training.optimizer] * held
    return c["optimizer_passes"] * moved / (batch.gpu.bandwidth * c["stream"])


def model_flops_per_token(batch: Batch, shape: Shape) -> Column:
    """FLOPs of one token, forward and backward, no recomputation: 6 N and causal attention; 4 N where the weights are frozen."""
    return (2.0 + shape.trained) * batch.model.flops_per_token + 3.0 * attention_flops_per_token(batch, shape)


def attention_flops_per_token(batch: Batch, shape: Shape) -> Column:
    """Forward FLOPs of the attention cores and scans for one token, causal mean over a sequence."""
    model, training = batch.model, batch.training
    assert training is not None
    latent = model.mla_layers * model.mla_heads * (model.mla_nope_dim + model.mla_rope_dim + model.mla_v_dim)
    full = model.full_layers * model.heads * (model.qk_dim + model.v_dim) + latent
    near = model.window_layers * model.window_heads * (model.window_qk_dim + model.window_v_dim)
    return (
        2.0 * (full * shape.pairs + near * shape.near_pairs) / training.seq_len
        + model.recurrent_layers * model.recurrent_flops
    )


def predict(batch: Batch, coefficients: TrainingCoefficients, *, slowdown: Column = 1.0) -> TrainingSpeed:
    """Speed of every training scenario of `batch`; `slowdown` multiplies every time. Shapes broadcast to () or (N,)."""
    layout, training = batch.layout, batch.training
    assert training is not None
    step = step_of(batch, coefficients)
    fed = training.global_batch * training.seq_len * TOKEN_BYTES / training.data_loader_bytes_per_s
    time = maximum(step.time * slowdown * np.exp(-locate(batch, coefficients.corrections).value), fed)
    useful = 1.0 - training.padding_fraction * (1.0 - batch.levers.sequence_packing)
    processed = training.global_batch * training.seq_len / time
    flops = model_flops_per_token(batch, step.shape)
    per_gpu = processed / layout.gpus
    achieved = flops * per_gpu
    repeated = step.shape.again * batch.model.flops_per_token
    busy = step.compute + step.memory + step.interconnect
    share = 1.0 / maximum(step.time, busy)
    tokens = processed * useful
    return TrainingSpeed(
        tokens_per_s=tokens,
        tokens_per_s_per_gpu=tokens / layout.gpus,
        step_time_s=time,
        tflops_per_gpu=achieved * 1e-12,
        mfu=achieved / step.peak,
        hfu=(flops + repeated) * per_gpu / step.peak,
        time_to_train_s=training.total_tokens / tokens,
        compute_share=step.compute * share,
        memory_share=step.memory * share,
        interconnect_share=step.interconnect * share,
        latency_share=1.0 - busy * share,
    )
