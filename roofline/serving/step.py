"""The time of one forward pass of a serving engine, from its operators: what a pass costs for each token, sequence, expert and byte.

`costs` turns a scenario into seconds per unit of work on one GPU, over all layers; `pass_time` adds them up for the work of a pass.
"""

from typing import Any, NamedTuple

import numpy as np

from roofline.codes import ENGINES, WEIGHT_FORMATS
from roofline.columns import Batch
from roofline.selection import indicator, maximum, minimum, pick, some
from roofline.serving.coefficients import FAST, NETWORK, PCIE, OfEngine, ServingCoefficients
from roofline.serving.formats import HALF, Formats

Column = Any

# Kernels of a layer with the usual fusions: norm, QKV, rotary and cache write, attention, output · norm, gate and up, activation, down.
ATTENTION_KERNELS = 5.0
MLP_KERNELS = 4.0
INDEXER_KERNELS = 6.0
UNFUSED_KERNELS = 6.0  # further launches of a layer whose element-wise chains are not fused
UNFUSED_PASSES = 10.0  # and its further passes over the hidden state: read and write of each step
HALF_BYTES = 2.0
EVERYTHING = 1e12  # tokens that attention sees where nothing limits it
MOST_BANDWIDTH = 0.97  # of what memory can stream, and of a peak: no engine reaches more
MOST_PEAK = 0.95
LLAMA_CPP = ENGINES.index("llama_cpp")
BF16 = WEIGHT_FORMATS.index("bf16")
PACKED = np.array([name not in ("fp32", "bf16", "fp16") for name in WEIGHT_FORMATS])


class Shape(NamedTuple):
    """How one instance of the model is spread."""

    tp: Column  # GPUs that share a layer's attention
    attention_ranks: Column  # attention data-parallel ranks, 1 without
    expert_ranks: Column  # GPUs that share a layer's experts
    ep: Column
    pp: Column


class Costs(NamedTuple):
    """Seconds on one GPU, all layers of the model. `_token` etc. multiply with the work of a pass."""

    linear_token: Column
    linear_read: Column
    expert_row: Column  # compute of one routed row
    expert_read: Column  # weights of one touched expert, all layers
    experts: Column  # experts that a rank holds
    expert_miss: Column  # ln of the chance that a token misses a given expert
    draws: Column  # power of the tokens that draw experts as if by chance
    routed: Column  # rows of one token on one rank
    spread: Column  # imbalance x sqrt(2 ln ep): standard deviations of the busiest rank
    tile: Column
    head_row: Column
    head_read: Column
    decode_memory: Column  # decode attention of one sequence
    decode_compute: Column
    decode_latency: Column
    prompt_token: Column  # prefill attention of one token
    element_token: Column
    wire_token: Column
    network: Column  # s of all collectives of a pass, whatever their size
    launch: Column
    small_rows: Column


class PassTime(NamedTuple):
    """Seconds of a forward pass and of its parts: `time` is the sum of joined pairs of (arithmetic, traffic) and of the rest."""

    time: Column
    pairs: tuple[tuple[Column, Column], ...]  # projections, experts, output projection, decode attention
    joined: tuple[Column, ...]  # seconds of each pair
    prompt: Column
    network: Column
    latency: Column
    fixed: Column  # launches and links, whatever the pass carries
    floor: Column  # these and the traffic of the pairs: what even one token takes

    def compute(self) -> Column:
        """Seconds of the parts that arithmetic binds."""
        return self.prompt + sum(time * (c > m) for (c, m), time in zip(self.pairs, self.joined, strict=True))


def costs(
    batch: Batch, f: Formats, c: ServingCoefficients, own: OfEngine, shape: Shape, context: Column, span: Column
) -> Costs:
    """Seconds per unit of work. `context`: tokens that a decode step attends to; `span`: mean tokens that a prompt token attends to."""
    model, gpu, load, levers = batch.model, batch.gpu, batch.serving, batch.levers
    assert load is not None
    k, tp = c.scalar, shape.tp
    of_gpu = c.of_gpu(gpu.code)
    back = c.of_backend(c.backend_of(batch))
    ours = load.engine == LLAMA_CPP
    stream = gpu.bandwidth * minimum(of_gpu.memory * own.engine_memory * back.backend_memory, MOST_BANDWIDTH)
    weights = minimum(stream * c.stream[load.weights], gpu.bandwidth * MOST_BANDWIDTH)
    # llama.cpp accumulates in 16 bit (or in integers), which GeForce runs at twice the rate.
    accumulate = pick(ours, of_gpu.accumulate, 1.0)
    rate = accumulate
    if some(ours):
        unpacked = pick(PACKED[load.weights], k["unpacking"], pick(load.weights == BF16, back.backend_bf16, 1.0))
        rate = accumulate * pick(ours, back.backend_compute * unpacked, 1.0)
    attention_rate = f.attention_peak * _reached(c.compute[gpu.code, f.attention_type], own, rate)
    feed_rate = f.feed_peak * _reached(c.compute[gpu.code, f.feed_type], own, rate)
    half_rate = f.half_peak * _reached(c.compute[gpu.code, HALF], own, rate)
    # Shares of it stay below 1.
    attention_peak = f.half_peak * minimum(of_gpu.compute * own.engine_compute * accumulate, 1.9)

    attention = model.attention_params + model.recurrent_params
    feed = model.mlp_params + model.shared_expert_params
    # --- dense layers ---
    linear_token = 2.0 * (attention / (tp * attention_rate) + feed / (tp * feed_rate))
    linear_read = attention * f.attention_bytes / (tp * weights) + feed * f.feed_bytes / (tp * weights)
    # --- experts ---
    experts = maximum(model.experts, 1.0)
    expert = model.expert_params / experts
    cut = shape.expert_ranks / shape.ep  # tensor-parallel cut of one expert
    expert_row = 2.0 * expert / (cut * feed_rate * k["moe_compute"])
    expert_read = expert * f.feed_bytes / (cut * minimum(weights * k["moe_memory"], gpu.bandwidth * MOST_BANDWIDTH))
    share = minimum(model.top_k / experts, 0.999999)
    # --- attention ---
    full_width = model.qk_dim + model.v_dim
    window_width = model.window_qk_dim + model.window_v_dim
    kv_heads = maximum(model.kv_heads / tp, 1.0)
    window_heads = maximum(model.window_kv_heads / tp, 1.0)
    in_window = minimum(context, model.window)
    seen = pick(model.indexer_top_k == 0, EVERYTHING, model.indexer_top_k)
    sparse = minimum(context, seen)
    full_unit = model.full_layers * full_width
    window_unit = model.window_layers * window_width
    latent = model.mla_kv_rank + model.mla_rope_dim
    read = (
        full_unit * kv_heads * context
        + window_unit * window_heads * in_window
        + model.mla_layers * latent * sparse
        + model.indexer_layers * model.indexer_dim * context
    ) * f.kv_bytes
    state = model.recurrent_layers * model.recurrent_state_bytes * 2.0 / tp
    scores = (
        full_unit * model.heads * context
        + window_unit * model.window_heads * in_window
        + model.mla_layers * model.mla_heads * (latent + model.mla_kv_rank) * sparse
        + model.indexer_layers * model.indexer_heads * model.indexer_dim * context
    )
    fa3 = 1.0 / pick(levers.flash_attention_3 > 0, 1.0, of_gpu.fa3)
    # llama.cpp attends to the compressed cache in prompts too.
    prompt = (
        full_unit * model.heads * span
        + window_unit * model.window_heads * minimum(span, model.window)
        + model.mla_layers
        * model.mla_heads
        * pick(ours, latent + model.mla_kv_rank, model.mla_nope_dim + model.mla_rope_dim + model.mla_v_dim)
        * minimum(span, seen)
        + model.indexer_layers * model.indexer_heads * model.indexer_dim * span
        + model.recurrent_layers * model.recurrent_flops * 0.5
    )
    # Without FlashAttention the scores are written and read twice instead of staying on the chip: at 16 bit, by llama.cpp at 32.
    score_bytes = pick(ours, 16.0, 8.0)
    plain = indicator(maximum(levers.flash_attention_2, levers.flash_attention_3) <= 0)
    kv_share = back.backend_kv * pick(ours & (plain > 0), back.backend_plain, 1.0)
    scored = model.full_layers * model.heads + model.window_layers * model.window_heads
    scored = scored * span + model.mla_layers * model.mla_heads * minimum(span, seen)
    materialised = plain * scored * (score_bytes / stream)
    attention_layers = model.full_layers + model.window_layers
    # --- element-wise chains and launches ---
    unfused = indicator(maximum(levers.fused_kernels, levers.torch_compile) <= 0)
    passes = k["element_passes"] + k["quantised_passes"] * indicator(f.feed_type != HALF) + unfused * UNFUSED_PASSES
    element_token = passes * model.layers * model.hidden * HALF_BYTES / stream
    kernels = (
        ATTENTION_KERNELS * attention_layers
        + k["mla_kernels"] * model.mla_layers
        + INDEXER_KERNELS * model.indexer_layers
        + k["recurrent_kernels"] * model.recurrent_layers
        + MLP_KERNELS * model.mlp_layers
        + k["moe_kernels"] * model.moe_layers
        + unfused * UNFUSED_KERNELS * model.layers
    )
    kernel_s = own.kernel_s * of_gpu.launch
    kernel_s = maximum(kernel_s, pick(levers.cuda_graphs <= 0, k["eager_launch_s"], 0.0))
    wire, link = _wire(batch, c, shape)
    head = model.vocab * model.hidden / tp
    return Costs(
        linear_token=linear_token,
        linear_read=linear_read,
        expert_row=expert_row,
        expert_read=expert_read,
        experts=model.experts / shape.ep,
        expert_miss=np.log1p(-share),
        draws=minimum(k["expert_draws"], 1.0),
        routed=model.top_k / shape.ep * (model.is_moe > 0),
        spread=k["expert_imbalance"] * np.sqrt(2.0 * np.log(shape.ep)),
        tile=k["moe_tile"],
        head_row=2.0 * head / half_rate,
        head_read=head * f.head_bytes / stream,
        decode_memory=read / (stream * k["kv_memory"] * kv_share) + state / (stream * k["state_memory"]),
        decode_compute=2.0 * scores / (tp * attention_peak * k["decode_attention"]),
        decode_latency=k["kv_head_s"] * (attention_layers * kv_heads + model.mla_layers),
        prompt_token=2.0 * prompt / (tp * attention_peak * k["prefill_attention"] * fa3 * back.backend_attention)
        + materialised / tp,
        element_token=element_token,
        wire_token=wire,
        network=link,
        launch=kernels * kernel_s + own.step_s,
        small_rows=k["small_gemm_rows"],
    )


def _reached(share: Column, own: OfEngine, accumulate: Column) -> Column:
    """Share of a peak that an engine's kernels reach, never all of it."""
    return minimum(share * own.engine_compute, MOST_PEAK) * accumulate


def _wire(batch: Batch, c: ServingCoefficients, shape: Shape) -> tuple[Column, Column]:
    """Seconds on the links: for each token of a pass, and for a pass whatever its size."""
    model, gpu, layout = batch.model, batch.gpu, batch.layout
    tp, ep = shape.tp, maximum(shape.ep, 1.0)
    group = maximum(tp, shape.expert_ranks * (model.is_moe > 0))
    # Placed without regard to the links, the ranks of a group are scattered over all GPUs of the system.
    reach = pick(batch.levers.topology_aware > 0, group, maximum(layout.gpus, group))
    fast = (gpu.link_bandwidth > 0) & (reach <= gpu.domain)
    local = reach <= layout.gpus_per_node
    link = pick(fast, FAST, pick(local, PCIE, NETWORK))
    bandwidth = (
        pick(fast, gpu.link_bandwidth, pick(local, gpu.pcie_bandwidth, layout.internode_bandwidth)) * c.link_share[link]
    )
    latency = c.link_s[link] + c.rank_s[link] * (group - 1.0)
    row = model.hidden * HALF_BYTES / bandwidth
    # Two all-reduces a layer; with attention data parallelism none but dispatch (8 bit) and combine (16 bit) of each routed row.
    spread = shape.attention_ranks > 1
    reduces = model.layers * (tp > 1) * pick(spread, 1.0, 2.0)
    exchanges = model.moe_layers * (spread & (shape.expert_ranks > 1))
    sent = 2.0 * reduces * (tp - 1.0) / tp + 1.5 * exchanges * minimum(model.top_k, ep) * (ep - 1.0) / ep
    token = sent * row
    stages = (shape.pp - 1.0) * (row + latency)
    return token, (reduces + 2.0 * exchanges) * latency + stages


def _join(compute: Column, memory: Column) -> Column:
    return np.sqrt(compute * compute + memory * memory)


def pass_time(
    k: Costs, *, tokens: Column, expert_tokens: Column, rows: Column, sequences: Column, prompt_tokens: Column
) -> PassTime:
    """Seconds of a pass over `tokens` tokens of one attention rank (`expert_tokens` of all ranks together).

    Of these `prompt_tokens` are new prompt tokens and `sequences` decode; logits are computed for `rows`.
    """
    linear_c = k.linear_token * (tokens + k.small_rows)
    # Tokens of a batch share experts: each further one draws fewer new ones than by chance.
    drawn = -k.experts * np.expm1(expert_tokens**k.draws * k.expert_miss)
    touched = minimum(drawn + k.spread * np.sqrt(drawn), k.experts)
    routed = expert_tokens * k.routed
    routed = routed + k.spread * np.sqrt(routed)
    expert_c, expert_m = k.expert_row * (routed + k.tile * touched), k.expert_read * touched
    head_c = k.head_row * rows
    decode_c, decode_m = k.decode_compute * sequences, k.decode_memory * sequences
    prompt, element = k.prompt_token * prompt_tokens, k.element_token * tokens
    network = k.wire_token * tokens + k.network
    latency = k.launch + k.decode_latency * sequences
    fixed = latency + k.network
    floor = fixed + k.linear_read + expert_m + k.head_read + decode_m
    pairs = ((linear_c, k.linear_read), (expert_c, expert_m), (head_c, k.head_read), (decode_c, decode_m))
    joined = (_join(*pairs[0]), _join(*pairs[1]), _join(*pairs[2]), _join(*pairs[3]))
    time = prompt + element + network + latency + joined[0] + joined[1] + joined[2] + joined[3]
    return PassTime(time, pairs, joined, prompt, network, latency, fixed, floor)
