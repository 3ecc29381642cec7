"""The roofline itself: what no kernel can beat, how two resources share a kernel's time, and which of them binds.

A kernel that needs `flops` FLOP and moves `bytes` bytes takes at least `max(flops / peak, bytes / bandwidth)` (Williams, Waterman and
Patterson, "Roofline", CACM 52(4), 2009). Real kernels overlap the two imperfectly: `overlapped` joins them smoothly.
"""

from typing import Any, NamedTuple

import numpy as np

from roofline.codes import BOUNDS

Column = Any  # a number or an array; all columns of a call broadcast

COMPUTE, MEMORY, INTERCONNECT, LATENCY = range(len(BOUNDS))


class OpTime(NamedTuple):
    """Time of one operator (one occurrence, one GPU) and what it is made of. Every field broadcasts to the same shape."""

    time: Column  # s
    flops: Column  # FLOP that the model needs, without padding
    bytes: Column  # bytes of device memory
    compute: Column  # s that the arithmetic alone would take
    memory: Column  # s that the memory traffic alone would take
    latency: Column  # s that depend on neither: launches, tails, fixed costs


def ridge_point(peak: Column, bandwidth: Column) -> Column:
    """Arithmetic intensity (FLOP/byte) from which on a kernel is compute-bound. `peak` in FLOP/s, `bandwidth` in bytes/s.

    >>> round(ridge_point(989.4e12, 3.35e12))
    295
    """
    return peak / bandwidth


def attainable_flops(intensity: Column, peak: Column, bandwidth: Column) -> Column:
    """FLOP/s under the roof at an arithmetic intensity (FLOP/byte): min(peak, bandwidth x intensity)."""
    return np.minimum(peak, bandwidth * intensity)


def roof_time(flops: Column, nbytes: Column, peak: Column, bandwidth: Column) -> Column:
    """The least time in seconds: max(flops / peak, bytes / bandwidth)."""
    return np.maximum(flops / peak, nbytes / bandwidth)


def overlapped(first: Column, second: Column, overlap: Column) -> Column:
    """Time of two activities that run at once, in seconds; never less than the longer one.

    `overlap` runs from 0 (perfect: the maximum) to 1 (none: the sum). It is the larger root of
    `t^2 - (a + b) t + (1 - overlap) a b = 0`; at a = b it costs `1 + sqrt(overlap)` times one of them. One square root, no power.
    """
    difference = first - second
    return 0.5 * (first + second + np.sqrt(difference * difference + (4.0 * overlap) * (first * second)))


def bound(op: OpTime) -> Column:
    """Code into `codes.BOUNDS` of what an operator spends most of its time on: compute, memory or latency."""
    binding = np.where(op.compute >= op.memory, COMPUTE, MEMORY)
    return np.where(op.latency > np.maximum(op.compute, op.memory), LATENCY, binding)


def intensity(op: OpTime) -> Column:
    """FLOP per byte of an operator; 0 where it moves nothing."""
    return op.flops / np.maximum(op.bytes, 1.0)


# The type whose peak a precision computes with, widest fallback last: hardware without the type computes in the next one.
COMPUTE_TYPES = {
    "fp32": ("fp32",),
    "tf32": ("tf32", "fp32"),
    "fp16": ("fp16",),
    "bf16": ("bf16",),
    "fp8": ("fp8", "bf16"),
    "fp8_block": ("fp8", "bf16"),
    "mxfp8": ("fp8", "bf16"),
    "mxfp4_mxfp8": ("fp8", "bf16"),
    "nvfp4": ("fp4", "fp8", "bf16"),
    "int8": ("int8", "bf16"),
    "int8_wo": ("bf16",),
    "int4_wo": ("bf16",),
    "mxfp4": ("bf16",),
}


def compute_peak(gpu: Any, precision: str) -> Column:
    """Dense FLOP/s with which `gpu` (columns.Gpu) computes in `precision` (a key of COMPUTE_TYPES); KeyError for another word."""
    first, *wider = (getattr(gpu, f"peak_{dtype}") for dtype in COMPUTE_TYPES[precision])
    peak = first
    for fallback in wider:
        peak = np.where(peak > 0, peak, fallback)
    return peak
