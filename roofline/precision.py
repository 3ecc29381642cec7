"""Number formats: bytes of a weight with its scales, of a KV-cache element, of an activation; which arithmetic runs;
what stays at 16 bit.

Every table is a numpy array whose index is the code of the format (`codes.WEIGHT_FORMATS`, `KV_FORMATS`,
`ACTIVATION_FORMATS`), so that a column of codes becomes a column of bytes by indexing.

A checkpoint has three kinds of weights, each with its own bytes:
- body: the matrices of the layers;
- table: the input embedding;
- head: the output projection. Norms, routers, convolutions and the like are 16 bit in every format. Safetensors
  checkpoints keep table and head at 16 bit too; GGUF files do not. Bits of the GGUF mixes are those of llama.cpp's
  recipes, derived from the sizes of the published files of Llama-3.1-8B (head Q6_K, table in the base type, the rest
  body); the base types follow from their block layouts. A file's own size is better where known.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from roofline.codes import ACTIVATION_FORMATS, KV_FORMATS, WEIGHT_FORMATS
from roofline.columns import Gpu
from roofline.selection import pick

SIXTEEN_BIT = 2.0
_FP32_BLOCK_SCALE = 4 / (128 * 128)  # one fp32 scale for each 128 x 128 block (DeepSeek-V3)
_INT8_ROW_SCALE = 2 / 4096  # one 16-bit scale for each row of a matrix some 4,096 wide
_INT4_GROUP = (2 + 0.5) / 128  # 16-bit scale and 4-bit zero for 128 weights (AWQ, GPTQ)
_NF4_SCALE = 0.127 / 8  # QLoRA, section 3: block of 64, scales themselves 8 bit


class Stored(NamedTuple):
    """Bytes of one parameter."""

    body: float
    table: float = SIXTEEN_BIT
    head: float = SIXTEEN_BIT


def _gguf(body_bits: float, table_bits: float, head_bits: float = 6.5625) -> Stored:
    return Stored(body_bits / 8, table_bits / 8, head_bits / 8)


FORMATS: dict[str, Stored] = {
    "fp32": Stored(4.0, 4.0, 4.0),
    "bf16": Stored(2.0),
    "fp16": Stored(2.0),
    "fp8": Stored(1.0),
    "fp8_block": Stored(1.0 + _FP32_BLOCK_SCALE),
    "int8": Stored(1.0 + _INT8_ROW_SCALE),
    "int4_g128": Stored(0.5 + _INT4_GROUP),
    "nf4": Stored(0.5 + _NF4_SCALE),
    "mxfp4": Stored(0.5 + 1 / 32),
    "mxfp8": Stored(1.0 + 1 / 32),
    "nvfp4": Stored(0.5 + 1 / 16),
    "fp6": Stored(6 / 8 + 1 / 32),
    "q2_k": _gguf(2.953, 2.625),
    "q3_k_s": _gguf(3.4375, 3.4375),
    "q3_k_m": _gguf(3.855, 3.4375),
    "q3_k_l": _gguf(4.199, 3.4375),
    "q3_k_xl": _gguf(3.95, 3.4375),
    "iq4_xs": _gguf(4.286, 4.25),
    "q4_0": _gguf(4.5, 4.5),
    "q4_1": _gguf(5.0, 5.0),
    "q4_k_s": _gguf(4.54, 4.5),
    "q4_k_m": _gguf(4.80, 4.5),
    "q4_k_xl": _gguf(4.85, 4.5),
    "q5_0": _gguf(5.5, 5.5),
    "q5_1": _gguf(6.0, 6.0),
    "q5_k_s": _gguf(5.5, 5.5),
    "q5_k_m": _gguf(5.654, 5.5),
    "q5_k_xl": _gguf(5.70, 5.5),
    "q6_k": _gguf(6.5625, 6.5625),
    "q6_k_xl": _gguf(6.9, 8.5, 8.5),
    "q8_0": _gguf(8.5, 8.5, 8.5),
    "q8_k_xl": _gguf(9.4, 16.0, 16.0),
}

KV_ELEMENT = {"bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "int8": 1.0, "nvfp4": 0.5 + 1 / 16, "fp32": 4.0, "q8_0": 34 / 32}
ACTIVATION_ELEMENT = {
    "bf16": 2.0,
    "fp16": 2.0,
    "fp32": 4.0,
    "fp8": 1.0,
    "int8": 1.0,
    "mxfp8": 1.0 + 1 / 32,
    "nvfp4": 0.5625,
    "mxfp4": 0.53125,
}

# What one format leaves at 16 bit beyond table and head, as the published checkpoints do (gpt-oss in MXFP4; DeepSeek
# and Kimi in NVFP4).
EXPERTS_ONLY_FORMATS = ("mxfp4",)
HALF_LATENT_ATTENTION_FORMATS = ("mxfp4", "nvfp4")


def _by_code(values: dict[str, float], names: tuple[str, ...]) -> NDArray[np.float64]:
    return np.array([values[name] for name in names])


BODY_BYTES: NDArray[np.float64] = np.array([FORMATS[name].body for name in WEIGHT_FORMATS])
TABLE_BYTES: NDArray[np.float64] = np.array([FORMATS[name].table for name in WEIGHT_FORMATS])
HEAD_BYTES: NDArray[np.float64] = np.array([FORMATS[name].head for name in WEIGHT_FORMATS])
WEIGHT_BYTES = BODY_BYTES  # of a matrix of a layer: what a step reads
REST_BYTES: NDArray[np.float64] = np.array(
    [4.0 if name == "fp32" else SIXTEEN_BIT for name in WEIGHT_FORMATS]
)  # norms, routers, vision
EXPERTS_ONLY: NDArray[np.float64] = np.array([float(name in EXPERTS_ONLY_FORMATS) for name in WEIGHT_FORMATS])
HALF_LATENT_ATTENTION: NDArray[np.float64] = np.array(
    [float(name in HALF_LATENT_ATTENTION_FORMATS) for name in WEIGHT_FORMATS]
)
IS_GGUF: NDArray[np.bool_] = np.array([name[0] in "qi" and name[1] in "q2345678" for name in WEIGHT_FORMATS])
IS_MXFP4: NDArray[np.bool_] = np.array([name == "mxfp4" for name in WEIGHT_FORMATS])
KV_BYTES = _by_code(KV_ELEMENT, KV_FORMATS)
ACTIVATION_BYTES = _by_code(ACTIVATION_ELEMENT, ACTIVATION_FORMATS)

# Arithmetic that runs for an activation format: the columns of `peaks`. Weight-only formats (int4, nf4, GGUF) have
# 16-bit activations.
PEAKS = ("fp32", "bf16", "fp16", "fp8", "int8", "fp4")
_PEAK_OF = {
    "fp32": "fp32",
    "bf16": "bf16",
    "fp16": "fp16",
    "fp8": "fp8",
    "mxfp8": "fp8",
    "int8": "int8",
    "nvfp4": "fp4",
    "mxfp4": "fp4",
}
ACTIVATION_PEAK: NDArray[np.intp] = np.array([PEAKS.index(_PEAK_OF[name]) for name in ACTIVATION_FORMATS])


def compute_peak(gpu: Gpu, activations: Any) -> Any:
    """Dense FLOP/s of the matrix products whose activations have the format of code `activations`.

    A type that the hardware lacks runs as the next wider one that it has: fp4 as fp8, fp8 and int8 as bf16.
    """
    kind = ACTIVATION_PEAK[activations]
    eight = pick((kind >= PEAKS.index("fp8")) & (gpu.peak_fp8 > 0), gpu.peak_fp8, gpu.peak_bf16)
    narrow = pick((kind == PEAKS.index("int8")) & (gpu.peak_int8 > 0), gpu.peak_int8, eight)
    narrow = pick((kind == PEAKS.index("fp4")) & (gpu.peak_fp4 > 0), gpu.peak_fp4, narrow)
    wide = pick(
        kind == PEAKS.index("fp32"), gpu.peak_fp32, pick(kind == PEAKS.index("fp16"), gpu.peak_fp16, gpu.peak_bf16)
    )
    return pick(kind >= PEAKS.index("fp8"), narrow, wide)
