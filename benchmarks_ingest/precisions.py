"""Number formats as result files write them, in the scenario's words."""

from __future__ import annotations

from roofline.codes import KV_FORMATS, TRAINING_PRECISIONS, WEIGHT_FORMATS

# First match decides.
WEIGHT_WORDS = (
    ("nvfp4", "nvfp4"),
    ("mxfp4", "mxfp4"),
    ("mxfp8", "mxfp8"),
    ("fp8_block", "fp8_block"),
    ("fp8", "fp8"),
    ("float8", "fp8"),
    ("bfloat16", "bf16"),
    ("bf16", "bf16"),
    ("float16", "fp16"),
    ("fp16", "fp16"),
    ("f16", "fp16"),
    ("float32", "fp32"),
    ("fp32", "fp32"),
    ("f32", "fp32"),
    ("awq", "int4_g128"),
    ("gptq", "int4_g128"),
    ("w4a16", "int4_g128"),
    ("int4", "int4_g128"),
    ("w8a8", "int8"),
    ("int8", "int8"),
    ("bnb", "nf4"),
    ("nf4", "nf4"),
)
MXFP4_MODELS = ("gpt-oss", "gpt_oss")


def weight_format(text: str | None, model: str = "") -> str:
    """A word of codes.WEIGHT_FORMATS, or "" where the text means none. A bare "fp4" is NVIDIA's, but for models
    that are published in MXFP4."""
    word = (text or "").strip().lower().replace("-", "_").replace(" ", "_")
    if not word:
        return ""
    if word in WEIGHT_FORMATS:
        return word
    if word in ("fp4", "float4"):
        return "mxfp4" if any(name in model.lower() for name in MXFP4_MODELS) else "nvfp4"
    return next((known for part, known in WEIGHT_WORDS if part in word), "")


def training_precision(text: str | None) -> str:
    """A word of codes.TRAINING_PRECISIONS, or ""."""
    word = weight_format(text)
    return word if word in TRAINING_PRECISIONS else ""


def cache_format(text: str | None) -> str:
    """A word of codes.KV_FORMATS, or "" ("auto" is no format)."""
    word = weight_format(text)
    return word if word in KV_FORMATS else ""
