"""Matrix products: time of an (m, k) x (k, n) GEMM on one GPU."""

from typing import NamedTuple

import numpy as np

from roofline.ceilings import Column, OpTime, overlapped

TILE_M = 64.0  # rows of the smallest tensor-core work tile in common use
TILE = 128.0  # side of the output tile that one SM works on


class GemmCoefficients(NamedTuple):
    """Measured behaviour of a GEMM library. Dimensionless shares unless a unit is given."""

    eta_compute: Column  # share of the peak that full waves reach
    eta_memory: Column  # share of the memory bandwidth that streaming reaches
    overlap: Column  # 0: compute and memory overlap perfectly; 1: they add up
    wave: Column  # how much of a half-empty last wave is lost: 0 none, 1 all
    launch: Column  # s, launch and prologue
    wave_step: Column  # s for each doubling of the waves of tiles: their launch and drain
    column_padding: Column  # share of the columns beyond the last whole tile that is computed all the same
    k_step: Column  # s for each square root of k: the serial loop over k, which libraries split when it gets long
    quant_passes: Column  # passes over the activations (read 16 bit, write 8 or 4) that quantise them; 0: none
    output_share: Column  # cost of writing a byte of output, in bytes read: under 1 where L2 absorbs it, over 1 where writes are dear
    warm_bytes: Column = 1.0  # repeated calls find weights of up to about this size in the L2 cache …
    warm_speed: Column = 1.0  # … and read them this many times faster than from memory


def gemm(
    m: Column,
    n: Column,
    k: Column,
    *,
    weight_bytes: Column,
    act_bytes: Column,
    peak: Column,
    bandwidth: Column,
    sms: Column,
    coef: GemmCoefficients,
    out_bytes: Column = 2.0,
    warm: bool = False,
) -> OpTime:
    """Time of (m, k) x (k, n): m tokens through a weight of k inputs and n outputs.

    `weight_bytes`, `act_bytes`, `out_bytes` are bytes per element as stored; `peak` is the dense FLOP/s of the compute type (for
    weight-only formats that of the activations), `bandwidth` bytes/s, `sms` the number of SMs. Rows and columns are padded to tiles
    and tiles to waves; coefficients with `quant_passes` add the kernel that quantises the activations. Never under the roof of the bytes
    it reports. `warm` prices a benchmark that repeats one call on the same buffers, so that small weights come out of L2; a
    model's layers never find theirs there.
    """
    weights = k * n
    rows = np.ceil(m * (1.0 / TILE_M))
    tiles = np.ceil(rows * (TILE_M / TILE)) * np.ceil(n * (1.0 / TILE))
    waves = tiles / sms
    imbalance = 1.0 + coef.wave * (np.ceil(waves) / waves - 1.0)
    columns = n + coef.column_padding * (np.ceil(n * (1.0 / TILE)) * TILE - n)
    compute = (2.0 * TILE_M) * rows * (k * columns) * imbalance / (peak * coef.eta_compute)
    inputs = m * k
    moved = weights * weight_bytes + (inputs * act_bytes + m * n * out_bytes * coef.output_share)
    stream = bandwidth * coef.eta_memory
    if warm:
        stream = stream * (1.0 + (coef.warm_speed - 1.0) / (1.0 + (moved / coef.warm_bytes) ** 4))
    memory = moved / stream
    latency = coef.launch + coef.k_step * np.sqrt(k) + coef.wave_step * np.log2(1.0 + waves)
    latency = latency + coef.quant_passes * (2.0 + act_bytes) * inputs / stream
    return OpTime(
        overlapped(compute, memory, coef.overlap) + latency, 2.0 * m * weights, moved, compute, memory, latency
    )
