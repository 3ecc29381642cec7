"""What memory must obey whatever the scenario: parts add up, more is never less, arrays answer as scalars do."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roofline import architecture, codes
from roofline.columns import Batch
from roofline.memory import serving, training
from roofline.memory.checkpoint import stored_bytes
from roofline.precision import (
    ACTIVATION_BYTES,
    BODY_BYTES,
    KV_BYTES,
    WEIGHT_BYTES,
    compute_peak,
)
from roofline.units import GIB
from tests.roofline import training_cases
from tests.roofline.memory_cases import gpu, model, serving_batch, training_batch

NAMES = (
    "meta-llama/Meta-Llama-3.1-8B",
    "deepseek-ai/DeepSeek-V3",
    "google/gemma-3-27b-it",
    "openai/gpt-oss-120b",
    "Qwen/Qwen3-Next-80B-A3B-Instruct",
    "mistralai/Mixtral-8x7B-v0.1",
    "state-spaces/mamba-2.8b-hf",
)
SERVING_PARTS = ("weights_bytes", "kv_cache_bytes", "activations_bytes", "runtime_bytes")
TRAINING_PARTS = ("weights_bytes", "gradients_bytes", "optimizer_bytes", "activations_bytes", "runtime_bytes")

names = st.sampled_from(NAMES)
sizes = st.sampled_from([1.0, 2.0, 4.0, 8.0])
loads = st.fixed_dictionaries(
    {
        "engine": st.sampled_from(codes.ENGINES),
        "weights": st.sampled_from(codes.WEIGHT_FORMATS),
        "kv_cache": st.sampled_from(codes.KV_FORMATS),
        "engine_year": st.sampled_from([2024.5, 2025.2, 2025.8, 2026.33, 2026.6, float("nan")]),
        "max_model_len": st.sampled_from([4096.0, 32_768.0, 131_072.0]),
        "concurrency": st.sampled_from([1.0, 64.0, float("inf")]),
    }
)
runs = st.fixed_dictionaries(
    {
        "framework": st.sampled_from(codes.FRAMEWORKS),
        "method": st.sampled_from(codes.METHODS),
        "precision": st.sampled_from(codes.TRAINING_PRECISIONS),
        "recompute": st.sampled_from(codes.RECOMPUTES),
        "optimizer": st.sampled_from(codes.OPTIMIZERS),
    }
)
layouts = st.fixed_dictionaries(
    {"tp": sizes, "pp": sizes, "dp": sizes, "zero_stage": st.sampled_from([0.0, 1.0, 2.0, 3.0])}
)


def of(held: object, name: str) -> float:
    return float(np.asarray(getattr(held, name)))


@settings(max_examples=60, deadline=None)
@given(names, layouts, loads)
def test_serving_parts_add_up_and_are_finite(name: str, spread: dict, load: dict) -> None:
    held = serving(serving_batch(name, sizes=spread, **load))
    assert sum(of(held, part) for part in SERVING_PARTS) == pytest.approx(of(held, "total_bytes"))
    for field in fields(held):
        assert np.isfinite(of(held, field.name)), field.name
    assert all(of(held, part) >= 0 for part in SERVING_PARTS)
    if held.fits:
        assert of(held, "shortfall_bytes") <= 1.0
        assert of(held, "max_concurrency") > 0
        assert of(held, "total_bytes") <= of(held, "capacity_bytes") * 1.05


@settings(max_examples=60, deadline=None)
@given(names, layouts, runs)
def test_training_parts_add_up_and_are_finite(name: str, spread: dict, run: dict) -> None:
    held = training(training_batch(name, sizes=spread, **run))
    assert sum(of(held, part) for part in TRAINING_PARTS) == pytest.approx(of(held, "total_bytes"))
    for field in fields(held):
        assert np.isfinite(of(held, field.name)), field.name
    assert all(of(held, part) >= 0 for part in TRAINING_PARTS)


@settings(max_examples=40, deadline=None)
@given(names, layouts, runs, st.sampled_from([("micro_batch", 2.0), ("seq_len", 8192.0), ("lora_rank", 64.0)]))
def test_more_work_never_needs_less(name: str, spread: dict, run: dict, more: tuple[str, float]) -> None:
    less = training(training_batch(name, sizes=spread, **run))
    grown = training(training_batch(name, sizes=spread, **run | {more[0]: more[1]}))
    assert of(grown, "total_bytes") >= of(less, "total_bytes") * (1 - 1e-9)


@settings(max_examples=40, deadline=None)
@given(names, runs)
def test_sharding_and_recompute_never_need_more(name: str, run: dict) -> None:
    states = ("weights_bytes", "gradients_bytes", "optimizer_bytes")
    held = [
        training(training_batch(name, sizes={"dp": 8.0, "zero_stage": stage}, **run)) for stage in (0.0, 1.0, 2.0, 3.0)
    ]
    totals = [sum(of(one, part) for part in states) for one in held]
    assert totals == sorted(totals, reverse=True)


@settings(max_examples=60, deadline=None)
@given(names, layouts, runs, st.sampled_from([0.0, 1.0]), st.sampled_from([1.0, 2.0, 16.0]))
def test_more_recompute_never_needs_more(name: str, spread: dict, run: dict, flash: float, batch: float) -> None:
    load = {"flash": flash, "global_batch": batch * spread["dp"]}
    kept = [
        of(training(training_batch(name, sizes=spread, **run | load | {"recompute": how})), "total_bytes")
        for how in ("none", "selective", "full")
    ]
    assert kept[1] <= kept[0] * (1 + 1e-9)
    assert kept[2] <= kept[1] * (1 + 1e-9)


@settings(max_examples=80, deadline=None)
@given(names, layouts, runs, st.sampled_from(["tp", "cp", "dp", "ep", "zero_stage"]))
def test_more_parallelism_needs_no_more_tensors(name: str, spread: dict, run: dict, grown: str) -> None:
    base = spread | {"cp": 1.0, "ep": 1.0, "expert_tp": 1.0}
    more = base | {grown: min(base[grown] + 1, 3.0) if grown == "zero_stage" else base[grown] * 2}
    if base["dp"] * base["tp"] * base["cp"] < more["ep"]:
        return
    less, much = (training(training_batch(name, sizes=sizes, **run)) for sizes in (more, base))
    assert of(less, "allocated_bytes") <= of(much, "allocated_bytes") * (1 + 1e-9)


@settings(max_examples=40, deadline=None)
@given(names, layouts, runs)
def test_more_stages_need_no_more_but_the_inputs_in_flight(name: str, spread: dict, run: dict) -> None:
    """Stages that divide the layers evenly: only embedded inputs of the micro-batches in flight are added."""
    base, more = spread, spread | {"pp": spread["pp"] * 2}
    if model(name).layers % more["pp"]:
        return
    less, much = (training(training_batch(name, sizes=sizes, **run)) for sizes in (more, base))
    wide = 2.0 if run["precision"] in ("fp32", "tf32") else 1.0
    inputs = spread["pp"] * 4096 * 2.0 * model(name).hidden * wide
    assert of(less, "allocated_bytes") <= of(much, "allocated_bytes") * (1 + 1e-9) + inputs


@settings(max_examples=40, deadline=None)
@given(names, loads, st.sampled_from([1.5, 2.0, 4.0]))
def test_a_larger_gpu_holds_no_fewer_tokens(name: str, load: dict, factor: float) -> None:
    small = serving(serving_batch(name, on=gpu(gib=80), **load))
    large = serving(serving_batch(name, on=gpu(gib=80 * factor), **load))
    assert of(large, "kv_cache_tokens") >= of(small, "kv_cache_tokens")


@settings(max_examples=40, deadline=None)
@given(names, loads, sizes)
def test_narrow_weights_leave_no_less_room(name: str, load: dict, tp: float) -> None:
    wide, narrow = (
        serving(serving_batch(name, sizes={"tp": tp}, **load | {"weights": weights})) for weights in ("bf16", "fp8")
    )
    assert of(narrow, "weights_bytes") < of(wide, "weights_bytes")
    assert of(narrow, "kv_available_bytes") >= of(wide, "kv_available_bytes")


def stacked(batches: list[Batch]) -> Batch:
    def column(name: str) -> Any:
        first = getattr(batches[0], name)
        return type(first).stack([getattr(batch, name) for batch in batches]) if first else None

    return Batch(*(column(name) for name in ("model", "gpu", "layout", "levers", "training", "serving")))


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(names, layouts, loads), min_size=2, max_size=6))
def test_serving_columns_answer_as_scalars_do(scenarios: list) -> None:
    batches = [serving_batch(name, sizes=spread, **load) for name, spread, load in scenarios]
    together = serving(stacked(batches))
    for index, batch in enumerate(batches):
        alone = serving(batch)
        for field in fields(alone):
            value = np.broadcast_to(getattr(together, field.name), len(batches))[index]
            assert value == pytest.approx(of(alone, field.name), rel=1e-12), field.name


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(names, layouts, runs), min_size=2, max_size=6))
def test_training_columns_answer_as_scalars_do(scenarios: list) -> None:
    batches = [training_batch(name, sizes=spread, **run) for name, spread, run in scenarios]
    together = training(stacked(batches))
    for index, batch in enumerate(batches):
        alone = training(batch)
        for field in fields(alone):
            value = np.broadcast_to(getattr(together, field.name), len(batches))[index]
            assert value == pytest.approx(of(alone, field.name), rel=1e-12), field.name


def test_every_format_has_its_bytes() -> None:
    assert len(BODY_BYTES) == len(codes.WEIGHT_FORMATS)
    assert len(KV_BYTES) == len(codes.KV_FORMATS)
    assert len(ACTIVATION_BYTES) == len(codes.ACTIVATION_FORMATS)
    by_name = dict(zip(codes.WEIGHT_FORMATS, WEIGHT_BYTES, strict=True))
    assert by_name["fp8_block"] == 1 + 4 / 16_384
    assert by_name["int4_g128"] == pytest.approx(0.5195, abs=1e-4)
    assert (by_name["mxfp4"], by_name["nvfp4"], by_name["mxfp8"]) == (0.53125, 0.5625, 1.03125)


@pytest.mark.parametrize(
    ("weights", "gib"), [("q4_k_m", 4.58), ("q8_0", 7.95), ("q6_k", 6.14), ("q5_k_m", 5.33), ("q4_0", 4.34)]
)
def test_gguf_files_of_llama_3_8b(weights: str, gib: float) -> None:
    """Published file sizes of Llama-3-8B."""
    held = serving(serving_batch("meta-llama/Meta-Llama-3-8B", engine="llama_cpp", weights=weights))
    assert held.weights_bytes / GIB == pytest.approx(gib, rel=0.005)


def test_arithmetic_falls_back_to_the_next_wider_type() -> None:
    def peak(slug: str, activations: str) -> float:
        return float(compute_peak(gpu(slug), codes.ACTIVATION_FORMATS.index(activations)))

    hopper, ampere = gpu("h100-sxm5-80gb"), gpu("a100-sxm4-80gb")
    assert peak("h100-sxm5-80gb", "nvfp4") == peak("h100-sxm5-80gb", "fp8") == hopper.peak_fp8
    assert peak("a100-sxm4-80gb", "fp8") == ampere.peak_bf16
    assert peak("a100-sxm4-80gb", "int8") == ampere.peak_int8
    assert peak("h100-sxm5-80gb", "fp32") == hopper.peak_fp32


def test_a_static_batch_allocates_for_what_is_asked() -> None:
    asked: dict[str, Any] = {"engine": "static_batching", "concurrency": 64.0}
    held = serving(serving_batch(NAMES[0], **asked))
    assert held.kv_cache_bytes == 64 * (1024 + 256) * held.kv_bytes_per_token
    assert not serving(serving_batch(NAMES[0], **asked | {"concurrency": 100_000.0})).fits


def test_attention_data_parallel_pools_the_caches_of_its_ranks() -> None:
    spread = {"dp": 8.0, "ep": 8.0, "attention_dp": 1.0}
    pooled = serving(
        serving_batch("deepseek-ai/DeepSeek-V3", on=gpu("h200-sxm-141gb"), sizes=spread, weights="fp8_block")
    )
    tensor = serving(
        serving_batch("deepseek-ai/DeepSeek-V3", on=gpu("h200-sxm-141gb"), sizes={"tp": 8.0}, weights="fp8_block")
    )
    assert pooled.kv_bytes_per_token == tensor.kv_bytes_per_token
    assert pooled.weights_bytes > tensor.weights_bytes
    assert pooled.kv_cache_tokens > 4 * tensor.kv_cache_tokens


def test_checkpoints_are_counted_once() -> None:
    oss = architecture.resolve("openai/gpt-oss-120b")
    assert stored_bytes(oss, "mxfp4") / GIB == pytest.approx(60.77, rel=0.001)
    assert stored_bytes(oss, "mxfp4") == stored_bytes(oss, "mxfp4")
    assert np.isnan(stored_bytes(architecture.resolve(NAMES[0]), "fp8"))


def test_lone_scenarios_are_left_as_they_are() -> None:
    batch = serving_batch(NAMES[2])
    before = replace(batch.model)
    serving(batch)
    assert batch.model == before
    assert model(NAMES[2]) == before


@pytest.mark.parametrize("framework", codes.FRAMEWORKS)
@pytest.mark.parametrize("method", codes.METHODS)
def test_more_sharding_never_takes_more_memory(framework, method):
    small = training_cases.config(num_hidden_layers=2, hidden_size=1024, intermediate_size=2048, num_attention_heads=8)
    for optimizer, gpus, precision in product(range(len(codes.OPTIMIZERS)), (2.0, 64.0), ("bf16", "fp8")):
        case = training_cases.batch(
            small,
            gpus=gpus,
            tp=1,
            framework=codes.FRAMEWORKS.index(framework),
            method=codes.METHODS.index(method),
            precision=codes.TRAINING_PRECISIONS.index(precision),
            optimizer=optimizer,
            zero_stage=np.arange(4.0),
            seq_len=512.0,
        )
        assert np.all(np.diff(training(case).total_bytes) <= 1.0)
