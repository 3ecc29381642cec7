"""Traffic of every parallel dimension: bytes, the links they cross, and what of their time no computation hides.

Ranks of a dimension that lie `inner` GPUs apart share a fast link as far as it reaches; the rest of the way is network. With topology-aware
placement the order from the inside is tensor, context, expert and data, pipeline; without it tensor-parallel ranks are the farthest apart.
"""

from typing import NamedTuple

import numpy as np

from roofline.ceilings import Column
from roofline.columns import Batch
from roofline.training.coefficients import Rates, TrainingCoefficients
from roofline.training.operators import BF16, Shape, expert_hidden

COMPRESSED = 1.0 + 4.0 / 256.0  # bytes of an 8-bit gradient with a scale for each block of 256
FP32_GRADIENT, BF16_GRADIENT = 4.0, 2.0


class Group(NamedTuple):
    """Ranks of one dimension: all, those within reach of the fast link, and what each link carries."""

    ranks: Column
    near: Column  # ranks joined by the fast link


class Traffic(NamedTuple):
    """Seconds of one collective with nothing hidden, and its bytes."""

    time: Column
    bytes: Column
    latency: Column


class Links(NamedTuple):
    """Bytes/s that collectives reach, and latencies in s."""

    fast: Column
    network: Column
    fast_latency: float
    network_latency: float
    rank_latency: float


class Parallel(NamedTuple):
    """The groups of a layout."""

    tp: Group
    cp: Group
    dp: Group  # data-parallel ranks that share dense weights: dp x cp
    ep: Group
    expert_dp: Group
    pp: Group


def links(batch: Batch, c: TrainingCoefficients) -> Links:
    """Effective link speeds. GPUs without a fast link meet over PCIe."""
    fast = np.where(batch.gpu.link_bandwidth > 0, batch.gpu.link_bandwidth, batch.gpu.pcie_bandwidth)
    return Links(fast * c["link"], batch.layout.internode_bandwidth * c["nic"], c["link_latency"], c["nic_latency"], c["rank_latency"])


def _group(ranks: Column, inner: Column, domain: Column) -> Group:
    return Group(ranks, np.minimum(ranks, np.maximum(np.floor(domain / inner), 1.0)))


def groups(batch: Batch) -> Parallel:
    """Who talks to whom over which link."""
    layout = batch.layout
    node = np.maximum(np.where(batch.gpu.link_bandwidth > 0, batch.gpu.domain, layout.gpus_per_node), 1.0)
    aware = batch.levers.topology_aware > 0
    tp, cp, dp, pp = layout.tp, layout.cp, layout.dp, layout.pp
    replicas = dp * cp
    sharers = tp * replicas  # ranks of one pipeline stage
    expert_ranks = layout.ep * layout.expert_tp
    tp_inner = np.where(aware, 1.0, replicas * pp)
    dp_inner = np.where(aware, tp, pp)
    return Parallel(
        tp=_group(tp, tp_inner, node),
        cp=_group(cp, dp_inner, node),
        dp=_group(replicas, dp_inner, node),
        ep=_group(layout.ep, np.where(aware, layout.expert_tp, pp), node),
        expert_dp=_group(np.maximum(sharers / expert_ranks, 1.0), np.where(aware, expert_ranks, pp), node),
        pp=_group(pp, np.where(aware, sharers, 1.0), node),
    )


def gathered(nbytes: Column, group: Group, link: Links, rails: Column = 1.0) -> Traffic:
    """All-gather or reduce-scatter of `nbytes` bytes (the whole), in two levels: the network carries one share a near rank where `rails` is 1."""
    far = group.ranks / group.near
    inside = nbytes * (1.0 - 1.0 / group.near)
    across = nbytes * (1.0 - 1.0 / far) / np.where(rails > 0, group.near, 1.0)
    latency = np.where(group.near > 1, link.fast_latency + link.rank_latency * group.near, 0.0) + np.where(far > 1, link.network_latency + link.rank_latency * far, 0.0)
    return Traffic(inside / link.fast + across / link.network + latency, inside + across, latency)


def exchanged(nbytes: Column, group: Group, link: Links) -> Traffic:
    """All-to-all in which each rank holds `nbytes` bytes for all ranks."""
    inside = nbytes * (group.near - 1.0) / group.ranks
    across = nbytes * (1.0 - group.near / group.ranks)
    latency = np.where(group.ranks > 1, link.fast_latency, 0.0) + np.where(group.ranks > group.near, link.network_latency, 0.0)
    return Traffic(inside / link.fast + across / link.network + latency, inside + across, latency)


def dispatched(token_bytes: Column, top_k: Column, group: Group, link: Links, far_cost: float) -> Traffic:
    """Tokens of `token_bytes` in all sent to `top_k` experts each: once to every rank that holds one of them (expected number, uniform routing),
    over the network once to every node, whose ranks pass them on."""
    nodes = group.ranks / group.near
    ranks_hit = group.ranks * (1.0 - (1.0 - 1.0 / group.ranks) ** top_k)
    nodes_hit = nodes * (1.0 - (1.0 - 1.0 / nodes) ** top_k)
    inside = token_bytes * ranks_hit * (1.0 - 1.0 / group.near)
    across = token_bytes * nodes_hit * (1.0 - 1.0 / nodes)
    latency = np.where(group.ranks > 1, link.fast_latency, 0.0) + np.where(nodes > 1, link.network_latency, 0.0)
    return Traffic(inside / link.fast + far_cost * across / link.network + latency, inside + across, latency)


def exposed(time: Column, window: Column, hidden: Column) -> Column:
    """What is left of `time` when `hidden` of it, as far as `window` reaches, runs behind computation."""
    return time - hidden * np.minimum(time, window)


class Communication(NamedTuple):
    """Traffic of one micro-batch (whole depth; forward) and of one step. Times in s with nothing hidden."""

    tp: Traffic  # one pass of all layers
    cp: Traffic
    ep: Traffic
    pp: Traffic  # one boundary, one direction
    gather: Traffic  # weights of one pass: ZeRO-3 each micro-batch, ZeRO-1 once a step
    reduce: Traffic  # gradients


def communication(batch: Batch, rates: Rates, shape: Shape, c: TrainingCoefficients) -> Communication:
    """The traffic of a layout. Layers are those of one pipeline stage."""
    model, layout = batch.model, batch.layout
    parallel, link = groups(batch), links(batch, c)
    token = shape.tokens * model.hidden * BF16
    stage = 1.0 / layout.pp
    blocks = 2.0 * model.layers * stage
    tp = gathered(2.0 * token, parallel.tp, link)  # one all-gather and one reduce-scatter, twice a layer
    kv = model.full_layers * model.kv_heads * (model.qk_dim + model.v_dim) + model.mla_layers * model.mla_heads * (
        model.mla_nope_dim + model.mla_rope_dim + model.mla_v_dim
    )
    ring = exchanged(shape.tokens * layout.cp * kv * BF16 / layout.tp * stage, parallel.cp, link)
    ring_latency = ring.latency * (model.layers * stage - 1.0)
    routed = shape.expert_tokens * expert_hidden(batch) * (BF16 + np.minimum(rates.element_bytes, BF16))
    dispatch = dispatched(routed, model.top_k, parallel.ep, link, c["dispatch_far"])
    moe = model.moe_layers * stage
    boundary = exchanged(token / np.where(layout.sequence_parallel > 0, layout.tp, 1.0), Group(np.minimum(layout.pp, 2.0), np.minimum(parallel.pp.near, 2.0)), link)
    weights, gradients = data_parallel(batch, rates, shape, parallel, link)
    return Communication(
        tp=Traffic(tp.time * blocks, tp.bytes * blocks, tp.latency * blocks),
        cp=Traffic(ring.time + ring_latency, ring.bytes, ring.latency + ring_latency),
        ep=Traffic(dispatch.time * moe, dispatch.bytes * moe, dispatch.latency * 2.0 * moe),
        pp=boundary,
        gather=weights,
        reduce=gradients,
    )


def local_parameters(batch: Batch) -> tuple[Column, Column]:
    """Trained-model parameters that one rank computes with: dense ones, experts."""
    model, layout = batch.model, batch.layout
    tables = model.embedding_params + model.lm_head_params
    dense = (model.total_params - model.expert_params - tables) / (layout.tp * layout.pp) + tables / (layout.tp * np.minimum(layout.pp, 2.0))
    return dense, model.expert_params / (layout.ep * layout.expert_tp * layout.pp)


def adapter_parameters(batch: Batch, shape: Shape) -> Column:
    """Parameters of low-rank adapters on one rank: rank x (inputs + outputs) of each adapted product."""
    model, layout, training = batch.model, batch.layout, batch.training
    assert training is not None
    attention = 2.0 * model.hidden * shape.attention_layers + (model.attention_params + shape.core_width * model.hidden) / model.hidden
    feed_forward = model.mlp_layers * model.mlp_matrices * (model.hidden + model.mlp_width)
    return training.lora_rank * (attention + np.where(training.lora_targets > 0, feed_forward, 0.0)) / (layout.tp * layout.pp)


def data_parallel(batch: Batch, rates: Rates, shape: Shape, parallel: Parallel, link: Links) -> tuple[Traffic, Traffic]:
    """Weights gathered for one pass and gradients reduced, over the ranks that share them."""
    training, layout, levers = batch.training, batch.layout, batch.levers
    assert training is not None
    dense, experts = local_parameters(batch)
    adapters = adapter_parameters(batch, shape)
    frozen = shape.adapters
    gradient = np.where(levers.gradient_compression > 0, COMPRESSED, np.where(training.gradient_dtype > 0, BF16_GRADIENT, FP32_GRADIENT))
    base = np.where(training.method == 3, 0.5 + 0.016, BF16)
    sharded = layout.zero_stage >= 3
    gathered_dense = np.where(sharded, dense * base, np.where(layout.zero_stage >= 1, (1.0 - frozen) * dense * BF16, 0.0))
    gathered_experts = np.where(sharded, experts * base, np.where(layout.zero_stage >= 1, (1.0 - frozen) * experts * BF16, 0.0))
    trained_dense, trained_experts = (1.0 - frozen) * dense + frozen * adapters, (1.0 - frozen) * experts
    halves = np.where(layout.zero_stage >= 1, 1.0, 2.0)  # without sharding gradients are all-reduced: twice the traffic
    rails = levers.hierarchical_allreduce
    weights = _sum(gathered(gathered_dense, parallel.dp, link, rails), gathered(gathered_experts, parallel.expert_dp, link, rails))
    gradients = _sum(
        gathered(trained_dense * gradient * halves, parallel.dp, link, rails), gathered(trained_experts * gradient * halves, parallel.expert_dp, link, rails)
    )
    return weights, gradients


def _sum(first: Traffic, second: Traffic) -> Traffic:
    return Traffic(first.time + second.time, first.bytes + second.bytes, first.latency + second.latency)
