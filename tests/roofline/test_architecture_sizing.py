"""Public reports of wrong sizing that concern counts, with the value that is right."""

import json
from pathlib import Path

import pytest

import roofline
from roofline.architecture import (
    Architecture,
    UnsupportedArchitecture,
    checkpoint_bytes,
    parse,
    presets,
    quantized_params,
)

GIB = 2**30
MODELS = Path(roofline.__file__).parent / "data" / "models"


def shipped(name: str) -> Architecture:
    return presets()[name]


def test_it_works() -> None:
    assert shipped("meta-llama/Meta-Llama-3.1-70B").total_params * 2 == 141_107_412_992


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("meta-llama/Llama-2-7b-hf", 6_738_415_616),
        ("huggyllama/llama-65b", 80 * (4 * 8192**2 + 3 * 8192 * 22016 + 2 * 8192) + 2 * 32000 * 8192 + 8192),
    ],
)
def test_three_matrices_and_the_true_width(name: str, params: int) -> None:
    assert shipped(name).total_params == params


@pytest.mark.parametrize(
    ("name", "per_token"),
    [
        ("Qwen/Qwen3-4B", 147_456),
        ("deepseek-ai/DeepSeek-V3", 70_272),
        ("mistralai/Mistral-Small-3.1-24B-Instruct-2503", 163_840),
        ("meta-llama/Meta-Llama-3-8B", 131_072),
        ("meta-llama/Llama-2-70b-hf", 327_680),
        ("Qwen/Qwen3-30B-A3B", 98_304),
        ("meta-llama/Meta-Llama-3.1-405B", 516_096),
        ("meta-llama/Llama-2-7b-hf", 524_288),
        ("moonshotai/Kimi-K3", 27_648),
        ("moonshotai/Kimi-Linear-48B-A3B-Instruct", 8_064),
        ("google/gemma-4-31B", 81_920),
    ],
)
def test_cache_bytes_per_token(name: str, per_token: int) -> None:
    assert shipped(name).kv_bytes_per_token == per_token


@pytest.mark.parametrize(("name", "every_layer"), [("openai/gpt-oss-20b", 49_152), ("google/gemma-3-12b-it", 393_216)])
def test_cache_bytes_with_the_windowed_layers(name: str, every_layer: int) -> None:
    model = shipped(name)
    assert model.kv_bytes_per_token + model.kv_window_bytes_per_token == every_layer


def test_windowed_layers_stop_growing() -> None:
    model, tokens = shipped("openai/gpt-oss-120b"), 65_936
    fp8 = (model.kv_bytes_per_token * tokens + model.kv_window_bytes_per_token * (model.window or 0)) / 2
    assert fp8 / GIB == pytest.approx(1.1341, rel=1e-3)


def test_gemma_4_window_share() -> None:
    model = shipped("google/gemma-4-31B")
    assert model.kv_window_bytes_per_token * (model.window or 0) == 50 * 16_384 * 1024


def test_an_mla_cache_in_blocks_of_eight_bits() -> None:
    assert shipped("deepseek-ai/DeepSeek-R1").kv_bytes_per_token / 2 * 32_768 * 34 / 32 == 1_223_294_976


def test_latent_attention_of_a_small_model() -> None:
    latent = {
        "q_lora_rank": 1024,
        "kv_lora_rank": 256,
        "qk_rope_head_dim": 64,
        "qk_nope_head_dim": 64,
        "v_head_dim": 128,
    }
    sizes = {
        "hidden_size": 4096,
        "num_hidden_layers": 36,
        "num_attention_heads": 32,
        "intermediate_size": 12288,
        "vocab_size": 131072,
    }
    assert (
        parse(
            {"model_type": "mistral4", **sizes, **latent, "n_routed_experts": 128, "num_experts_per_tok": 4}
        ).kv_bytes_per_token
        == 23_040
    )


@pytest.mark.parametrize(
    ("name", "flops"),
    [("Qwen/Qwen3-0.6B", 1_192_099_840), ("Qwen/Qwen2-57B-A14B", 27_409_464_320)],
)
def test_flops_of_a_token(name: str, flops: int) -> None:
    config = json.loads((MODELS / "Qwen__Qwen3-4B.json").read_text()) if "0.6B" in name else None
    if config:
        config.update(
            hidden_size=1024,
            intermediate_size=3072,
            num_hidden_layers=28,
            num_attention_heads=16,
            num_key_value_heads=8,
        )
        for tied in (True, False):
            assert parse({**config, "tie_word_embeddings": tied}).flops_per_token == flops
    else:
        assert shipped(name).flops_per_token == flops


@pytest.mark.parametrize(
    ("name", "active"), [("openai/gpt-oss-120b", 5_132_849_472), ("allenai/OLMoE-1B-7B-0924", 1_282_017_280)]
)
def test_active_parameters_not_all_of_them(name: str, active: int) -> None:
    model = shipped(name)
    looked_up = model.embedding_params if name.startswith("openai") else 0
    assert model.active_params - looked_up == active


def test_mixtral_per_rank() -> None:
    parts = shipped("mistralai/Mixtral-8x7B-v0.1").parts()
    replicated = parts["router"] + parts["norms"]
    shared = sum(parts.values()) - parts["routed_experts"] - replicated
    assert parts["routed_experts"] == 45_097_156_608
    assert parts["routed_experts"] // 4 + shared // 8 + replicated == 11_476_144_128


@pytest.mark.parametrize(("name", "gib"), [("openai/gpt-oss-20b", 12.816), ("openai/gpt-oss-120b", 60.768)])
def test_bytes_of_an_mxfp4_checkpoint(name: str, gib: float) -> None:
    assert (checkpoint_bytes(shipped(name)) or 0) / GIB == pytest.approx(gib, rel=1e-3)


def test_an_fp8_checkpoint_keeps_its_head() -> None:
    weights = {"num_bits": 8, "type": "float", "strategy": "channel"}
    section = {
        "quant_method": "compressed-tensors",
        "config_groups": {"group_0": {"weights": weights}},
        "ignore": ["lm_head"],
    }
    config = json.loads((MODELS / "meta-llama__Llama-3.3-70B-Instruct.json").read_text())
    model = parse({**config, "quantization_config": section})
    assert sum(quantized_params(model).values()) == 68_451_041_280
    assert (checkpoint_bytes(model) or 0) / GIB == pytest.approx(67.667, rel=1e-4)


def test_modules_that_a_checkpoint_ignores_stay_at_sixteen_bits() -> None:
    section = {
        "quant_method": "modelopt",
        "quant_algo": "NVFP4",
        "ignore": ["lm_head", "*self_attn*", "re:.*vision_tower.*"],
    }
    config = json.loads((MODELS / "moonshotai__Kimi-K2-Instruct.json").read_text())
    model, everything = (
        parse({**config, "quantization_config": {**section, "ignore": kept}}) for kept in (section["ignore"], [])
    )
    assert quantized_params(model)["attention"] == 0
    growth = (checkpoint_bytes(model) or 0) / (checkpoint_bytes(everything) or 1) - 1
    assert growth == pytest.approx(0.015, abs=0.01)


@pytest.mark.parametrize(
    ("section", "stored"),
    [
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, "int4_g128"),
        ({"quant_method": "gptq", "bits": 8}, "int8"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "nf4"),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8_block"),
        ({"quant_method": "fbgemm_fp8"}, "fp8"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "nvfp4"),
        ({"quantization": {"quant_algo": "FP8"}}, "fp8"),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"g": {"weights": {"num_bits": 4, "type": "int", "group_size": 64}}},
            },
            "int4_g128",
        ),
        ({"quant_method": "compressed-tensors", "format": "w8a8", "config_groups": {}}, "int8"),
    ],
)
def test_formats(section: dict[str, object], stored: str) -> None:
    config = json.loads((MODELS / "Qwen__Qwen3-8B.json").read_text())
    found = parse({**config, "quantization_config": section}).quantization
    assert found is not None
    assert found.weights == stored


@pytest.mark.parametrize("section", [{"quant_method": "someones_own"}, {}, [], "fp8"])
def test_a_quantisation_without_a_name(section: object) -> None:
    config = json.loads((MODELS / "Qwen__Qwen3-8B.json").read_text())
    model = parse({**config, "quantization_config": section})
    assert model.quantization is None
    assert checkpoint_bytes(model) is None
    assert quantized_params(model) == {}


@pytest.mark.parametrize("pattern", ["re:(a+)+$", "re:.*.*.*.*x", "re:(", "re:" + "a" * 400])
def test_an_expression_that_cannot_be_read_is_named_and_not_matched(pattern: str) -> None:
    published = json.loads((MODELS / "meta-llama__Llama-3.3-70B-Instruct.json").read_text())
    config = {**published, "quantization_config": {"quant_method": "fp8", "ignore": [pattern, "re:.*self_attn.*"]}}
    model = parse(config)
    assert model.quantization is not None
    assert model.quantization.exceptions == ("re:.*self_attn.*",)
    assert any(pattern[:60] in warning for warning in model.warnings)


def test_patterns_that_take_too_long_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roofline.architecture.checkpoint.MOST_SECONDS", -1.0)
    published = json.loads((MODELS / "meta-llama__Llama-3.3-70B-Instruct.json").read_text())
    model = parse({**published, "quantization_config": {"quant_method": "fp8", "ignore": ["re:.*self_attn.*"]}})
    with pytest.raises(UnsupportedArchitecture, match="too long"):
        quantized_params(model)
