"""Which part of a model one GPU holds: tensor, expert and pipeline parallelism on the parameters.

Tensor parallelism divides projections, feed-forwards, embedding and head by t, but K and V projections only as far as
there are KV heads, and neither the down-projections of latent attention nor norms, routers and other vectors. Routed
experts have a divisor of their own. Pipeline stages are compared by what they hold: the first has the embedding, the
last the head, and a stage in the middle may have one layer more. Sources: docs/algorithms/memory.md.

Choices between two values are written as sums weighted by 0 and 1: on scalars as on columns that is several times
faster than `np.where`.
"""

from typing import Any, NamedTuple

import numpy as np

from roofline.columns import Layout, Model
from roofline.selection import indicator, maximum, minimum, pick

Column = Any


class Shard(NamedTuple):
    """Parameters on one GPU of the heaviest pipeline stage, by how they are stored."""

    attention: Column  # projections of attention
    feed: Column  # dense and shared feed-forwards
    experts: Column  # routed
    recurrent: Column
    table: Column  # embedding
    head: Column
    rest: Column  # norms, routers, vision, vectors: 16 bit in every format

    def total(self) -> Column:
        """All of them."""
        return self.attention + self.feed + self.experts + self.recurrent + self.table + self.head + self.rest


class Stage(NamedTuple):
    """Layers of the heaviest pipeline stage, and whether embedding and head are on it (1 or 0)."""

    layers: Column
    has_table: Column
    has_head: Column


class KvHeads(NamedTuple):
    """KV heads on one rank: one t-th, rounded up; every rank has a copy where there are fewer heads than ranks."""

    full: Column
    window: Column


def stage(model: Model, pp: Column, virtual: Column = None) -> Stage:
    """The heaviest stage: the first, with the embedding, unless a middle one has a layer more that outweighs it.

    `virtual` (training): chunks of a stage. Where layers do not divide evenly over the chunks but do with two more,
    embedding and head count as a layer each (126 layers on 8 stages of 8 chunks: 15 on the first, 16 inside).
    """
    layers = model.layers
    per = np.floor(layers / pp)
    left = layers - per * pp
    uneven = indicator(left > 0)
    first, middle = per + uneven * (left == pp - 1), per + uneven
    if virtual is not None:
        chunks = pp * virtual
        padded = (left > 0) & ((layers + 2) / chunks == np.floor((layers + 2) / chunks))
        first = pick(padded, (layers + 2) / pp - 1, first)
        middle = pick(padded, first + 1, middle)
    table, head = model.embedding_params, model.lm_head_params
    one_layer = (model.total_params - table - head) / layers
    inside = ((middle - first) * one_layer > maximum(table, head)) & (pp > 1)
    return Stage(pick(inside, middle, first), 1.0 - indicator(inside), indicator(pp == 1))


def kv_heads(model: Model, tp: Column) -> KvHeads:
    """KV heads that one of `tp` ranks keeps."""
    return KvHeads(np.ceil(model.kv_heads / tp), np.ceil(model.window_kv_heads / tp))


def replicated_latent_params(model: Model) -> Column:
    """Down-projections of latent attention and its indexer: whole on every tensor-parallel rank."""
    down = model.mla_layers * model.hidden * (model.mla_q_rank + model.mla_kv_rank + model.mla_rope_dim)
    query = model.mla_q_rank * model.indexer_heads * model.indexer_dim
    return down + model.indexer_layers * (query + model.hidden * (model.indexer_dim + model.indexer_heads))


def shard(model: Model, layout: Layout, expert_shards: Column, heaviest: Stage, heads: KvHeads) -> Shard:
    """Parameters on one GPU of the stage `heaviest`. Routed experts are divided by `expert_shards`."""
    tp, n, every = layout.tp, heaviest.layers, model.layers
    share = n / every
    full = model.full_layers * (model.qk_dim + model.v_dim)
    window = model.window_layers * (model.window_qk_dim + model.window_v_dim)
    kv = model.hidden * (full * model.kv_heads + window * model.window_kv_heads)
    kv_here = model.hidden * (full * heads.full + window * heads.window)
    latent = replicated_latent_params(model)
    attention = (model.attention_params - kv - latent) / tp + kv_here + latent
    moe, mlp = model.moe_layers, model.mlp_layers
    # Where every layer has a feed-forward, dense layers come first and the heaviest stage is made of MoE layers.
    stacked = indicator(moe + mlp >= every)
    moe_here = share * moe + stacked * (minimum(n, moe) - share * moe)
    moe_share = moe_here / (moe + (moe == 0))
    mlp_share = share + stacked * ((n - moe_here) / (mlp + (mlp == 0)) - share)
    # Tied tables are counted once, as embedding.
    tables = model.embedding_params + model.lookup_params
    norms = (model.norm_params + model.other_params) * share
    return Shard(
        attention=attention * share,
        feed=(model.mlp_params * mlp_share + model.shared_expert_params * moe_share) / tp,
        experts=model.expert_params * moe_share / expert_shards,
        recurrent=model.recurrent_params * share / tp,
        table=tables * heaviest.has_table / tp,
        head=model.lm_head_params * heaviest.has_head / tp,
        rest=norms + model.router_params * moe_share + model.vision_params * heaviest.has_table / tp,
    )
