"""Attention kernels on one GPU: prefill over new tokens, decode over a KV cache."""

from typing import NamedTuple

import numpy as np

from roofline.ceilings import Column, OpTime, overlapped

QUERY_TILE = 128.0  # query rows that one thread block works on


class PrefillCoefficients(NamedTuple):
    """Measured behaviour of a prefill attention kernel."""

    eta_compute: Column  # share of the tensor peak
    eta_memory: Column  # share of the memory bandwidth
    overlap: Column  # 0 perfect, 1 none
    launch: Column  # s
    softmax_dims: Column  # cost of the softmax of one score, in units of head dimensions
    block: Column  # s of fixed cost for each block of 128 queries of one head, on one SM
    diagonal: Column  # share of the masked half of diagonal tiles that is computed all the same


class DecodeCoefficients(NamedTuple):
    """Measured behaviour of a decode attention kernel."""

    eta_compute: Column
    eta_memory: Column
    overlap: Column
    launch: Column  # s
    kv_head_block: Column  # s of fixed cost for each sequence and KV head, on one SM
    head_block: Column  # s of fixed cost for each sequence and query head, on one SM
    length_step: Column  # s for each doubling of the context beyond 128 tokens


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

    MLA in prefill: kv_heads = heads, qk_dim = nope + rope, v_dim its own. `act_bytes` is bytes per element of the queries, `kv_bytes` of the KV
    cache; `peak` the dense FLOP/s of the compute type. FLOPs are causal: 2 (qk_dim + v_dim) a pair and head.
    """
    pairs = causal_pairs(new, cached, window)
    dims = qk_dim + v_dim
    work = batch * heads
    visited = pairs + coef.diagonal * (0.5 * QUERY_TILE) * new
    compute = 2.0 * work * (dims + 2.0 * coef.softmax_dims) * visited / (peak * coef.eta_compute)
    keys = np.minimum(new + cached, window + new)
    moved = batch * (heads * new * (qk_dim * act_bytes + 2.0 * v_dim) + kv_heads * keys * dims * kv_bytes)
    memory = moved / (bandwidth * coef.eta_memory)
    latency = coef.launch + coef.block * work * np.ceil(new * (1.0 / QUERY_TILE)) / sms
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
) -> OpTime:
    """Time of attention of one new token for each of `batch` sequences over a cache of `context` tokens (the new one included).

    `kv_width` is the number of cached elements for each token and KV head: qk_dim + v_dim unless given. MLA absorbed: kv_heads = 1,
    qk_dim = kv_rank + rope, v_dim = kv_rank, kv_width = kv_rank + rope (values are part of the keys).
    """
    dims = qk_dim + v_dim
    width = dims if kv_width is None else kv_width
    keys = np.minimum(context, window)
    work = batch * heads
    flops = 2.0 * work * dims * keys
    moved = batch * kv_heads * keys * width * kv_bytes + 2.0 * work * dims
    compute = flops / (peak * coef.eta_compute)
    memory = moved / (bandwidth * coef.eta_memory)
    blocks = batch * (coef.kv_head_block * kv_heads + coef.head_block * heads) / sms
    latency = coef.launch + blocks + coef.length_step * np.log2(1.0 + keys * (1.0 / 128.0))
    return OpTime(overlapped(compute, memory, coef.overlap) + latency, flops, moved, compute, memory, latency)
