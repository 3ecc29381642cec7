"""Structure read from single configurations: what is windowed, latent, shared, sparse, recurrent."""

import json
from typing import Any

import pytest

from roofline.architecture import Architecture, parse, presets, resolve

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "intermediate_size": 96,
    "vocab_size": 100,
    "tie_word_embeddings": False,
}
DBRX = {
    "model_type": "dbrx",
    "d_model": 6144,
    "n_heads": 48,
    "n_layers": 40,
    "vocab_size": 100352,
    "tie_word_embeddings": False,
    "attn_config": {"kv_n_heads": 8, "clip_qkv": 8, "rope_theta": 500000},
    "ffn_config": {"ffn_hidden_size": 10752, "moe_num_experts": 16, "moe_top_k": 4},
}


def model(**changes: Any) -> Architecture:
    return parse({**LLAMA, **changes})


def test_it_works() -> None:
    layer = 64 * 64 * 2 + 2 * 64 * 16 + 3 * 64 * 96 + 2 * 64
    assert model().total_params == 4 * layer + 64 + 2 * 100 * 64


def test_head_dim_of_the_configuration_wins() -> None:
    assert model(head_dim=32).kv_bytes_per_token == 4 * 2 * 2 * 32 * 2
    assert model().kv_bytes_per_token == 4 * 2 * 2 * 8 * 2


def test_tied_embeddings_count_once_and_cost_the_same_flops() -> None:
    untied, tied = model(), model(tie_word_embeddings=True)
    assert untied.total_params - tied.total_params == 100 * 64
    assert tied.lm_head_params == 0
    assert untied.flops_per_token == tied.flops_per_token


def test_active_parameters_of_experts() -> None:
    moe = model(model_type="qwen3_moe", num_experts=16, num_experts_per_tok=2, moe_intermediate_size=32)
    assert moe.total_params - moe.active_params == 4 * 14 * 3 * 64 * 32


def test_dense_layers_before_experts() -> None:
    moe = model(
        model_type="deepseek",
        n_routed_experts=4,
        num_experts_per_tok=1,
        moe_intermediate_size=8,
        first_k_dense_replace=1,
    )
    assert [(group.count, group.feed_forward.kind) for group in moe.groups if group.feed_forward] == [
        (1, "dense"),
        (3, "moe"),
    ]


def test_windowed_layers() -> None:
    windowed = model(model_type="gemma3_text", sliding_window=16, sliding_window_pattern=2, head_dim=8)
    assert windowed.window == 16
    assert windowed.kv_bytes_per_token == windowed.kv_window_bytes_per_token == 2 * 2 * 2 * 8 * 2


def test_every_layer_windowed() -> None:
    mistral = model(model_type="mistral", sliding_window=32)
    assert (mistral.kv_bytes_per_token, mistral.window) == (0, 32)
    assert model(model_type="mistral", sliding_window=None).window is None


def test_a_window_that_is_switched_off() -> None:
    assert model(model_type="qwen2", sliding_window=32, use_sliding_window=False).window is None


def test_latent_attention_is_read_from_the_keys() -> None:
    latent = {"kv_lora_rank": 16, "qk_rope_head_dim": 4, "qk_nope_head_dim": 8, "v_head_dim": 8, "q_lora_rank": None}
    known = model(model_type="deepseek_v2", n_routed_experts=None, **latent)
    unknown = model(model_type="someones_own", **latent)
    assert known.kv_bytes_per_token == unknown.kv_bytes_per_token == 4 * (16 + 4) * 2
    assert unknown.warnings


def test_an_indexer_has_a_cache_of_its_own() -> None:
    glm = presets()["zai-org/GLM-5"]
    assert glm.kv_indexer_bytes_per_token == 78 * 128 * 2
    assert glm.kv_bytes_per_token == 78 * 576 * 2


def test_layers_that_share_a_cache_keep_none() -> None:
    gemma = presets()["google/gemma-4-E2B"].columns()
    assert gemma.kv_shared_layers == 20
    assert gemma.full_kv_layers + gemma.window_kv_layers == 15


def test_state_counts_kept_columns_of_the_convolution() -> None:
    jamba = presets()["ai21labs/Jamba-v0.1"]
    assert jamba.state_bytes_per_sequence == 28 * 2 * (8192 * 16 + 8192 * 3)
    codestral = presets()["mistralai/Mamba-Codestral-7B-v0.1"]
    assert codestral.state_bytes_per_sequence == 64 * 2 * (128 * 64 * 128 + 3 * (8192 + 2 * 8 * 128))


def test_the_language_model_inside_a_wrapper() -> None:
    text = {
        "num_hidden_layers": 27,
        "hidden_size": 2048,
        "num_attention_heads": 16,
        "intermediate_size": 11264,
        "vocab_size": 163840,
    }
    experts = {
        "n_routed_experts": 64,
        "n_shared_experts": 2,
        "num_experts_per_tok": 6,
        "moe_intermediate_size": 1408,
        "first_k_dense_replace": 1,
    }
    latent = {
        "q_lora_rank": None,
        "kv_lora_rank": 512,
        "qk_rope_head_dim": 64,
        "qk_nope_head_dim": 128,
        "v_head_dim": 128,
    }
    vlm = parse(
        {"model_type": "kimi_vl", "text_config": {**text, **experts, **latent}, "vision_config": {"hidden_size": 1152}}
    )
    assert vlm.kv_bytes_per_token == 31_104
    assert vlm.model_type == "deepseek_v3"


def test_dbrx() -> None:
    assert parse(DBRX).total_params == 131_596_523_520


def test_searched_blocks() -> None:
    blocks = [
        {"attention": {"n_heads_in_group": 4}, "ffn": {"ffn_mult": 3.0}},
        {"attention": {"no_op": True}, "ffn": {"ffn_mult": 1.5}},
        {"attention": {"replace_with_linear": True}, "ffn": {"no_op": True}},
    ]
    nas = parse(
        {**LLAMA, "model_type": "nemotron-nas", "num_hidden_layers": 3, "hidden_size": 512, "block_configs": blocks}
    )
    first = 2 * 512 * 512 + 2 * 512 * 2 * 64 + 3 * 512 * 1024 + 2 * 512
    second, third = 3 * 512 * 512 + 512, 512 * 512 + 512
    assert nas.total_params == first + second + third + 512 + 2 * 100 * 512
    assert nas.kv_bytes_per_token == 2 * 2 * 64 * 2


@pytest.mark.parametrize(
    ("config", "kinds"),
    [
        (
            {
                "model_type": "jamba",
                "num_experts": 4,
                "num_experts_per_tok": 1,
                "attn_layer_period": 4,
                "attn_layer_offset": 1,
            },
            [1, 3],
        ),
        ({"model_type": "qwen3_next", "num_experts": 4, "num_experts_per_tok": 1, "moe_intermediate_size": 8}, [1, 3]),
    ],
)
def test_attention_between_recurrent_layers(config: dict[str, Any], kinds: list[int]) -> None:
    columns = model(**config).columns()
    assert [columns.full_layers, columns.recurrent_layers] == kinds
    assert columns.is_hybrid == 1


def test_configurations_survive_json() -> None:
    name = "nvidia/Nemotron-H-56B-Base-8K"
    assert parse(json.loads(json.dumps(DBRX))) == parse(DBRX)
    assert resolve(name.lower()).total_params == presets()[name].total_params
