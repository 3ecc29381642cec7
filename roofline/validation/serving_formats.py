"""Number formats of a measured serving point, from the words that its source uses."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from roofline import codes, precision
from roofline.hardware import Gpu

Row = Mapping[str, str]

WEIGHT_WORDS = (  # first match decides; of quant_method and precision together
    ("nvfp4", "nvfp4"),
    ("mxfp4", "mxfp4"),
    ("fp8_block", "fp8_block"),
    ("mxfp8", "mxfp8"),
    ("nf4", "nf4"),
    ("uintx-2", "q2_k"),
    ("uintx-4", "int4_g128"),
    ("w4a", "int4_g128"),
    ("int4", "int4_g128"),
    ("awq", "int4_g128"),
    ("gptq", "int4_g128"),
    ("fp8", "fp8"),
    ("f8_e4m3", "mxfp4"),
    ("w8a8", "int8"),
    ("int8", "int8"),
    ("fp6", "fp6"),
    ("bf16", "bf16"),
    ("bfloat16", "bf16"),
    ("fp16", "fp16"),
    ("f16", "fp16"),
    ("float16", "fp16"),
    ("fp32", "fp32"),
)
GGUF_NAMES = sorted((name for name in codes.WEIGHT_FORMATS if re.match(r"i?q\d", name)), key=len, reverse=True)
KV_WORDS = (
    ("fp8", "fp8"),
    ("nvfp4", "nvfp4"),
    ("fp4", "nvfp4"),
    ("int8", "int8"),
    ("q8", "q8_0"),
    ("bf16", "bf16"),
    ("16", "fp16"),
)
MXFP4_MODELS = ("gpt-oss",)


@dataclass(frozen=True, slots=True)
class Formats:
    """Words of codes.WEIGHT_FORMATS, ACTIVATION_FORMATS and KV_FORMATS."""

    weights: str
    activations: str
    kv_cache: str

    @property
    def weight_bytes(self) -> float:
        """Bytes of a weight of a layer."""
        return precision.FORMATS[self.weights].body


def formats_of(row: Row, gpu: Gpu, engine: str, stored: str = "") -> Formats:
    """Formats that a row states, and what an engine does on that GPU where it states only the weights. `stored` is the
    format of the checkpoint, for rows that state none."""
    words = f"{row.get('quant_method', '')} {row.get('precision_weights', '')}".lower()
    weights = _weights(words, row.get("model_name", "").lower(), gpu) or stored or "bf16"
    weight_only = engine == "llama_cpp" or any(
        word in words for word in ("int8wo", "_wo", "weight-only", "w8a16", "w4a16")
    )
    activations = "bf16" if weight_only else _activations(weights, gpu, words)
    stated = row.get("precision_kv", "").lower()
    kv = next((name for word, name in KV_WORDS if word in stated), "")
    if not kv:
        kv = "fp8" if engine == "tensorrt_llm" and activations not in ("bf16", "fp16") else "bf16"
    return Formats(weights, activations, kv)


def _weights(words: str, model: str, gpu: Gpu) -> str:
    if any(name in model for name in MXFP4_MODELS) and not any(
        name in words for name in ("q8", "q4", "q5", "q6", "bf16 ")
    ):
        return "mxfp4"
    for name in GGUF_NAMES:
        if name in words.replace("-", "_"):
            return name
    for word, name in WEIGHT_WORDS:
        if word in words:
            return name
    if "fp4" in words:
        return "nvfp4" if gpu.vendor.upper().startswith("NVIDIA") else "mxfp4"
    return next((name for word, name in WEIGHT_WORDS if word in model), "")


def _activations(weights: str, gpu: Gpu, words: str) -> str:
    if weights in ("fp8", "fp8_block", "mxfp8"):
        return "fp8" if gpu.peak("fp8") else "bf16"
    if weights == "nvfp4":
        return "nvfp4" if gpu.peak("fp4") else "bf16"
    if weights == "mxfp4":
        return "mxfp8" if gpu.peak("fp4") else "bf16"
    if weights == "int8":
        return "int8" if gpu.peak("int8") else "bf16"
    if weights == "int4_g128" and "a8" in words:
        return "fp8" if gpu.peak("fp8") else "bf16"
    return weights if weights in ("fp16", "fp32") else "bf16"
