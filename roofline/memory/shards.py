"""Which part of a model one GPU holds: tensor, expert and pipeline parallelism on the parameters.

Tensor parallelism divides projections, feed-forwards, embedding and head by t, but K and V projections only as far as there are KV heads, and
neither the down-projections of latent attention nor norms, routers and other vectors. Routed experts have a divisor of their own. Pipeline
stages are compared by what they hold: the first has the embedding, the last the head, and a stage in the middle may have one layer more.
Sources: docs/algorithms/memory.md.
"""

from typing import Any, NamedTuple

import numpy as np

from roofline.columns import Layout, Model

Column = Any


class Shard(NamedTuple):
    """Parameters on one GPU of the heaviest pipeline stage, by how they are stored."""

    attention: Column  # projections
    feed: Column  # dense and shared feed-forwards
    experts: Column  # routed
    recurrent: Column
    table: Column  # embedding
    head: Column
    rest: Column  # norms, routers, vision, learned positions …: 16 bit in every format

    def total(self) -> Column:
        """All of them."""
        return self.attention + self.feed + self.experts + self.recurrent + self.table + self.head + self.rest


class Stage(NamedTuple):
    """Layers of the heaviest pipeline stage, and whether embedding and head are on it (1 or 0)."""

    layers: Column
    has_table: Column
    has_head: Column


def stage(model: Model, pp: Column, virtual: Column = 1.0) -> Stage:
    """The heaviest stage: the first, with the embedding, unless layers left over make a middle one heavier than embedding or head."""
    chunks = pp * virtual
    per = np.floor(model.layers / pp)
    left = model.layers - per * pp
    # 126 layers on 8 stages of 8 chunks: embedding and head count as a layer each, so that every chunk is as long.
    padded = (left > 0) & (np.mod(model.layers + 2, chunks) == 0)
    first = np.where(padded, (model.layers + 2) / pp - 1, per + ((left == pp - 1) & (left > 0)))
    middle = np.where(padded, first + 1, per + (left > 0))
    one_layer = (model.total_params - model.embedding_params - model.lm_head_params) / model.layers
    middle_wins = (middle - first) * one_layer > np.maximum(model.embedding_params, model.lm_head_params)
    single = pp == 1
    layers = np.where(single, model.layers, np.where(middle_wins, middle, first))
    ends = np.where(single, 1.0, np.logical_not(middle_wins))
    return Stage(layers, ends, np.where(single, 1.0, 0.0))


def kv_projection_params(model: Model) -> Column:
    """K and V projections of all attention layers that are not latent."""
    full = model.full_layers * model.kv_heads * (model.qk_dim + model.v_dim)
    window = model.window_layers * model.window_kv_heads * (model.window_qk_dim + model.window_v_dim)
    return model.hidden * (full + window)


def replicated_latent_params(model: Model) -> Column:
    """Down-projections of latent attention and its indexer: whole on every tensor-parallel rank."""
    down = model.mla_layers * model.hidden * (model.mla_q_rank + model.mla_kv_rank + model.mla_rope_dim)
    query = model.mla_q_rank * model.indexer_heads * model.indexer_dim
    return down + model.indexer_layers * (query + model.hidden * (model.indexer_dim + model.indexer_heads))


def heads_share(kv_heads: Column, tp: Column) -> Column:
    """Share of the KV heads on one rank: 1 / t, and never less than one head."""
    return np.maximum(np.ceil(kv_heads / tp), 1.0) / np.maximum(kv_heads, 1.0)


def shard(model: Model, layout: Layout, expert_shards: Column, heaviest: Stage) -> Shard:
    """Parameters on one GPU of the stage `heaviest`. Routed experts are divided by `expert_shards`."""
    tp, n, every = layout.tp, heaviest.layers, model.layers
    share = n / every
    kv, latent = kv_projection_params(model), replicated_latent_params(model)
    kv_heads = np.maximum(model.kv_heads, model.window_kv_heads)
    attention = (model.attention_params - kv - latent) / tp + kv * heads_share(kv_heads, tp) + latent
    # Where every layer has a feed-forward, dense layers come first and the heaviest stage is made of MoE layers.
    stacked = model.moe_layers + model.mlp_layers >= every
    moe_layers = np.where(stacked, np.minimum(n, model.moe_layers), share * model.moe_layers)
    mlp_layers = np.where(stacked, n - moe_layers, share * model.mlp_layers)
    moe_share = moe_layers / np.maximum(model.moe_layers, 1.0)
    mlp_share = mlp_layers / np.maximum(model.mlp_layers, 1.0)
    # A stage that is both first and last holds a tied table once; the columns count it once, too.
    tables = model.embedding_params + model.lookup_params
    return Shard(
        attention=attention * share,
        feed=(model.mlp_params * mlp_share + model.shared_expert_params * moe_share) / tp,
        experts=model.expert_params * moe_share / expert_shards,
        recurrent=model.recurrent_params * share / tp,
        table=tables * heaviest.has_table / tp,
        head=model.lm_head_params * heaviest.has_head / tp,
        rest=(model.norm_params + model.other_params) * share + model.router_params * moe_share + model.vision_params * heaviest.has_table / tp,
    )
