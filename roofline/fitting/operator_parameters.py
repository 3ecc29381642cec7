"""What is fitted for each operator class: starting values and bounds of its coefficients, and how its timings are grouped."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from roofline.units import MEGA

MICRO = 1e-6


@dataclass(frozen=True)
class Parameter:
    """One coefficient: where the fit starts and the bounds it keeps. A parameter with low = high is fixed."""

    start: float
    low: float
    high: float


def fixed(value: float) -> Parameter:
    """A coefficient that is not fitted."""
    return Parameter(value, value, value)


GEMM: Mapping[str, Parameter] = {
    "eta_compute": Parameter(0.7, 0.1, 1.0),
    "eta_memory": Parameter(0.8, 0.1, 1.0),
    "overlap": Parameter(0.1, 0.001, 1.0),
    "wave": Parameter(0.1, 0.001, 1.0),
    "launch": Parameter(4 * MICRO, 0.3 * MICRO, 400 * MICRO),
    "wave_step": Parameter(0.2 * MICRO, 0.001 * MICRO, 20 * MICRO),
    "column_padding": Parameter(0.3, 0.01, 1.0),
    "k_step": Parameter(1e-8, 1e-11, 1e-6),
    "quant_passes": Parameter(1.0, 0.01, 10.0),
    "output_share": Parameter(0.9, 0.05, 3.0),
    "warm_bytes": Parameter(20 * MEGA, 2 * MEGA, 200 * MEGA),
    "warm_speed": Parameter(1.3, 1.0001, 6.0),
}
PREFILL: Mapping[str, Parameter] = {
    "eta_compute": Parameter(0.6, 0.05, 1.0),
    "eta_memory": Parameter(0.4, 0.02, 1.0),
    "overlap": Parameter(0.5, 0.001, 1.0),
    "launch": Parameter(10 * MICRO, 1 * MICRO, 300 * MICRO),
    "softmax_dims": Parameter(10.0, 0.01, 300.0),
    "block": Parameter(1 * MICRO, 0.001 * MICRO, 30 * MICRO),
    "diagonal": Parameter(0.3, 0.01, 1.0),
    "tail": Parameter(0.5, 0.01, 2.0),
    "packed": Parameter(0.3, 0.01, 1.0),
    "unskipped": Parameter(0.03, 0.001, 1.0),
}
DECODE: Mapping[str, Parameter] = {
    "eta_compute": Parameter(0.3, 0.001, 1.0),
    "eta_memory": Parameter(0.8, 0.1, 1.0),
    "overlap": Parameter(0.1, 0.001, 1.0),
    "launch": Parameter(8 * MICRO, 1 * MICRO, 300 * MICRO),
    "block": Parameter(1 * MICRO, 0.001 * MICRO, 50 * MICRO),
    "block_dim": Parameter(0.3 * MICRO, 0.001 * MICRO, 50 * MICRO),
    "block_head": Parameter(0.05 * MICRO, 0.00001 * MICRO, 20 * MICRO),
    "head_step": Parameter(0.05 * MICRO, 0.00001 * MICRO, 20 * MICRO),
    "heads_per_block": Parameter(32.0, 1.0, 128.0),
    "length_step": Parameter(0.5 * MICRO, 0.001 * MICRO, 10 * MICRO),
    "key_step": Parameter(1e-10, 1e-12, 1e-8),
    "dim_step": Parameter(0.5 * MICRO, 0.0001 * MICRO, 20 * MICRO),
    "query_padding": Parameter(16.0, 0.1, 128.0),
    "key_padding": Parameter(32.0, 1.0, 256.0),
    "warm_bytes": Parameter(40 * MEGA, 2 * MEGA, 400 * MEGA),
    "warm_speed": Parameter(1.3, 1.0001, 6.0),
}
MOE: Mapping[str, Parameter] = {
    "eta_compute": Parameter(0.4, 0.02, 1.0),
    "eta_memory": Parameter(0.7, 0.05, 1.0),
    "overlap": Parameter(0.3, 0.001, 1.0),
    "launch": Parameter(30 * MICRO, 1 * MICRO, 600 * MICRO),
    "permute_passes": Parameter(3.0, 0.01, 40.0),
    "tile_rows": Parameter(32.0, 1.0, 400.0),
    "skew": Parameter(1.0, 0.01, 6.0),
    "expert": Parameter(0.05 * MICRO, 0.0001 * MICRO, 5 * MICRO),
    "all_rows_passes": Parameter(0.5, 0.001, 20.0),
    "warm_bytes": Parameter(30 * MEGA, 2 * MEGA, 400 * MEGA),
    "warm_speed": Parameter(1.3, 1.0001, 6.0),
}
RING: Mapping[str, Parameter] = {
    "eta": Parameter(0.7, 0.05, 1.0),
    "launch": Parameter(4 * MICRO, 0.5 * MICRO, 60 * MICRO),
    "rank_step": Parameter(1 * MICRO, 0.001 * MICRO, 40 * MICRO),
    "ramp": Parameter(5 * MICRO, 0.001 * MICRO, 1000 * MICRO),
    "pair": Parameter(0.1, 0.001, 3.0),
    "contention": Parameter(0.01, 0.0001, 4.0),
    "direct_eta": fixed(0.0),
    "direct_launch": fixed(0.0),
    "direct_step": fixed(0.0),
    "direct_second": fixed(0.0),
    "switch_eta": fixed(0.0),
    "switch_launch": fixed(0.0),
}
ALL_REDUCE = {
    **RING,
    "switch_eta": Parameter(0.5, 0.02, 1.0),
    "switch_launch": Parameter(30 * MICRO, 1 * MICRO, 500 * MICRO),
}
CUSTOM = {
    **RING,
    "direct_eta": Parameter(0.5, 0.02, 1.0),
    "direct_launch": Parameter(4 * MICRO, 1 * MICRO, 100 * MICRO),
    "direct_step": Parameter(0.2 * MICRO, 0.01 * MICRO, 20 * MICRO),
    "direct_second": Parameter(2 * MICRO, 0.01 * MICRO, 100 * MICRO),
}

# 16-bit weights and weight-only quantisation leave the activations as they are.
UNQUANTISED = ("bf16", "fp16", "int4_wo", "int8_wo", "mxfp4")


@dataclass(frozen=True)
class Spec:
    """How one operator class is fitted."""

    op: str
    kind: str  # table
    parameters: Callable[[str], Mapping[str, Parameter]]  # by precision
    by_kernel: bool = False  # whether kernels of one table get rows of their own
    least: int = 40  # rows that a group needs for coefficients of its own, whatever its kernels
    pull: float = 0.15  # of a less specific fit on a kernel's: a factor of e away weighs like one row that is 15 % off


def _gemm_parameters(precision: str) -> Mapping[str, Parameter]:
    return {**GEMM, "quant_passes": fixed(0.0)} if precision in UNQUANTISED else GEMM


SPECS = {
    spec.op: spec
    for spec in (
        Spec("gemm", "gemm", _gemm_parameters, by_kernel=True, pull=0.05),
        Spec("attention_prefill", "attention_prefill", lambda _: PREFILL, by_kernel=True),
        Spec("attention_decode", "attention_decode", lambda _: DECODE, by_kernel=True),
        Spec("moe", "moe", lambda _: MOE, by_kernel=True),
        Spec("all_reduce", "collective", lambda _: ALL_REDUCE),
        Spec("all_gather", "collective", lambda _: RING),
        Spec("reduce_scatter", "collective", lambda _: RING),
        Spec("all_to_all", "collective", lambda _: RING),
        Spec("custom_all_reduce", "custom_allreduce", lambda _: CUSTOM, by_kernel=True, least=15, pull=0.05),
    )
}
