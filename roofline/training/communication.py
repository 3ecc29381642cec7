"""Traffic of every parallel dimension: bytes, the links they cross, and what of their time no computation hides.

Ranks of a dimension that lie `inner` GPUs apart share a fast link as far as it reaches; the rest of the way is network. With topology-aware
placement the order from the inside is tensor, context, expert and data, pipeline; without it tensor-parallel ranks are the farthest apart,
and no other dimension gains what they lose.
"""

from typing import NamedTuple

import numpy as np

from roofline.ceilings import Column
from roofline.columns import Batch
from roofline.selection import maximum, minimum, pick, some
from roofline.training.coefficients import Rates, TrainingCoefficients
from roofline.training.work import BF16, QLORA, Shape, fullest_rank

COMPRESSED = 1.0 + 4.0 / 256.0  # bytes of an 8-bit gradient with a scale for each block of 256
FP32_GRADIENT, BF16_GRADIENT = 4.0, 2.0
NF4 = 0.5 + 0.016  # bytes of a 4-bit weight with its scale


class Group(NamedTuple):
    """Ranks of one dimension: all, those within reach of the fast link, and how many such islands there are."""

    ranks: Column
    near: Column
    islands: Column


class Traffic(NamedTuple):
    """Seconds of one collective with nothing hidden, and its bytes."""

    time: Column
    bytes: Column
    latency: Column


class Links(NamedTuple):
    """Seconds a byte that collectives need on each link, and latencies in s."""

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


class Route(NamedTuple):
    """What an all-gather or reduce-scatter over a group costs: seconds and bytes on the wire for each byte of the whole, and latency."""

    seconds: Column
    sent: Column
    latency: Column

    def carry(self, nbytes: Column, rounds: Column = 1.0) -> Traffic:
        """The traffic of `nbytes` bytes, in `rounds` collectives' latency."""
        latency = self.latency * rounds
        return Traffic(nbytes * self.seconds + latency, nbytes * self.sent, latency)


def links(batch: Batch, c: TrainingCoefficients) -> Links:
    """Effective link speeds. GPUs without a fast link meet over PCIe, which their network cards sit behind too."""
    linked = batch.gpu.link_bandwidth > 0
    fast: Column = pick(linked, batch.gpu.link_bandwidth, batch.gpu.pcie_bandwidth) * c["link"]
    network = batch.layout.internode_bandwidth * c["nic"]
    network = pick(linked, network, minimum(network, fast))
    return Links(1.0 / fast, 1.0 / network, c["link_latency"], c["nic_latency"], c["rank_latency"])


def _reached(ranks: Column, inner: Column, domain: Column) -> Column:
    """Ranks within reach of the fast link when neighbours of the dimension lie `inner` GPUs apart."""
    return minimum(ranks, maximum(np.floor(domain / inner), 1.0))


def groups(batch: Batch) -> Parallel:
    """Who talks to whom over which link."""
    layout = batch.layout
    node = maximum(pick(batch.gpu.link_bandwidth > 0, batch.gpu.domain, layout.gpus_per_node), 1.0)
    aware = batch.levers.topology_aware > 0
    tp, pp = layout.tp, layout.pp
    replicas = layout.dp * layout.cp
    sharers = tp * replicas  # ranks of one pipeline stage
    expert_ranks = layout.ep * layout.expert_tp
    expert_replicas = maximum(sharers / expert_ranks, 1.0)

    def group(ranks: Column, placed: Column, scattered: Column) -> Group:
        near = _reached(ranks, placed, node)
        if some(np.logical_not(aware)):
            near = pick(aware, near, minimum(near, _reached(ranks, scattered, node)))
        return Group(ranks, near, ranks / near)

    return Parallel(
        tp=group(tp, 1.0, replicas * pp),
        cp=group(layout.cp, tp, pp),
        dp=group(replicas, tp, pp),
        ep=group(layout.ep, layout.expert_tp, pp * expert_replicas),
        expert_dp=group(expert_replicas, expert_ranks, pp),
        pp=group(pp, sharers, 1.0),
    )


def route(group: Group, link: Links, rails: Column = 1.0) -> Route:
    """An all-gather or reduce-scatter in two levels: the network carries one share a near rank where `rails` is 1, all of it where 0."""
    inside = 1.0 - 1.0 / group.near
    across = (1.0 - 1.0 / group.islands) / (1.0 + rails * (group.near - 1.0))
    latency = (link.fast_latency + link.rank_latency * group.near) * (group.near > 1)
    latency = latency + (link.network_latency + link.rank_latency * group.islands) * (group.islands > 1)
    return Route(inside * link.fast + across * link.network, inside + across, latency)


def _first_hops(group: Group, link: Links) -> Column:
    """Latency of one message on each kind of link that the group crosses."""
    return pick(group.ranks > 1, link.fast_latency, 0.0) + pick(group.islands > 1, link.network_latency, 0.0)


def exchanged(nbytes: Column, group: Group, link: Links) -> Traffic:
    """All-to-all in which each rank holds `nbytes` bytes for all ranks."""
    share = nbytes / group.ranks
    inside, across = share * (group.near - 1.0), share * (group.ranks - group.near)
    latency = _first_hops(group, link)
    return Traffic(inside * link.fast + across * link.network + latency, inside + across, latency)


def dispatched(token_bytes: Column, top_k: Column, group: Group, link: Links, far_cost: float) -> Traffic:
    """Tokens of `token_bytes` in all sent to `top_k` experts each: once to every rank that holds one of them (expected
    number, uniform routing), over the network once to every node, whose ranks pass them on."""
    ranks_hit = group.ranks * -np.expm1(top_k * np.log1p(-1.0 / (group.ranks + LONE)))
    islands_hit = group.islands * -np.expm1(top_k * np.log1p(-1.0 / (group.islands + LONE)))
    inside = token_bytes * ranks_hit * (1.0 - 1.0 / group.near)
    across = token_bytes * islands_hit * (1.0 - 1.0 / group.islands)
    latency = _first_hops(group, link)
    return Traffic(inside * link.fast + far_cost * across * link.network + latency, inside + across, latency)


LONE = 1e-9  # keeps the logarithm finite for one rank, whose traffic is none


def exposed(time: Column, window: Column, hidden: Column) -> Column:
    """What is left of `time` when `hidden` of it, as far as `window` reaches, runs behind computation."""
    return time - hidden * minimum(time, window)


class Communication(NamedTuple):
    """Traffic of one micro-batch (layers of one stage, one pass) and of one step. Times in s with nothing hidden."""

    tp: Traffic
    cp: Traffic
    ep: Traffic
    pp: Traffic  # one boundary, one direction
    gather: Traffic  # weights of one pass: ZeRO-3 each micro-batch, ZeRO-1 once a step
    reduce: Traffic  # gradients


def communication(batch: Batch, rates: Rates, shape: Shape, c: TrainingCoefficients) -> Communication:
    """The traffic of a layout."""
    model, layout = batch.model, batch.layout
    parallel, link = groups(batch), links(batch, c)
    token = shape.tokens * model.hidden * BF16
    depth = model.layers / layout.pp
    blocks = 4.0 * depth  # two all-gathers and two reduce-scatters in each layer
    routed = (
        fullest_rank(batch, rates)
        * shape.expert_tokens
        * shape.expert_hidden
        * (BF16 + minimum(rates.element_bytes, BF16))
    )
    dispatch = dispatched(routed, model.top_k, parallel.ep, link, c["dispatch_far"])
    moe = model.moe_layers / layout.pp
    pair = Group(
        minimum(layout.pp, 2.0),
        minimum(parallel.pp.near, 2.0),
        minimum(layout.pp, 2.0) / minimum(parallel.pp.near, 2.0),
    )
    weights, gradients = data_parallel(batch, rates, shape, parallel, link)
    return Communication(
        tp=route(parallel.tp, link).carry(token * blocks, blocks),
        cp=_context_parallel(batch, shape, parallel.cp, link),
        ep=Traffic((dispatch.time + dispatch.latency) * moe, dispatch.bytes * moe, 2.0 * dispatch.latency * moe),
        pp=exchanged(2.0 * token * shape.split, pair, link),
        gather=weights,
        reduce=gradients,
    )


def _context_parallel(batch: Batch, shape: Shape, group: Group, link: Links) -> Traffic:
    """Keys and values of the other ranks' tokens, every full-attention layer of one stage, one pass."""
    model, layout = batch.model, batch.layout
    latent = model.mla_heads * (model.mla_nope_dim + model.mla_rope_dim + model.mla_v_dim)
    width = model.full_layers * model.kv_heads * (model.qk_dim + model.v_dim) + model.mla_layers * latent
    ring = exchanged(shape.tokens * layout.cp * width * (BF16 / (layout.tp * layout.pp)), group, link)
    more = ring.latency * (model.layers / layout.pp - 1.0)
    return Traffic(ring.time + more, ring.bytes, ring.latency + more)


def local_parameters(batch: Batch) -> tuple[Column, Column]:
    """Parameters of the model that one rank computes with: dense ones, experts."""
    model, layout = batch.model, batch.layout
    tables = model.embedding_params + model.lm_head_params
    dense = (model.total_params - model.expert_params - tables) / layout.pp + tables / minimum(layout.pp, 2.0)
    return dense / layout.tp, model.expert_params / (layout.ep * layout.expert_tp * layout.pp)


def adapter_parameters(batch: Batch, shape: Shape) -> Column:
    """Parameters of low-rank adapters on one rank: rank x (inputs + outputs) of each adapted product."""
    model, layout, training = batch.model, batch.layout, batch.training
    assert training is not None
    attention = 2.0 * model.hidden * shape.attention_layers + model.attention_params / model.hidden + shape.core_width
    feed_forward = model.mlp_layers * model.mlp_matrices * (model.hidden + model.mlp_width)
    return training.lora_rank * (attention + feed_forward * (training.lora_targets > 0)) / (layout.tp * layout.pp)


def data_parallel(batch: Batch, rates: Rates, shape: Shape, parallel: Parallel, link: Links) -> tuple[Traffic, Traffic]:
    """Weights gathered for one pass and gradients reduced, over the ranks that share them."""
    training, layout, levers = batch.training, batch.layout, batch.levers
    assert training is not None
    dense, experts = local_parameters(batch)
    trained = shape.trained
    plain = pick(training.gradient_dtype > 0, BF16_GRADIENT, FP32_GRADIENT)
    gradient = pick(levers.gradient_compression > 0, COMPRESSED, plain)
    # Frozen weights lie in the format that they are multiplied in.
    frozen = pick(trained > 0, BF16, minimum(rates.element_bytes, BF16))
    stored = pick(training.method == QLORA, NF4, frozen)
    sharded = layout.zero_stage >= 3
    # ZeRO-3 gathers what is stored; ZeRO-1 and 2 only what the optimizer changed; without sharding gradients are all-reduced: twice.
    kept = pick(sharded, stored, BF16 * trained * (layout.zero_stage >= 1))
    reduced = gradient * pick(layout.zero_stage >= 1, 1.0, 2.0)
    ways = (
        route(parallel.dp, link, levers.hierarchical_allreduce),
        route(parallel.expert_dp, link, levers.hierarchical_allreduce),
    )
    changed = trained * dense + (1.0 - trained) * adapter_parameters(batch, shape)
    weights = _sum(ways[0].carry(dense * kept), ways[1].carry(experts * kept))
    return weights, _sum(ways[0].carry(changed * reduced), ways[1].carry(trained * experts * reduced))


def _sum(first: Traffic, second: Traffic) -> Traffic:
    return Traffic(first.time + second.time, first.bytes + second.bytes, first.latency + second.latency)
