"""Scenarios for the memory tests, in a line each."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from roofline import architecture, codes
from roofline.columns import Batch, Gpu, Layout, Levers, Model, Serving, Training
from roofline.hardware import presets
from roofline.memory import ServingMemory, serving
from roofline.units import GIB

ON = 1.0


def model(name: str | dict[str, Any]) -> Model:
    """The columns of a catalogue model, or of a configuration."""
    found = architecture.parse(name) if isinstance(name, dict) else architecture.resolve(name)
    return found.columns()


def gpu(slug: str = "h100-sxm5-80gb", gib: float | None = None) -> Gpu:
    columns = presets()[slug].columns()
    if gib is not None:
        columns.memory_bytes = gib * GIB
    return columns


def layout(**sizes: float) -> Layout:
    plain = {
        "tp": 1.0,
        "pp": 1.0,
        "cp": 1.0,
        "ep": 1.0,
        "dp": 1.0,
        "zero_stage": 0.0,
        "virtual_pipeline": 1.0,
        "sequence_parallel": 0.0,
        "attention_dp": 0.0,
        "gpus_per_node": 8.0,
        "internode_bandwidth": 5e10,
    } | sizes
    plain.setdefault("expert_tp", plain["tp"] if plain["ep"] == 1 else 1.0)
    plain.setdefault("gpus", plain["tp"] * plain["pp"] * plain["cp"] * plain["dp"])
    return Layout(**plain)


def levers(**off: float) -> Levers:
    return replace(Levers(*(ON for _ in Levers.__dataclass_fields__)), **off)


def serving_load(**values: Any) -> Serving:
    words = {"engine": "vllm", "weights": "bf16", "kv_cache": "bf16", "activations": "bf16"} | {
        key: value for key, value in values.items() if isinstance(value, str)
    }
    lists = {
        "engine": codes.ENGINES,
        "weights": codes.WEIGHT_FORMATS,
        "kv_cache": codes.KV_FORMATS,
        "activations": codes.ACTIVATION_FORMATS,
    }
    numbers = {
        "engine_year": 2026.33,
        "input_tokens": 1024.0,
        "output_tokens": 256.0,
        "concurrency": math.inf,
        "request_rate": math.nan,
        "max_model_len": 8192.0,
        "gpu_memory_utilization": 0.9,
        "max_num_batched_tokens": 8192.0,
        "max_num_seqs": math.nan,
        "prefix_cache_hit": 0.0,
        "draft_tokens": 0.0,
        "acceptance": 0.0,
        "draft_cost": 0.0,
        "prefill_gpus": 0.0,
        "prefill_tp": 0.0,
        "decode_gpus": 0.0,
        "decode_tp": 0.0,
        "weight_bytes_override": math.nan,
    } | {key: value for key, value in values.items() if not isinstance(value, str)}
    return Serving(**{key: lists[key].index(word) for key, word in words.items()}, **numbers)


def serving_batch(
    name: str | dict[str, Any] | Model, *, on: Gpu | None = None, sizes: dict[str, float] | None = None, **load: Any
) -> Batch:
    columns = name if isinstance(name, Model) else model(name)
    return Batch(columns, on or gpu(), layout(**(sizes or {})), levers(), None, serving_load(**load))


def with_free(free_gib: float, batch: Batch) -> ServingMemory:
    """The memory of `batch` on a GPU on which the engine's rule leaves `free_gib` for the KV cache."""
    load = batch.serving
    assert load is not None
    for _ in range(2):
        missing = free_gib * GIB - float(serving(batch).kv_available_bytes)
        batch.gpu.memory_bytes = batch.gpu.memory_bytes + missing / load.gpu_memory_utilization
    return serving(batch)


def training_run(**values: Any) -> Training:
    lists = {
        "method": codes.METHODS,
        "framework": codes.FRAMEWORKS,
        "precision": codes.TRAINING_PRECISIONS,
        "gradient_dtype": codes.GRADIENT_DTYPES,
        "recompute": codes.RECOMPUTES,
        "optimizer": codes.OPTIMIZERS,
        "lora_targets": codes.LORA_TARGETS,
    }
    words = {
        "method": "pretrain",
        "framework": "megatron",
        "precision": "bf16",
        "gradient_dtype": "fp32",
        "recompute": "none",
        "optimizer": "adamw",
        "lora_targets": "all_linear",
    } | {key: value for key, value in values.items() if isinstance(value, str)}
    numbers = {
        "framework_year": 2025.0,
        "seq_len": 4096.0,
        "global_batch": 512.0,
        "micro_batch": 1.0,
        "total_tokens": math.nan,
        "lora_rank": 16.0,
        "padding_fraction": 0.0,
        "data_loader_bytes_per_s": math.inf,
    } | {key: value for key, value in values.items() if not isinstance(value, str)}
    return Training(**{key: lists[key].index(word) for key, word in words.items()}, **numbers)


def training_batch(
    name: str | dict[str, Any] | Model,
    *,
    on: Gpu | None = None,
    sizes: dict[str, float] | None = None,
    flash: float = ON,
    **run: Any,
) -> Batch:
    columns = name if isinstance(name, Model) else model(name)
    switched = levers(flash_attention_2=flash, flash_attention_3=flash, torch_compile=0.0)
    return Batch(columns, on or gpu(), layout(**(sizes or {})), switched, training_run(**run), None)


def gpt(hidden: int, layers: int, heads: int, vocab: int) -> Model:
    """A GPT without gates whose feed-forward is four times as wide."""
    return architecture.from_hint(f"hidden={hidden};layers={layers};heads={heads};vocab={vocab}").columns()
