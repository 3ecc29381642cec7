"""Fitted coefficients of training: what they are, how they are looked up for a batch.

`coefficients/training.csv` holds one row a coefficient and fold: `fold` blank was fitted to all measurements, fold k to all but those of
fold k. Efficiencies of matrix products are keyed by GPU family and precision ("Hopper/bf16"), of attention by family, overheads by
framework; everything else is one number. `coefficients/training_corrections.csv` holds the shrunken mean residuals of groups of runs.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from roofline.catalogues import PerCatalogue
from roofline.ceilings import Column
from roofline.codes import FRAMEWORKS, TRAINING_PRECISIONS
from roofline.columns import Batch
from roofline.hardware import Gpu
from roofline.selection import indicator, maximum, minimum, missing, pick, some
from roofline.training.corrections import BASES, WIDTH_KINDS, Cell, Corrections, stored, stored_widths, tables
from roofline.training.families import (
    ASSUMED_YEAR,
    REFERENCE_YEAR,
    computed_precision,
    family,
    integer_units,
    mature_year,
    power_share,
)
from roofline.training.parameters import DEFAULTS

Floats = NDArray[np.float64]
PRECISIONS = len(TRAINING_PRECISIONS)
TF32, FP16, BF16, FP8, NVFP4 = (TRAINING_PRECISIONS.index(name) for name in ("tf32", "fp16", "bf16", "fp8", "nvfp4"))
BALANCED = ("megatron", "nemo", "maxtext")  # frameworks whose runs have balanced routing
LOOPING = ("hf_trainer",)  # frameworks that compute one expert after the other
MAXTEXT = FRAMEWORKS.index("maxtext")
FIRST_YEAR, LAST_YEAR = 2021.0, 2026.7  # trends are not drawn beyond the measurements
ELEMENT_BYTES = np.array((4.0, 4.0, 2.0, 2.0, 1.0, 1.0, 0.5625))  # of an operand, by TRAINING_PRECISIONS
GRAPHED = 0.8  # share of the host's work that CUDA graphs take away


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
    skew: Column
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
    mature: Floats  # (GPUs,) year from which on software no longer makes them faster
    integer_low: Floats  # (GPUs,) 1 where 8-bit training uses integer units
    framework: Floats  # (frameworks,)
    casts: Floats  # (precisions,)
    skew: Floats  # (frameworks,) of the load of experts
    loop: Floats  # (frameworks,) time of experts over that of grouped products
    corrections: Corrections

    def __getitem__(self, name: str) -> float:
        return self.values[name]


NO_WIDTHS = np.zeros(2 * len(BASES) * len(WIDTH_KINDS))


def build(
    values: Mapping[str, float], gpus: Sequence[Gpu], cells: Sequence[Cell] = (), widths: Floats = NO_WIDTHS
) -> TrainingCoefficients:
    """Coefficients for `gpus` out of named values and groups; families without a value of their own take the default of their precision."""
    gemm = [
        _by_family(values, f"gemm/{family(gpu)}/{precision}", f"gemm//{precision}")
        for gpu in gpus
        for precision in TRAINING_PRECISIONS
    ]
    power = np.array([power_share(gpu) for gpu in gpus])
    attention = [_by_family(values, f"attention/{family(gpu)}", "attention/") for gpu in gpus]
    plain = {name: values.get(name, value) for name, value in DEFAULTS.items()}
    return TrainingCoefficients(
        values=plain,
        gemm=np.array(gemm) * np.repeat(power, PRECISIONS),
        attention=np.array(attention) * power,
        mature=np.array([mature_year(gpu) for gpu in gpus]),
        integer_low=np.array([integer_units(gpu) for gpu in gpus]),
        framework=np.array([_by_family(values, f"framework/{name}", "framework/") for name in FRAMEWORKS]),
        casts=np.array([plain.get(f"casts_{name}", 0.0) for name in TRAINING_PRECISIONS]),
        skew=np.array([0.0 if name in BALANCED else plain["expert_skew"] for name in FRAMEWORKS]),
        loop=np.array([plain["expert_loop"] if name in LOOPING else 1.0 for name in FRAMEWORKS]),
        corrections=tables(cells, widths, gpus),
    )


def _by_family(values: Mapping[str, float], name: str, fallback: str) -> float:
    return values.get(name, DEFAULTS.get(name, DEFAULTS[fallback]))


def resolve(batch: Batch, c: TrainingCoefficients) -> Rates:
    """The rates of every scenario of a batch."""
    gpu, training, levers = batch.gpu, batch.training, batch.levers
    assert training is not None
    integer = c.integer_low[gpu.code]
    precision = computed_precision(batch, integer)
    cell = gpu.code * PRECISIONS
    four = precision == NVFP4
    eight_bit = pick(gpu.peak_fp8 > 0, gpu.peak_fp8, integer * gpu.peak_int8)
    wide: Column = pick(precision == FP16, gpu.peak_fp16, gpu.peak_bf16)
    if some(precision <= TF32):
        wide = pick(
            precision <= TF32,
            pick(precision == TF32, maximum(gpu.peak_tf32, gpu.peak_fp32), gpu.peak_fp32),
            wide,
        )
    narrow = pick(four, gpu.peak_fp4, eight_bit)
    has_low = precision >= FP8
    sixteen = minimum(precision, BF16)
    head_gemm = c.gemm[cell + sixteen]
    low_gemm = c.gemm[cell + precision]
    kept = indicator(four) * c["nvfp4_high_share"]  # products that a 4-bit recipe leaves in 16 bit
    mixed = low_gemm / (1.0 - kept + kept * (narrow * low_gemm) / (wide * head_gemm))
    year = minimum(
        maximum(pick(missing(training.framework_year), ASSUMED_YEAR, training.framework_year), FIRST_YEAR),
        LAST_YEAR,
    )
    age = REFERENCE_YEAR - year
    kernel_age = REFERENCE_YEAR - minimum(year, c.mature[gpu.code])
    unfused = 1.0 - maximum(levers.fused_kernels, levers.torch_compile)
    moe_age = np.exp(c["moe_trend"] * age)
    # XLA runs a step as one program: its host launches as little as that of CUDA graphs.
    host = c["host"] * (1.0 - GRAPHED * maximum(levers.cuda_graphs, 1.0 * (training.framework == MAXTEXT)))
    older_attention = (1.0 - c["fa2_share"]) * (1.0 - levers.flash_attention_3) * (gpu.peak_fp8 > 0)
    return Rates(
        peak=pick(has_low, narrow, wide),
        head_peak=wide,
        element_bytes=ELEMENT_BYTES[precision],
        gemm=pick(has_low, mixed, head_gemm),
        head_gemm=head_gemm,
        attention=c.attention[gpu.code] * (1.0 - older_attention),
        casts=c.casts[precision],
        framework=c.framework[training.framework] * np.exp(c["trend"] * kernel_age),
        passes=c["passes_fused"] * (1.0 + unfused * (c["eager_passes"] - 1.0)),
        loss_passes=c["loss_passes"] * (1.0 + unfused),
        host=host * (1.0 + unfused),
        moe_host=host * np.exp(c["host_trend"] * age),
        expert_kernels=c["expert_kernels"],
        stream=c["stream"],
        overlap=c["overlap"],
        wave=c["wave"],
        launch=c["launch"],
        skew=c.skew[training.framework],
        grouped=c["grouped"] / c.loop[training.framework],
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
    lines = resources.files("roofline").joinpath("coefficients/training.csv").read_text(encoding="utf-8").splitlines()
    return {row["name"]: float(row["value"]) for row in csv.DictReader(lines) if row["fold"] == fold}


def _bind(gpus: tuple[Gpu, ...], fold: str) -> TrainingCoefficients:
    return build(fitted(fold), gpus, stored(fold), stored_widths())


_bound = PerCatalogue(_bind)


def load(gpus: tuple[Gpu, ...], fold: str = "") -> TrainingCoefficients:
    """The shipped coefficients for a catalogue of GPUs, whose positions are the codes of a batch. `fold`: blank is the fit to
    all measurements, a number the fit that saw no run of that fold."""
    return _bound(gpus, fold)
