"""What a sequence occupies in a KV cache, by the rules of the engine's allocator.

vLLM with its hybrid allocator: layers of a kind form groups of equal size (padded up), a block of one group is `size x page` bytes, and a
sequence takes blocks of every group: all of its tokens in full-attention groups, window - 1 + max_num_batched_tokens in windowed ones (and
one block more, for a window starts anywhere), one block in recurrent groups. Pages of different kinds are made equal by longer blocks.
Before, and where it cannot, every windowed layer is charged as a full one. Other engines are charged what they hold, in blocks of 16.
Sources: docs/algorithms/memory.md.
"""

from typing import Any, NamedTuple

import numpy as np

from roofline.codes import ENGINES
from roofline.columns import Batch
from roofline.memory.shards import Stage, heads_share
from roofline.precision import KV_BYTES

Column = Any
BLOCK = 16.0  # tokens
VLLM = ENGINES.index("vllm")
SGLANG = ENGINES.index("sglang")
HYBRID_SINCE = 2025.5  # vLLM 0.10: groups of layers instead of all layers alike
MIXED_PAGES_SINCE = 2026.45  # vLLM 0.21: windowed and full layers whose tokens differ in size (Gemma-4)
INDEXER_SCALE = 132 / 256  # sparse-attention indexers keep 128 fp8 values and an fp32 scale
SPARSE_LATENT_EXTRA = 80.0  # bytes: fp8 latent cache of sparse attention keeps rope in 16 bit and four fp32 scales
NEAR_EQUAL = 1.25  # groups as large as the larger kind where kinds differ by less


def since(year: Column, date: float) -> Column:
    """Whether software is as new as `date`; what has no date is taken to be current."""
    return np.logical_not(year < date)


class Cache(NamedTuple):
    """KV cache of one GPU of the heaviest pipeline stage. Bytes."""

    full_token: Column  # grows without bound, one token
    window_token: Column  # one token inside the window
    state: Column  # one sequence, whatever its length
    block: Column  # the allocator's unit
    full_blocks: Column  # groups of full-attention layers over tokens of a block: blocks for each token; 0 if not grouped
    full_block_tokens: Column
    window_groups: Column
    window_block_tokens: Column
    state_groups: Column
    window: Column  # tokens that a windowed layer may hold
    grouped: Column  # bool: hybrid allocator


def _layer_bytes(batch: Batch, element: Column) -> tuple[Column, Column, Column]:
    """Bytes of one token in one layer on one GPU: full, windowed, latent attention."""
    model, tp = batch.model, batch.layout.tp
    full = heads_share(model.kv_heads, tp) * model.kv_heads * (model.qk_dim + model.v_dim) * element
    window = heads_share(model.window_kv_heads, tp) * model.window_kv_heads * (model.window_qk_dim + model.window_v_dim) * element
    sparse = (model.indexer_layers > 0) & (element < 2)
    latent = (model.mla_kv_rank + model.mla_rope_dim) * element + sparse * SPARSE_LATENT_EXTRA
    return full, window, latent


def cache(batch: Batch, heaviest: Stage) -> Cache:
    """Token, block and state bytes for the columns of `batch` (needs `batch.serving`)."""
    model, layout, load = batch.model, batch.layout, batch.serving
    assert load is not None
    share = heaviest.layers / model.layers / layout.cp
    full, window, latent = _layer_bytes(batch, KV_BYTES[load.kv_cache])
    stage_share = heaviest.layers / model.layers
    full_layers = np.ceil((model.full_kv_layers + model.mla_layers) * stage_share)
    window_layers = np.ceil(model.window_kv_layers * stage_share)
    state_layers = np.ceil(model.recurrent_layers * stage_share)
    indexer = model.kv_indexer_bytes_per_token * INDEXER_SCALE
    full_token = (model.full_kv_layers * full + model.mla_layers * latent + indexer) * share
    window_token = model.window_kv_layers * window * share
    state_layer = model.recurrent_state_bytes / layout.tp
    full_layer = full_token / np.maximum(full_layers, 1.0)
    window_layer = window_token / np.maximum(window_layers, 1.0)

    has_full, has_window, has_state = full_layers > 0, window_layers > 0, state_layers > 0
    old = load.engine_year < HYBRID_SINCE
    mixed = has_full & has_window & (np.abs(full_layer - window_layer) > 1.0) & (load.engine_year < MIXED_PAGES_SINCE)
    vllm = load.engine == VLLM
    flat = vllm & (old | mixed)  # windows charged as full attention
    grouped = np.logical_not(flat) & vllm & ((has_full & has_window) | has_state)
    full_token = full_token + flat * window_token
    window_token = np.where(flat, 0.0, window_token)
    fewest = np.minimum(np.where(has_full, full_layers, np.inf), np.minimum(np.where(has_window, window_layers, np.inf), np.where(has_state, state_layers, np.inf)))
    most = np.maximum(full_layers, np.maximum(window_layers, state_layers))
    size = np.where(most < NEAR_EQUAL * fewest, most, fewest)
    largest_other = np.maximum(BLOCK * window_layer, has_state * state_layer)
    full_block = BLOCK * np.maximum(np.ceil(largest_other / np.maximum(BLOCK * full_layer, 1.0) - 1e-9), 1.0)
    page = np.maximum(full_block * full_layer, largest_other)
    window_block = BLOCK * np.maximum(np.floor(page / np.maximum(BLOCK * window_layer, 1.0) + 1e-9), 1.0)
    return Cache(
        full_token=full_token,
        window_token=window_token,
        state=state_layer * model.recurrent_layers * share * layout.cp,
        block=np.where(grouped, size * page, np.maximum(BLOCK * (full_token + window_token), 1.0)),
        full_blocks=np.ceil(full_layers / size),
        full_block_tokens=np.where(grouped, full_block, BLOCK),
        window_groups=np.ceil(window_layers / size),
        window_block_tokens=window_block,
        state_groups=np.ceil(state_layers / size),
        window=np.where(vllm, model.window - 1 + load.max_num_batched_tokens, model.window),
        grouped=grouped,
    )


def sequence_bytes(held: Cache, tokens: Column) -> Column:
    """Bytes that one sequence of `tokens` tokens occupies on one GPU, rounded up to whole blocks."""
    inside = np.minimum(tokens, held.window)
    full_blocks = np.ceil(tokens / held.full_block_tokens)
    window_blocks = np.ceil(inside / held.window_block_tokens) + 1
    blocks = held.full_blocks * full_blocks + held.window_groups * window_blocks + held.state_groups
    plain = BLOCK * (full_blocks * held.full_token + np.ceil(inside / BLOCK) * held.window_token) + held.state
    return np.where(held.grouped, blocks * held.block, plain)
