"""Training memory: published checks of the formulas, recipes, sharding, pipelines and adapters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from roofline.memory import DEFINITIONS, peak_memory, training
from roofline.memory.activations import activations
from roofline.memory.constants import training_constants
from roofline.memory.shards import Stage, stage
from roofline.memory.states import adapter_params, recipe_bytes
from roofline.units import GIB
from tests.roofline.memory_cases import gpt, gpu, model, training_batch

LLAMA_8B, LLAMA_2_7B = "meta-llama/Meta-Llama-3.1-8B", "meta-llama/Llama-2-7b-hf"
GPT_3 = gpt(12_288, 96, 96, 51_200)


def layer_bytes(batch) -> float:
    """Bytes of one token kept in one layer, one micro-batch in flight."""
    one, none = (activations(batch, Stage(layers, 1.0, 1.0), training_constants()) for layers in (1.0, 0.0))
    return float((one.layers - none.layers) / one.tokens)


def test_gpt_3_keeps_34_d_for_each_token_and_layer() -> None:
    statistics = 4 * 96  # of the softmax, which the published formula leaves out
    assert layer_bytes(training_batch(GPT_3)) == 34 * 12_288 + statistics


def test_llama_8b_keeps_34_d_too() -> None:
    assert layer_bytes(training_batch(LLAMA_8B)) == 34 * 4096 + 4 * 32


def test_scores_without_flash_attention() -> None:
    held = layer_bytes(training_batch(GPT_3, flash=0.0, seq_len=2048.0))
    assert held == pytest.approx(34 * 12_288 + 5 * 96 * 2048, rel=0.002)


def test_korthikanti_interleaved_pipeline() -> None:
    """GPT-3 with t = 8, p = 8, v = 3, sequence parallelism and selective recompute: 12.35 GiB (arXiv 2205.05198)."""
    sizes = {"tp": 8.0, "pp": 8.0, "virtual_pipeline": 3.0, "sequence_parallel": 1.0}
    batch = training_batch(GPT_3, sizes=sizes, seq_len=2048.0, recompute="selective", flash=0.0)
    held = activations(batch, stage(batch.model, 8.0, 3.0), training_constants()).layers
    embedding = 2 * 12_288 / 8 * 2048 * (8 + 7 / 3)
    assert (held - embedding) / GIB == pytest.approx(12.35, rel=0.005)


@pytest.mark.parametrize(
    ("framework", "gradient", "total"),
    [("megatron", "fp32", 18), ("megatron", "bf16", 16), ("fsdp", "bf16", 16), ("deepspeed", "bf16", 16)],
)
def test_bytes_of_a_parameter(framework: str, gradient: str, total: int) -> None:
    each = recipe_bytes(training_batch(LLAMA_8B, framework=framework, gradient_dtype=gradient))
    assert each.weight + each.gradient + each.optimizer == total


def test_fine_tuning_in_bf16_alone() -> None:
    each = recipe_bytes(training_batch(LLAMA_8B, framework="fsdp", method="full_finetune", gradient_dtype="bf16"))
    assert each == (2.0, 2.0, 4.0)
    safe = recipe_bytes(training_batch(LLAMA_8B, framework="fsdp", method="full_finetune", gradient_dtype="fp32"))
    assert safe == (4.0, 4.0, 8.0)


def test_recipes_of_latent_attention_keep_moments_in_bf16() -> None:
    moonlight, llama = "deepseek-ai/DeepSeek-V3", LLAMA_8B
    held = {
        (framework, name): float(recipe_bytes(training_batch(name, framework=framework)).optimizer)
        for framework in ("nemo", "megatron")
        for name in (moonlight, llama)
    }
    assert held == {
        ("nemo", moonlight): 8.0,
        ("nemo", llama): 12.0,
        ("megatron", moonlight): 12.0,
        ("megatron", llama): 12.0,
    }


@pytest.mark.parametrize(
    ("gib", "compiled", "load"),
    [
        (82.4, 0.0, {"micro_batch": 2.0, "seq_len": 8192.0, "recompute": "selective"}),
        (77.0, 1.0, {"micro_batch": 2.0, "seq_len": 8192.0, "recompute": "selective"}),
        (83.9, 1.0, {"micro_batch": 1.0, "seq_len": 32_768.0, "recompute": "full", "precision": "fp8"}),
    ],
)
def test_peaks_that_torchtitan_publishes(gib: float, compiled: float, load: dict) -> None:
    """Llama-3.1-8B on eight H100 of 96 GB, FSDP (torchtitan, docs/performance.md, December 2024): not fitted."""
    sizes = {"dp": 8.0, "zero_stage": 3.0}
    batch = training_batch(
        LLAMA_8B, on=gpu(gib=95.0), sizes=sizes, framework="torchtitan", framework_year=2024.9, **load
    )
    batch.levers.torch_compile = compiled
    assert training(batch).reserved_bytes / GIB == pytest.approx(gib, rel=0.08)


@pytest.mark.parametrize(
    ("framework", "compiled", "logit"), [("torchtitan", 1.0, 8), ("fsdp", 0.0, 16), ("nemo", 0.0, 8)]
)
def test_bytes_of_a_logit(framework: str, compiled: float, logit: int) -> None:
    batch = training_batch(LLAMA_8B, framework=framework, framework_year=2026.0)
    batch.levers.torch_compile = compiled
    held = activations(batch, stage(batch.model, 1.0), training_constants())
    assert held.loss == held.tokens * batch.model.vocab * logit


@pytest.mark.parametrize(
    ("optimizer", "states"), [("adamw", 12), ("adamw_8bit", 6), ("muon", 8), ("lion", 8), ("sgd", 8), ("adafactor", 4)]
)
def test_optimizer_states(optimizer: str, states: int) -> None:
    assert recipe_bytes(training_batch(LLAMA_8B, optimizer=optimizer)).optimizer == pytest.approx(states, abs=0.02)


@pytest.mark.parametrize(("stage_of", "divided"), [(0, 0), (1, 12), (2, 16), (3, 18)])
def test_zero_shards_optimizer_then_gradients_then_weights(stage_of: int, divided: int) -> None:
    batch = training_batch(LLAMA_2_7B, sizes={"dp": 8.0, "zero_stage": float(stage_of)})
    held = training(batch)
    params = batch.model.total_params
    states = held.weights_bytes + held.gradients_bytes + held.optimizer_bytes
    assert states == pytest.approx(params * ((18 - divided) + divided / 8))


def test_tensor_and_pipeline_divide_once_and_then_zero() -> None:
    sizes = {"tp": 2.0, "pp": 2.0, "dp": 4.0, "zero_stage": 3.0}
    held = training(training_batch(LLAMA_2_7B, sizes=sizes))
    share = held.weights_bytes / (2 * model(LLAMA_2_7B).total_params)
    assert share == pytest.approx(1 / 16, rel=0.02)


def test_experts_shard_over_their_own_group() -> None:
    """Eight ranks, two for each quarter of the experts: the pair shares their states."""
    sizes = {"dp": 8.0, "ep": 4.0, "zero_stage": 1.0}
    batch = training_batch("mistralai/Mixtral-8x7B-v0.1", sizes=sizes)
    held, columns = training(batch), batch.model
    dense = columns.total_params - columns.expert_params
    assert held.optimizer_bytes == pytest.approx(12 * (dense / 8 + columns.expert_params / 4 / 2))


def test_adapters_train_and_the_rest_is_frozen() -> None:
    batch = training_batch(LLAMA_8B, method="lora", framework="hf_trainer")
    held, columns = training(batch), batch.model
    adapters = adapter_params(columns, 16.0, 1)
    assert adapters == 41_943_040  # peft, rank 16, all linear layers of Llama-3-8B
    assert adapter_params(columns, 16.0, 0) == 13_631_488
    assert held.gradients_bytes == 4 * adapters
    assert held.weights_bytes == pytest.approx(2 * columns.total_params + 4 * adapters)


def test_full_recompute_keeps_inputs_and_one_layer() -> None:
    none, selective, full = (training(training_batch(LLAMA_8B, recompute=how)) for how in ("none", "selective", "full"))
    assert full.activations_bytes < 0.3 * none.activations_bytes
    assert selective.activations_bytes == none.activations_bytes  # FlashAttention leaves no scores to drop


def test_selective_checkpointing_of_pytorch_stacks() -> None:
    none, selective = (
        layer_bytes(training_batch(LLAMA_8B, framework="torchtitan", recompute=how)) for how in ("none", "selective")
    )
    assert 0.35 < selective / none < 0.55


def test_grouped_products_are_recomputed() -> None:
    """Selective checkpointing keeps plain matrix products; those of routed experts are none."""
    experts = model("Qwen/Qwen3-30B-A3B")
    more = replace(experts, top_k=experts.top_k * 2.0)
    few, many = (
        layer_bytes(training_batch(columns, framework="torchtitan", recompute="selective"))
        for columns in (experts, more)
    )
    assert few == many


def test_uneven_pipeline_stages() -> None:
    """126 layers on eight stages: six have one more than the ends, and a layer outweighs the embedding."""
    columns = model("meta-llama/Meta-Llama-3.1-405B")
    assert stage(columns, 8.0) == (16.0, 0.0, 0.0)
    assert stage(columns, 1.0) == (126.0, 1.0, 1.0)
    assert stage(replace(columns, layers=128), 8.0) == (16.0, 1.0, 0.0)
    thin = replace(columns, embedding_params=columns.embedding_params * 4)
    assert stage(thin, 8.0, 8.0) == (15.0, 1.0, 0.0)  # embedding and head count as a layer each


def test_definitions_contain_each_other() -> None:
    batch = training_batch(LLAMA_8B, sizes={"dp": 8.0, "zero_stage": 3.0}, framework="fsdp")
    peaks = [float(peak_memory(batch, code)) for code in range(len(DEFINITIONS))]
    assert peaks == sorted(peaks)
    assert peak_memory(batch, np.arange(3)).tolist() == peaks
    assert peaks[2] == training(batch).total_bytes


def test_sequence_and_context_parallel_divide_activations() -> None:
    whole, tensor, sequence, context = (
        training(training_batch(LLAMA_8B, sizes=sizes)).activations_bytes
        for sizes in ({}, {"tp": 4.0}, {"tp": 4.0, "sequence_parallel": 1.0}, {"cp": 4.0})
    )
    assert sequence < tensor < whole
    assert context == pytest.approx(whole / 4)


def test_frozen_weights_of_an_fp8_recipe_are_fp8() -> None:
    held = training(training_batch("meta-llama/Llama-2-70b-hf", method="lora", framework="nemo", precision="fp8"))
    assert held.weights_bytes / model("meta-llama/Llama-2-70b-hf").total_params == pytest.approx(1.0, abs=0.02)
