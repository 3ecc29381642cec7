"""What efficiencies of training are keyed by."""

import numpy as np

from roofline.ceilings import Column
from roofline.codes import TRAINING_PRECISIONS
from roofline.columns import Batch
from roofline.hardware import Gpu

CURRENT_YEAR = 2025.5  # software date where none is stated


def family(gpu: Gpu) -> str:
    """The architecture; TPU generations differ too much to share one."""
    return gpu.slug if gpu.architecture.startswith("TPU") else gpu.architecture


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
    four = (asked == NVFP4) & (batch.gpu.peak_fp4 > 0)
    eight = (batch.gpu.peak_fp8 > 0) | (integer * batch.gpu.peak_int8 > 0)
    narrow = np.where(four, NVFP4, np.where(eight, np.minimum(asked, NVFP4 - 1), BF16))
    return np.where(asked < FP8, asked, np.where((asked == NVFP4) & ~four & eight, FP8, narrow))
