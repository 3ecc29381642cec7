"""Element-wise work (norms, rotary embedding, activation, residuals, samplers) and table look-ups: bytes moved plus launches."""

from typing import NamedTuple

import numpy as np

from roofline.ceilings import Column, OpTime, roof_time

GATHER_GRAIN = 32.0  # bytes of the smallest device-memory transaction


class ElementwiseCoefficients(NamedTuple):
    """Measured behaviour of streaming kernels."""

    eta_memory: Column  # share of the memory bandwidth of a sequential stream
    launch: Column  # s for each kernel


def elementwise(
    elements: Column,
    *,
    flops_per_element: Column,
    bytes_per_element: Column,
    peak: Column,
    bandwidth: Column,
    coef: ElementwiseCoefficients,
    kernels: Column = 1.0,
) -> OpTime:
    """Time of a chain of element-wise kernels that in all move `bytes_per_element` bytes for each element.

    A fused chain reads its inputs and writes its outputs once in one kernel; unfused, every step reads and writes (see `chain_bytes`).
    """
    flops = elements * flops_per_element
    moved = elements * bytes_per_element
    compute = flops / peak
    memory = moved / (bandwidth * coef.eta_memory)
    latency = coef.launch * kernels
    return OpTime(np.maximum(compute, memory) + latency, flops, moved, compute, memory, latency)


def chain_bytes(steps: Column, element_bytes: Column, fused: Column, inputs: Column = 1.0) -> Column:
    """Bytes for each element of a chain of `steps` unary steps with `inputs` operands.

    Fused, the chain reads its inputs and writes its output once; unfused, every step reads and writes.

    >>> float(chain_bytes(5, 2, 1)), float(chain_bytes(5, 2, 0))
    (4.0, 20.0)
    """
    return element_bytes * (inputs + 1.0 + np.where(fused, 0.0, 2.0 * (steps - 1.0)))


def embedding(rows: Column, row_bytes: Column, *, bandwidth: Column, coef: ElementwiseCoefficients) -> OpTime:
    """Time of gathering `rows` rows of `row_bytes` bytes out of a table: each is read in whole transactions and written once."""
    moved = rows * (np.ceil(row_bytes / GATHER_GRAIN) * GATHER_GRAIN + row_bytes)
    memory = moved / (bandwidth * coef.eta_memory)
    nothing = 0.0 * moved
    return OpTime(memory + coef.launch, nothing, moved, nothing, memory, coef.launch + nothing)


def roof_flops(flops_per_element: Column, bytes_per_element: Column, peak: Column, bandwidth: Column) -> Column:
    """FLOP/s under the roof of an element-wise kernel, no overhead: 10 FLOP and 4 bytes at 1.5 TB/s give 3.75 TFLOP/s."""
    return flops_per_element / roof_time(flops_per_element, bytes_per_element, peak, bandwidth)
