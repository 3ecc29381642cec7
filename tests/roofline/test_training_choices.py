"""What the engine chooses for training where a scenario leaves it open: layouts with room, levers of the framework's own recipes."""

import math

import pytest

from roofline import architecture, hardware
from roofline.memory.constants import spreads
from roofline.predict import predict
from roofline.question import Question
from roofline.scenario import parse
from roofline.training.habits import usual_levers


def ask(model="meta-llama/Meta-Llama-3.1-70B", gpu="h100-sxm5-80gb", **scenario):
    raw = {"workload": "training", "model": "m", "gpu": "g", **scenario}
    question = Question(parse(raw), architecture.presets()[model], hardware.presets()[gpu])
    return predict([question], detail=False)[0]


@pytest.mark.parametrize("gpu", ["h100-sxm5-80gb", "a100-sxm4-80gb", "b200-sxm-180gb"])
@pytest.mark.parametrize("framework", ["megatron", "fsdp"])
def test_chosen_layouts_fit_at_the_upper_end_of_the_memory_error(gpu, framework):
    found = ask(gpu=gpu, gpu_count=256, training={"framework": framework})
    held = found["memory"]["per_gpu"]
    assert found["memory"]["fits"]
    assert held["total_bytes"] * math.exp(spreads()["peak_memory"]) <= held["capacity_bytes"]


def test_a_given_layout_that_just_fits_still_fits():
    layout = {"tp": 4, "pp": 4, "dp": 4}
    found = ask(gpu_count=64, parallelism=layout, training={"recompute": "none", "micro_batch": 1})
    assert found["memory"]["fits"]


def test_recipes_bring_the_attention_of_the_generation():
    assert "flash_attention_3" in usual_levers("megatron", math.nan)
    assert "flash_attention_3" not in usual_levers("megatron", 2022.4)
    assert "fused_kernels" not in usual_levers("fsdp", math.nan)
    assert "flash_attention_3" in ask(gpu_count=64)["scenario"]["optimizations"]


def test_long_sequences_over_context_parallel_ranks_reach_about_what_was_published():
    # Llama 3 (2024): 405B, 16,384 H100, 131,072 tokens over 16 ranks: 38 %, without the recomputation chosen here.
    layout = {"tp": 8, "pp": 16, "cp": 16, "dp": 8}
    run = {"seq_len": 131072, "global_batch": 128}
    found = ask("meta-llama/Meta-Llama-3.1-405B", gpu_count=16384, parallelism=layout, training=run)
    assert 0.22 < found["training"]["mfu"] < 0.42
