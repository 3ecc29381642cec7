"""Attention kernels on one GPU: prefill over new tokens, decode over a KV cache."""

from typing import NamedTuple

import numpy as np

from roofline.ceilings import Column, OpTime, overlapped

QUERY_TILE = 128.0  # query rows that one thread block works on
WINDOW_EDGE = 64.0  # keys of a half-used page at the far end of a window


class PrefillCoefficients(NamedTuple):
    """Measured behaviour of a prefill attention kernel."""

    eta_compute: Column  # share of the tensor peak
    eta_memory: Column  # share of the memory bandwidth
    overlap: Column  # 0 perfect, 1 none
    launch: Column  # s
    softmax_dims: Column  # cost of the softmax of one score, in units of head dimensions
    block: Column  # s of fixed cost for each block of 128 query rows, on one SM
    diagonal: Column  # share of the masked half of tiles at the mask's edges that is computed all the same
    tail: Column  # share of the longest block's time that the rest of the grid does not hide
    packed: Column  # 1: query heads of one KV head share blocks; 0: a block for each head
    unskipped: Column  # share of the keys outside the window that is computed all the same


class DecodeCoefficients(NamedTuple):
    """Measured behaviour of a decode attention kernel."""

    eta_compute: Column
    eta_memory: Column
    overlap: Column  # 0 perfect, 1 none
    launch: Column  # s
    block: Column  # s of a block's start and end on its SM, for each block beyond the first
    block_dim: Column  # s of it more for each 128 head dimensions
    block_head: Column  # s of it more for each query head of the block and 128 head dimensions
    head_step: Column  # s for each query head of a block and 128 dimensions, hidden by nothing: a block takes one after the other
    heads_per_block: Column  # query heads of one KV head that share a block; 1: each has its own
    length_step: Column  # s for each doubling of the context beyond 128 tokens
    key_step: Column  # s for each key of the context: the part of the loop over keys that no splitting hides
    dim_step: Column  # s for each 128 head dimensions
    query_padding: Column  # rows added to the query heads of one KV head to fill a tile
    key_padding: Column  # keys added to the context to fill a tile
    warm_bytes: Column = 1.0  # repeated calls find about this much in the L2 cache …
    warm_speed: Column = 1.0  # … and read it this many times faster than from memory


def causal_pairs(new: Column, cached: Column = 0.0, window: Column = np.inf) -> Column:
    """Query-key pairs that a causal mask leaves of one sequence: `new` tokens after `cached` ones, each seeing at most `window` keys.

    >>> float(causal_pairs(4.0))
    10.0
    """
    ramp = np.minimum(np.maximum(window - cached, 0.0), new)  # queries whose context is still shorter than the window
    return ramp * (cached + 0.5 * (ramp + 1.0)) + (new - ramp) * np.minimum(window, cached + new)


def attention_prefill(
    batch: Column,
    new: Column,
    *,
    heads: Column,
    kv_heads: Column,
    qk_dim: Column,
    v_dim: Column,
    kv_bytes: Column,
    peak: Column,
    bandwidth: Column,
    sms: Column,
    coef: PrefillCoefficients,
    cached: Column = 0.0,
    window: Column = np.inf,
    act_bytes: Column = 2.0,
) -> OpTime:
    """Time of causal attention of `batch` sequences of `new` tokens each, after `cached` tokens (prefix hit or earlier chunk).

    MLA in prefill: kv_heads = heads, qk_dim = nope + rope, v_dim its own. `act_bytes` is bytes per element of the queries,
    `kv_bytes` of the KV cache; `peak` the dense FLOP/s of the compute type. FLOPs are causal: 2 (qk_dim + v_dim) a pair and head.
    """
    pairs = causal_pairs(new, cached, window)
    dims = qk_dim + v_dim
    work = batch * heads
    # Tiles at the diagonal are computed whole, as are those at the window's far edge; some kernels loop over all keys and mask.
    edges = np.where(window < new + cached, QUERY_TILE, 0.5 * QUERY_TILE)
    masked = new * (cached + 0.5 * (new + 1.0)) - pairs
    visited = np.minimum(
        pairs + coef.diagonal * edges * new + coef.unskipped * masked,
        pairs
        + masked
        + coef.diagonal * (0.5 * QUERY_TILE) * new,  # without a window: it saves nothing where it cuts little
    )
    rate = peak * coef.eta_compute
    per_pair = 2.0 * (dims + 2.0 * coef.softmax_dims)
    longest = QUERY_TILE * np.minimum(new + cached, window + QUERY_TILE) * sms
    compute = per_pair * (work * visited + coef.tail * longest) / rate
    keys = np.minimum(new + cached, window + new)
    moved = batch * (heads * new * (qk_dim * act_bytes + 2.0 * v_dim) + kv_heads * keys * dims * kv_bytes)
    memory = moved / (bandwidth * coef.eta_memory)
    tiles = new * (1.0 / QUERY_TILE)
    separate = work * np.ceil(tiles)
    blocks = separate + coef.packed * (batch * kv_heads * np.ceil(tiles * (heads / kv_heads)) - separate)
    latency = coef.launch + coef.block * blocks / sms
    return OpTime(
        overlapped(compute, memory, coef.overlap) + latency, 2.0 * work * dims * pairs, moved, compute, memory, latency
    )


def attention_decode(
    batch: Column,
    context: Column,
    *,
    heads: Column,
    kv_heads: Column,
    qk_dim: Column,
    v_dim: Column,
    kv_bytes: Column,
    peak: Column,
    bandwidth: Column,
    sms: Column,
    coef: DecodeCoefficients,
    window: Column = np.inf,
    kv_width: Column | None = None,
    warm: bool = False,
) -> OpTime:
    """Time of attention of one new token for each of `batch` sequences over a cache of `context` tokens (the new one included).

    `kv_width` is the number of cached elements for each token and KV head: qk_dim + v_dim unless given. MLA absorbed: kv_heads = 1,
    qk_dim = kv_rank + rope, v_dim = kv_rank, kv_width = kv_rank + rope (values are part of the keys). `warm` prices a benchmark
    that repeats one call on the same buffers, so that a small cache comes out of L2; a model's layers never find theirs there.
    """
    dims = qk_dim + v_dim
    width = dims if kv_width is None else kv_width
    # A window that starts inside a page or tile reads the whole of it.
    keys = np.minimum(context, window + WINDOW_EDGE)
    work = batch * heads
    groups = batch * kv_heads
    moved = groups * keys * width * kv_bytes + 2.0 * work * dims
    if warm:
        bandwidth = bandwidth * (1.0 + (coef.warm_speed - 1.0) / (1.0 + (moved / coef.warm_bytes) ** 4))
    padded = (work + groups * coef.query_padding) * (keys + coef.key_padding)
    group = heads / kv_heads
    inside = np.minimum(group, coef.heads_per_block)
    size = dims * (1.0 / 256.0)
    # Blocks that wait for an SM: their starts and ends hide behind the memory traffic of the others, as arithmetic does.
    waiting = np.maximum(work / (inside * sms), 1.0) - 1.0
    turns = (coef.block + (coef.block_dim + coef.block_head * inside) * size) * waiting
    compute = 2.0 * dims * padded / (peak * coef.eta_compute)
    memory = moved / (bandwidth * coef.eta_memory)
    steps = coef.length_step * np.log2(1.0 + keys * (1.0 / 128.0)) + coef.key_step * keys
    latency = coef.launch + steps + (coef.dim_step + coef.head_step * inside) * size
    flops = 2.0 * work * dims * np.minimum(context, window)
    time = overlapped(compute + turns, memory, coef.overlap) + latency
    return OpTime(time, flops, moved, compute, memory, latency + turns)
