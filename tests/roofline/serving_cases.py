"""Scenarios for the tests of serving: one known model on one known GPU, with any column changed."""

from dataclasses import replace
from typing import Any

import numpy as np

from roofline import architecture, codes, hardware, memory, serving
from roofline.columns import Batch, Layout, Levers, Serving

GPUS = tuple(hardware.presets().values())
SLUGS = [gpu.slug for gpu in GPUS]
ALWAYS_ON = (
    "flash_attention_2",
    "fused_kernels",
    "cuda_graphs",
    "paged_attention",
    "continuous_batching",
    "chunked_prefill",
)


def levers(**changed: float) -> Levers:
    """The usual levers, some changed."""
    return Levers(**{name: changed.get(name, float(name in ALWAYS_ON)) for name in Levers.__dataclass_fields__})


def case(
    model: str = "llama-3.1-8b",
    gpu: str = "h100-sxm5-80gb",
    *,
    tp: int = 1,
    dp: int = 1,
    pp: int = 1,
    ep: int = 1,
    spread: bool = False,
    **load: Any,
) -> Batch:
    """A batch of shape () with `load` columns of Serving changed; values may be arrays."""
    columns = hardware.gpu_columns(GPUS).take(np.array(SLUGS.index(gpu)))
    usual: dict[str, Any] = {
        "engine": codes.ENGINES.index("vllm"),
        "engine_year": np.nan,
        "input_tokens": 1024.0,
        "output_tokens": 256.0,
        "concurrency": 32.0,
        "request_rate": np.nan,
        "weights": codes.WEIGHT_FORMATS.index("bf16"),
        "activations": 0,
        "kv_cache": 0,
        "max_model_len": 8192.0,
        "gpu_memory_utilization": 0.9,
        "max_num_batched_tokens": 8192.0,
        "max_num_seqs": 1024.0,
        "prefix_cache_hit": 0.0,
        "draft_tokens": 0.0,
        "acceptance": 0.0,
        "draft_cost": 0.0,
        "prefill_gpus": 0.0,
        "prefill_tp": 0.0,
        "decode_gpus": 0.0,
        "decode_tp": 0.0,
        "weight_bytes_override": np.nan,
    }
    layout = Layout(float(tp * dp * pp), tp, pp, 1.0, ep, dp, max(tp // ep, 1), 0.0, 1.0, 0.0, float(spread), 8.0, 50e9)
    return Batch(architecture.resolve(model).columns(), columns, layout, levers(), serving=Serving(**usual | load))


def plain() -> serving.ServingCoefficients:
    """Shipped coefficients without the measured corrections: physics alone."""
    return replace(serving.load(GPUS), corrections=None)


def speed(batch: Batch, c: serving.ServingCoefficients | None = None) -> serving.ServingSpeed:
    """Prediction with the shipped coefficients."""
    return serving.predict(batch, memory.serving(batch), c or serving.load(GPUS))
