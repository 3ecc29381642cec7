"""What a sequence occupies in a KV cache, by the rules of the engine's allocator.

vLLM with its hybrid allocator: layers of a kind form groups of equal size (padded up), a block of one group is `size x
page` bytes, and a sequence takes blocks of every group: all of its tokens in full-attention groups, window - 1 +
max_num_batched_tokens in windowed ones (and one block more, for a window starts anywhere), one block in recurrent
groups. Pages of different kinds are made equal by longer blocks. Before, and where it cannot, every windowed layer is
charged as a full one. Other engines are charged what they hold, in blocks of 16. Sources: docs/algorithms/memory.md.
"""

from typing import Any, NamedTuple

import numpy as np

from roofline.codes import ENGINES
from roofline.columns import Batch
from roofline.memory.shards import KvHeads, Stage
from roofline.precision import KV_BYTES
from roofline.selection import maximum, minimum

Column = Any
BLOCK = 16.0  # tokens
VLLM = ENGINES.index("vllm")
HYBRID_SINCE = 2025.5  # vLLM 0.10: groups of layers instead of all layers alike
MIXED_PAGES_SINCE = 2026.45  # vLLM 0.21: windowed and full layers whose tokens differ in size (Gemma-4)
INDEXER_SCALE = 132 / 256  # sparse-attention indexers keep 128 fp8 values and an fp32 scale
SPARSE_LATENT_EXTRA = 80.0  # bytes: the fp8 latent cache of sparse attention keeps rope in 16 bit and four fp32 scales
NEAR_EQUAL = 1.25  # groups as large as the larger kind where kinds differ by less
ABSENT = 1e9  # layers: no minimum takes it
ROUNDING = 1e-9


class Cache(NamedTuple):
    """KV cache of one GPU of the heaviest pipeline stage. Bytes unless said otherwise."""

    full_token: Column  # grows without bound, one token
    window_token: Column  # one token inside the window
    state: Column  # one sequence, whatever its length
    block: Column  # the allocator's unit
    full_groups: Column
    full_block_tokens: Column
    window_groups: Column
    window_block_tokens: Column
    state_groups: Column
    window: Column  # tokens that a windowed layer may hold
    grouped: Column  # bool: hybrid allocator


def since(year: Column, date: float) -> Column:
    """1 where software is as new as `date` or has no date, else 0."""
    return 1.0 - (year < date)


def cache(batch: Batch, heaviest: Stage, heads: KvHeads) -> Cache:
    """Token, block and state bytes for the columns of `batch` (needs `batch.serving`)."""
    model, layout, load = batch.model, batch.layout, batch.serving
    assert load is not None
    element = KV_BYTES[load.kv_cache]
    share = heaviest.layers / model.layers
    full_layers = (model.full_kv_layers + model.mla_layers) * share
    window_layers, state_layers = model.window_kv_layers * share, model.recurrent_layers * share
    latent = (model.mla_kv_rank + model.mla_rope_dim) * element
    latent = latent + SPARSE_LATENT_EXTRA * (model.indexer_layers > 0) * (element < 2)
    of_full = model.full_kv_layers * heads.full * (model.qk_dim + model.v_dim) * element + model.mla_layers * latent
    context_share = share / layout.cp
    full_token = (of_full + model.kv_indexer_bytes_per_token * INDEXER_SCALE) * context_share
    window_dims = model.window_qk_dim + model.window_v_dim
    window_token = model.window_kv_layers * heads.window * window_dims * element * context_share
    state_layer = model.recurrent_state_bytes / layout.tp

    no_full, no_window, no_state = full_layers == 0, window_layers == 0, state_layers == 0
    full_layer, window_layer = full_token / (full_layers + no_full), window_token / (window_layers + no_window)
    vllm = load.engine == VLLM
    # Windows charged as full attention: releases without groups, and pages of two sizes before they could be mixed.
    unequal = (abs(full_layer - window_layer) > 1.0) & (load.engine_year < MIXED_PAGES_SINCE)
    flat = vllm & ((load.engine_year < HYBRID_SINCE) | unequal) & (full_layers > 0) & (window_layers > 0)
    kinds = 3.0 - no_full - no_window - no_state
    grouped = vllm & (kinds - flat > 1.0)
    full_token = full_token + flat * window_token
    window_token = window_token * (1.0 - flat)
    plain = full_token + window_token
    block, *groups = _groups(
        (full_layers, window_layers, state_layers), (full_layer, window_layer, state_layer), grouped, plain
    )
    full_groups, full_tokens, window_groups, window_tokens, state_groups = groups
    return Cache(
        full_token=full_token,
        window_token=window_token,
        state=state_layer * state_layers,
        block=block,
        full_groups=full_groups,
        full_block_tokens=full_tokens,
        window_groups=window_groups,
        window_block_tokens=window_tokens,
        state_groups=state_groups,
        window=model.window + vllm * (load.max_num_batched_tokens - 1.0),
        grouped=grouped,
    )


def _groups(
    layers: tuple[Column, Column, Column], each: tuple[Column, Column, Column], grouped: Column, plain: Column
) -> tuple[Column, ...]:
    """Block bytes, and groups and tokens of a block by kind.

    `layers` and bytes of `each`: full, windowed, recurrent. `plain`: bytes of a token where nothing is grouped.
    """
    (full, window, state), (full_layer, window_layer, state_layer) = layers, each
    fewest = minimum(
        minimum(full + ABSENT * (full == 0), window + ABSENT * (window == 0)), state + ABSENT * (state == 0)
    )
    most = maximum(maximum(full, window), state)
    size = fewest + (most < NEAR_EQUAL * fewest) * (most - fewest)
    other = maximum(BLOCK * window_layer, state_layer * (state > 0))
    full_page = BLOCK * full_layer + (full_layer == 0)
    full_block = maximum(np.ceil(other / full_page - ROUNDING), 1.0)
    page = maximum(full_block * BLOCK * full_layer, other)
    window_block = np.floor(page / (BLOCK * window_layer + (window == 0)) + ROUNDING)
    block = grouped * size * page + (1.0 - grouped) * (BLOCK * plain + (plain == 0))
    full_groups, window_groups, state_groups = (np.ceil(count / size - ROUNDING) for count in layers)
    full_tokens = BLOCK * (1.0 + grouped * (full_block - 1.0))
    return block, full_groups, full_tokens, window_groups, BLOCK * window_block, state_groups


def sequence_bytes(held: Cache, tokens: Column) -> Column:
    """Bytes that one sequence of `tokens` tokens occupies on one GPU, rounded up to whole blocks."""
    inside = minimum(tokens, held.window)
    full = np.ceil(tokens / held.full_block_tokens)
    window = np.ceil(inside / held.window_block_tokens) + 1.0
    blocks = held.full_groups * full + held.window_groups * window + held.state_groups
    plain = BLOCK * full * held.full_token + (inside + BLOCK / 2) * held.window_token + held.state
    return held.grouped * blocks * held.block + (1.0 - held.grouped) * plain
