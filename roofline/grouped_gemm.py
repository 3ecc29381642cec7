"""Mixture-of-experts feed-forward on one GPU: grouped GEMM over the experts that the tokens reach."""

from typing import NamedTuple

import numpy as np

from roofline.ceilings import Column, OpTime, overlapped


class MoeCoefficients(NamedTuple):
    """Measured behaviour of a grouped-GEMM kernel with its permutation and activation passes."""

    eta_compute: Column
    eta_memory: Column
    overlap: Column
    launch: Column  # s of all kernels of the layer
    permute_passes: Column  # passes over the routed hidden states (gather, scatter, combine), 16 bit
    tile_rows: Column  # rows that one expert is padded to
    skew: Column  # the busiest rank's rows, per unit of the routing's power-law exponent, above the mean
    expert: Column  # s for each expert that is touched
    all_rows_passes: Column  # passes over the rows of all ranks' experts: kernels that step over what is not theirs
    warm_bytes: Column  # repeated calls find weights of up to about this size in the L2 cache …
    warm_speed: Column  # … and read them this many times faster than from memory


def expected_experts(tokens: Column, experts: Column, top_k: Column) -> Column:
    """Experts that `tokens` tokens reach on expectation, `top_k` of `experts` each, uniform routing: E (1 - (1 - k/E)^T).

    >>> round(float(expected_experts(8, 256, 8)))
    57
    """
    return experts * -np.expm1(tokens * np.log1p(-np.minimum(top_k / experts, 1.0 - 1e-9)))


def moe(
    tokens: Column,
    *,
    hidden: Column,
    width: Column,
    experts: Column,
    top_k: Column,
    ep: Column,
    tp: Column,
    weight_bytes: Column,
    peak: Column,
    bandwidth: Column,
    coef: MoeCoefficients,
    matrices: Column = 3.0,
    skew: Column = 0.0,
    warm: bool = False,
) -> OpTime:
    """Time on the busiest rank of routed experts for `tokens` tokens of the whole expert-parallel group.

    Experts of `width` (`matrices` 3 if gated, else 2) spread over `ep` ranks and are cut `tp` ways. `skew` is the exponent of the power-law
    popularity of experts (0: balanced). `peak` is the FLOP/s of the compute type, `weight_bytes` bytes per weight as stored.
    `warm` prices a benchmark that repeats one call on the same buffers.
    """
    imbalance = 1.0 + coef.skew * skew * (1.0 - 1.0 / ep)
    rows = tokens * top_k / ep * imbalance
    touched = np.minimum(expected_experts(tokens, experts, top_k) / ep, rows)
    expert_weights = matrices * hidden * width / tp
    padded = rows + touched * coef.tile_rows * 0.5
    compute = 2.0 * padded * expert_weights / (peak * coef.eta_compute)
    moved = touched * expert_weights * weight_bytes + 4.0 * rows * hidden
    stream = bandwidth * coef.eta_memory
    if warm:
        stream = stream * (1.0 + (coef.warm_speed - 1.0) / (1.0 + (moved / coef.warm_bytes) ** 4))
    memory = moved / stream
    passes = coef.permute_passes * (tokens + rows) * hidden + coef.all_rows_passes * (tokens * top_k) * (
        hidden + width / tp
    )
    latency = coef.launch + coef.expert * touched + 2.0 * passes / bandwidth
    return OpTime(
        overlapped(compute, memory, coef.overlap) + latency,
        2.0 * rows * expert_weights,
        moved,
        compute,
        memory,
        latency,
    )
