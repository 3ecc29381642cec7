"""Fitted coefficients of training: what they are, how they are looked up for a batch.

`coefficients/training.csv` holds one row a coefficient and fold: `fold` blank was fitted to all measurements, fold k to all but those of
fold k. Efficiencies of matrix products are keyed by GPU family and precision ("Hopper/bf16"), of attention by family, overheads by
framework; everything else is one number. `coefficients/training_corrections.csv` holds the shrunken mean residuals of groups of runs.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from roofline.ceilings import Column
from roofline.codes import FRAMEWORKS, TRAINING_PRECISIONS
from roofline.columns import Batch
from roofline.hardware import Gpu
from roofline.training.corrections import Cell, Corrections, stored, stored_widths, tables
from roofline.training.families import CURRENT_YEAR, family
from roofline.training.parameters import DEFAULTS

Floats = NDArray[np.float64]
PRECISIONS = len(TRAINING_PRECISIONS)
FP32, TF32, FP16, BF16, FP8, MXFP8, NVFP4 = range(PRECISIONS)
FIRST_YEAR, LAST_YEAR = 2021.0, 2026.7  # trends are not drawn beyond the measurements
EMULATED_INT8 = ("Google",)  # whose 8-bit training runs on integer units where there is no fp8


class Rates(NamedTuple):
    """The coefficients of each scenario of a batch, as columns of shape () or (N,)."""

    peak: Column  # FLOP/s of the low-precision products
    head_peak: Column  # FLOP/s of 16-bit products and attention
    element_bytes: Column  # bytes of an operand of the low-precision products
    gemm: Column
    head_gemm: Column
    attention: Column
    casts: Column
    framework: Column
    passes: Column
    loss_passes: Column
    host: Column
    moe_host: Column
    expert_kernels: float
    stream: float
    overlap: float
    wave: float
    launch: float
    grouped: Column
    grouped_width: float
    permute: Column
    moe_launch: Column
    softmax: float
    score_passes: float
    scan: float
    adapter_passes: float
    dequantise: float


@dataclass(frozen=True)
class TrainingCoefficients:
    """Coefficients for a list of GPUs; columns of a batch index them by `gpu.code`."""

    values: Mapping[str, float]
    gemm: Floats  # (GPUs x precisions), flat
    attention: Floats  # (GPUs,)
    integer_low: Floats  # (GPUs,) 1 where 8-bit training uses integer units
    framework: Floats  # (frameworks,)
    corrections: Corrections

    def __getitem__(self, name: str) -> float:
        return self.values[name]


NO_WIDTHS = np.zeros(16)


def build(values: Mapping[str, float], gpus: Sequence[Gpu], cells: Sequence[Cell] = (), widths: Floats = NO_WIDTHS) -> TrainingCoefficients:
    """Coefficients for `gpus` out of named values and groups; families without a value of their own take the default of their precision."""
    gemm = [_by_family(values, f"gemm/{family(gpu)}/{precision}", f"gemm//{precision}") for gpu in gpus for precision in TRAINING_PRECISIONS]
    attention = [_by_family(values, f"attention/{family(gpu)}", "attention/") for gpu in gpus]
    plain = {name: values.get(name, value) for name, value in DEFAULTS.items()}
    return TrainingCoefficients(
        values=plain,
        gemm=np.array(gemm),
        attention=np.array(attention),
        integer_low=np.array([float(gpu.vendor in EMULATED_INT8) for gpu in gpus]),
        framework=np.array([_by_family(values, f"framework/{name}", "framework/") for name in FRAMEWORKS]),
        corrections=tables(cells, widths, gpus),
    )


def _by_family(values: Mapping[str, float], name: str, fallback: str) -> float:
    return values.get(name, values.get(fallback, DEFAULTS.get(fallback, 1.0)))


def resolve(batch: Batch, c: TrainingCoefficients) -> Rates:
    """The rates of every scenario of a batch."""
    gpu, training, levers = batch.gpu, batch.training, batch.levers
    assert training is not None
    precision = training.precision
    cell = gpu.code * PRECISIONS
    eight, four = precision >= FP8, precision == NVFP4
    low = np.where(gpu.peak_fp8 > 0, gpu.peak_fp8, np.where(c.integer_low[gpu.code] > 0, gpu.peak_int8, 0.0))
    sixteen = np.where(precision == FP16, gpu.peak_fp16, gpu.peak_bf16)
    wide = np.where(precision >= FP16, sixteen, np.where(precision == TF32, np.maximum(gpu.peak_tf32, gpu.peak_fp32), gpu.peak_fp32))
    narrow = np.where(four & (gpu.peak_fp4 > 0), gpu.peak_fp4, low)
    has_low = eight & (narrow > 0)
    gemm = c.gemm[cell + np.where(has_low, precision, np.minimum(precision, BF16))]
    head_gemm = c.gemm[cell + np.minimum(precision, BF16)]
    high_share = np.where(four & has_low, c["nvfp4_high_share"], 0.0)  # products that a 4-bit recipe keeps in 16 bit
    low_rate = narrow * gemm
    mixed = np.where(has_low, 1.0 / ((1.0 - high_share) / np.maximum(low_rate, 1.0) + high_share / (wide * head_gemm)), wide * head_gemm)
    peak = np.where(has_low, narrow, wide)
    year = np.minimum(np.maximum(np.where(np.isnan(training.framework_year), CURRENT_YEAR, training.framework_year), FIRST_YEAR), LAST_YEAR)
    age = CURRENT_YEAR - year
    fused = np.maximum(levers.fused_kernels, levers.torch_compile)
    casts = np.where(has_low, np.where(precision == FP8, c["casts_fp8"], np.where(precision == MXFP8, c["casts_mxfp8"], c["casts_nvfp4"])), 0.0)
    moe_age = np.exp(c["moe_trend"] * age)
    fa2 = 1.0 - (1.0 - c["fa2_share"]) * (1.0 - levers.flash_attention_3) * (gpu.peak_fp8 > 0)
    return Rates(
        peak=peak,
        head_peak=wide,
        element_bytes=np.where(has_low, np.where(four, 0.5625, 1.0), np.where(precision <= TF32, 4.0, 2.0)),
        gemm=mixed / peak,
        head_gemm=head_gemm,
        attention=c.attention[gpu.code] * fa2,
        casts=casts,
        framework=c.framework[training.framework] * np.exp(c["trend"] * age),
        passes=c["passes_fused"] * (fused + (1.0 - fused) * c["eager_passes"]),
        loss_passes=c["loss_passes"] * (fused + (1.0 - fused) * 2.0),
        host=c["host"] * (1.0 - 0.8 * levers.cuda_graphs) * (1.0 + (1.0 - fused)),
        moe_host=c["host"] * (1.0 - 0.8 * levers.cuda_graphs) * np.exp(c["host_trend"] * age),
        expert_kernels=c["expert_kernels"],
        stream=c["stream"],
        overlap=c["overlap"],
        wave=c["wave"],
        launch=c["launch"],
        grouped=c["grouped"],
        grouped_width=c["grouped_width"],
        permute=c["permute"] * moe_age,
        moe_launch=c["moe_launch"] * moe_age,
        softmax=c["softmax"],
        score_passes=c["score_passes"],
        scan=c["scan"],
        adapter_passes=c["adapter_passes"],
        dequantise=c["dequantise"],
    )


@cache
def fitted(fold: str = "") -> Mapping[str, float]:
    """Named values of one fold as shipped; blank is the fit to all measurements."""
    with resources.files("roofline").joinpath("coefficients/training.csv").open(encoding="utf-8", newline="") as lines:
        return {row["name"]: float(row["value"]) for row in csv.DictReader(lines) if row["fold"] == fold}


@lru_cache(maxsize=256)
def _load(gpus: tuple[Gpu, ...], fold: str) -> TrainingCoefficients:
    return build(fitted(fold), gpus, stored(fold), stored_widths())


def load(gpus: Sequence[Gpu], fold: str = "") -> TrainingCoefficients:
    """The shipped coefficients for a list of GPUs, whose positions are the codes of a batch. `fold`: blank, or one that saw no run of it."""
    return _load(tuple(gpus), fold)
