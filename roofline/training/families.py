"""What efficiencies of training are keyed by."""

import math

from roofline.ceilings import Column
from roofline.codes import TRAINING_PRECISIONS
from roofline.columns import Batch
from roofline.hardware import Gpu, presets
from roofline.selection import pick

REFERENCE_YEAR = 2025.5  # software date at which coefficients hold without a trend
ASSUMED_YEAR = 2026.2  # software date where none is stated: current releases


def family(gpu: Gpu) -> str:
    """The architecture; TPU generations differ too much to share one."""
    return gpu.slug if gpu.architecture.startswith("TPU") else gpu.architecture


# The accelerator of a family that its efficiencies were measured on: others with fewer watts for each FLOP/s clock lower.
REFERENCES = {
    "Ampere": "a100-sxm4-80gb",
    "Hopper": "h100-sxm5-80gb",
    "Ada Lovelace": "l40s",
    "Blackwell": "b200-sxm-180gb",
    "Blackwell Ultra": "b300-sxm-288gb",
    "CDNA3": "mi300x",
    "CDNA4": "mi355x",
}


# When accelerators of a family came to market. Software for one generation gets faster for some years, then work moves to the next.
LAUNCHES = {
    "Pascal": 2016.3,
    "Volta": 2017.5,
    "Turing": 2018.7,
    "Ampere": 2020.4,
    "Ada Lovelace": 2022.8,
    "Hopper": 2022.8,
    "CDNA": 2020.9,
    "CDNA2": 2021.9,
    "CDNA3": 2023.9,
}
MATURE_AFTER = 3.0  # years


def mature_year(gpu: Gpu) -> float:
    """The year from which on new software no longer makes an accelerator faster; inf where that is not foreseen yet."""
    return LAUNCHES.get(gpu.architecture, math.inf) + MATURE_AFTER


def power_share(gpu: Gpu) -> float:
    """Share of its family's efficiency that the board power leaves a GPU: the root of its watts for each FLOP/s over the reference's.

    Dynamic power grows with the clock times the square of the voltage, so that near the limit speed goes about with the root of power.
    """
    known = presets().get(REFERENCES.get(gpu.architecture, ""))
    if known is None or not gpu.tdp_watts or not gpu.peak("bf16"):
        return 1.0
    allowance = (gpu.tdp_watts / gpu.peak("bf16")) / (known.tdp_watts / known.peak("bf16"))
    return min(math.sqrt(allowance), 1.0)


BF16, FP8, NVFP4 = (TRAINING_PRECISIONS.index(name) for name in ("bf16", "fp8", "nvfp4"))
INTEGER_VENDORS = ("Google",)  # whose 8-bit training runs on integer units where there is no fp8


def integer_units(gpu: Gpu) -> float:
    """1 where 8-bit training uses integer units."""
    return float(gpu.vendor in INTEGER_VENDORS)


def computed_precision(batch: Batch, integer: Column) -> Column:
    """The precision that products really run in: 4 bit as 8 bit, 8 bit as 16 bit where the hardware lacks it.

    `integer` is 1 for scenarios whose accelerator trains on 8-bit integer units.
    """
    assert batch.training is not None
    asked = batch.training.precision
    narrow = asked == NVFP4
    four = narrow & (batch.gpu.peak_fp4 > 0)
    eight = (batch.gpu.peak_fp8 > 0) | (integer * batch.gpu.peak_int8 > 0)
    lowest = pick(eight, pick(narrow, FP8, asked), BF16)
    return pick(asked < FP8, asked, pick(four, NVFP4, lowest))
