"""Public reports of wrong sizing: each with the value that is right, within its tolerance.

Numbers are those of docs/sizing-cases.md.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, cast

import pytest

from roofline import architecture, rules
from roofline.architecture import UnsupportedArchitecture
from roofline.memory import serving, training
from roofline.memory.activations import feed_token_bytes
from roofline.memory.cache import cache, sequence_bytes
from roofline.memory.checkpoint import stored_bytes
from roofline.memory.serving import expert_shards
from roofline.memory.shards import kv_heads, shard, stage
from roofline.memory.states import states
from roofline.precision import FORMATS
from roofline.units import GIB
from tests.roofline.memory_cases import gpt, gpu, layout, model, serving_batch, training_batch, with_free

LLAMA_8B, LLAMA_70B, LLAMA_405B = (f"meta-llama/Meta-Llama-3.1-{size}" for size in ("8B", "70B", "405B"))
LLAMA_2_7B, MIXTRAL = "meta-llama/Llama-2-7b-hf", "mistralai/Mixtral-8x7B-v0.1"
KIMI_VL = {
    "model_type": "kimi_vl",
    "text_config": {
        "model_type": "deepseek_v3",
        "hidden_size": 2048,
        "num_hidden_layers": 27,
        "num_attention_heads": 16,
        "num_key_value_heads": 16,
        "q_lora_rank": None,
        "kv_lora_rank": 512,
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64,
        "v_head_dim": 128,
        "intermediate_size": 11264,
        "moe_intermediate_size": 1408,
        "n_routed_experts": 64,
        "n_shared_experts": 2,
        "num_experts_per_tok": 6,
        "first_k_dense_replace": 1,
        "vocab_size": 163840,
        "max_position_embeddings": 131072,
    },
}


def dense(hidden: int, layers: int, heads: int, kv: int, width: int, vocab: int = 32000) -> dict[str, object]:
    return {
        "model_type": "llama",
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv,
        "head_dim": 128,
        "intermediate_size": width,
        "vocab_size": vocab,
        "tie_word_embeddings": False,
    }


def params_per_gpu(name: str, experts_over: float = 1.0, **sizes: float) -> float:
    columns, spread = model(name), layout(**sizes)
    held = shard(columns, spread, experts_over, stage(columns, spread.pp), kv_heads(columns, spread.tp))
    return float(held.total())


def one_sequence(tokens: float, batch) -> float:
    columns, spread = batch.model, batch.layout
    held = cache(batch, stage(columns, spread.pp), kv_heads(columns, spread.tp))
    return float(sequence_bytes(held, tokens))


@pytest.mark.parametrize(
    ("name", "params"),
    [
        (LLAMA_70B, 70_553_706_496),  # 01: dtype applied twice
        (LLAMA_2_7B, 6_738_415_616),  # 04: two-matrix feed-forward
        ("huggyllama/llama-65b", 65_285_660_672),  # 11: width taken as four times the hidden size
    ],
)
def test_cases_01_04_11_parameters_and_16_bit_weights(name: str, params: int) -> None:
    assert model(name).total_params == params
    held = serving(serving_batch(name, engine="tensorrt_llm"))
    assert held.weights_bytes == 2 * params


def test_case_02_all_experts_are_resident() -> None:
    assert pytest.approx(71.1, rel=0.03) == 122_562_817_776 * 4.64 / 8 / 1e9
    load: dict[str, Any] = {"engine": "llama_cpp", "weights": "q4_k_m"}
    held = serving(serving_batch("Qwen/Qwen3-235B-A22B", on=gpu(gib=48), **load))
    assert held.weights_bytes > 0.55 * model("Qwen/Qwen3-235B-A22B").total_params
    assert not held.fits


def test_case_05_fp8_with_16_bit_tables() -> None:
    held = serving(serving_batch("meta-llama/Llama-3.3-70B-Instruct", weights="fp8"))
    assert held.weights_bytes / GIB == pytest.approx(67.7, rel=0.005)


def test_case_07_routed_experts_have_a_divisor_of_their_own() -> None:
    assert params_per_gpu(MIXTRAL, 4.0, tp=8.0, ep=4.0) == pytest.approx(11_476_144_128, rel=0.001)


def test_case_08_the_first_stage_holds_the_embedding() -> None:
    assert params_per_gpu(LLAMA_8B, pp=4.0) == pytest.approx(2_270_232_576, rel=0.0001)
    held = serving(serving_batch(LLAMA_8B, sizes={"pp": 4.0}))
    assert held.weights_bytes / GIB == pytest.approx(4.26, rel=0.01)


def test_case_10_norms_are_replicated() -> None:
    assert params_per_gpu(LLAMA_2_7B, tp=2.0) == 3_369_340_928


@pytest.mark.parametrize(
    ("name", "stored", "resident"),
    [("openai/gpt-oss-20b", 12.816, (13.4, 13.7)), ("openai/gpt-oss-120b", 60.768, (64.3, 66.1))],
)
def test_case_13_mxfp4_experts_and_their_padding(name: str, stored: float, resident: tuple[float, float]) -> None:
    file = serving(serving_batch(name, engine="tensorrt_llm", weights="mxfp4"))
    assert file.weights_bytes / GIB == pytest.approx(stored, rel=0.005)
    loaded = float(serving(serving_batch(name, weights="mxfp4")).weights_bytes) / GIB
    assert resident[0] <= loaded <= resident[1]


def test_case_14_gpt_oss_120b_is_marginal_on_one_h100() -> None:
    load: dict[str, Any] = {"weights": "mxfp4", "engine_year": 2025.55, "max_model_len": 131072.0}
    held = serving(serving_batch("openai/gpt-oss-120b", on=gpu(gib=79.2), **load))
    assert abs(float(held.kv_available_bytes)) < 3.5 * GIB
    assert not held.fits


def test_case_16_missing_dimensions_are_refused() -> None:
    with pytest.raises(UnsupportedArchitecture, match="unknown"):
        architecture.parse({"model_type": "unknown"})


def test_case_17_exceptions_stay_at_16_bit() -> None:
    base = architecture.configurations()["moonshotai/Kimi-K2-Instruct"]
    quantised = {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head", "re:.*self_attn.*"]}
    kimi = architecture.parse(dict(base) | {"quantization_config": quantised})
    stored = stored_bytes(kimi, "nvfp4")
    assert 1.02 < stored / (FORMATS["nvfp4"].body * kimi.total_params) < 1.05
    held = serving(serving_batch(kimi.columns(), weights="nvfp4", engine="tensorrt_llm", weight_bytes_override=stored))
    assert held.weights_bytes == pytest.approx(stored)
    assert math.isnan(stored_bytes(kimi, "bf16"))


def test_case_17_as_published() -> None:
    assert stored_bytes(architecture.resolve("moonshotai/Kimi-K2.5"), "int4_g128") == pytest.approx(595e9, rel=0.01)


@pytest.mark.parametrize(("name", "tables"), [("google/gemma-3-12b-it", 0.5625), ("google/gemma-3-27b-it", 0.28125)])
def test_case_19_scaled_rope_tables(name: str, tables: float) -> None:
    ours, bare = (serving(serving_batch(name, engine=engine)).weights_bytes for engine in ("vllm", "tensorrt_llm"))
    assert (ours - bare) / GIB == pytest.approx(tables)


def test_case_20_rope_table_of_llama() -> None:
    assert serving(serving_batch(LLAMA_8B)).weights_bytes / GIB == pytest.approx(14.9888, rel=0.0001)


@pytest.mark.parametrize(
    ("name", "bytes_per_token"),
    [
        ("Qwen/Qwen3-4B", 147_456),  # 22: an explicit head size
        ("deepseek-ai/DeepSeek-V3", 70_272),  # 22, 28: latent attention
        ("mistralai/Mistral-Small-3.1-24B-Instruct-2503", 163_840),  # 23
        ("meta-llama/Meta-Llama-3-8B", 131_072),  # 25: KV heads
        ("meta-llama/Llama-2-70b-hf", 327_680),  # 26
        ("moonshotai/Kimi-Linear-48B-A3B-Instruct", 8_064),  # 40: seven of 27 layers have a cache
        ("moonshotai/Kimi-K3", 27_648),  # 40: 24 of 93
        ("Qwen/Qwen3-30B-A3B", 98_304),  # 44
        (LLAMA_405B, 516_096),  # 46
        (LLAMA_2_7B, 524_288),  # 47, 50, 52
    ],
)
def test_cases_22_to_52_cache_bytes_for_a_token(name: str, bytes_per_token: int) -> None:
    batch = serving_batch(name, engine="tensorrt_llm")
    assert serving(batch).kv_bytes_per_token == bytes_per_token


@pytest.mark.parametrize(
    ("name", "tokens", "gib"),
    [
        ("meta-llama/Llama-2-70b-hf", 4096, 1.25),  # 26: read for one token of context 4096
        ("Qwen/Qwen3-30B-A3B", 524_288, 48.0),  # 44
        (LLAMA_405B, 128_000, 61.5234375),  # 46
        (LLAMA_8B, 128_000, 15.625),
        (LLAMA_70B, 128_000, 39.0625),
        ("meta-llama/Meta-Llama-3-70B", 32_768, 10.0),  # 47
        (LLAMA_2_7B, 32_768, 16.0),
    ],
)
def test_cases_26_to_47_one_sequence(name: str, tokens: int, gib: float) -> None:
    assert one_sequence(tokens, serving_batch(name)) / GIB == pytest.approx(gib, rel=1e-9)


def test_case_23_windowed_layers_count_as_full_where_windows_are_not_used() -> None:
    for name, bytes_per_token in (("openai/gpt-oss-20b", 49_152), ("google/gemma-3-12b-it", 393_216)):
        old = serving_batch(name, engine_year=2024.5)
        assert serving(old).kv_bytes_per_token == bytes_per_token


def test_case_28_the_indexer_has_a_line_of_its_own() -> None:
    config = dict(architecture.configurations()["deepseek-ai/DeepSeek-V3"])
    config |= {"model_type": "deepseek_v32", "architectures": ["DeepseekV32ForCausalLM"]}
    config |= {"index_n_heads": 64, "index_head_dim": 128, "index_topk": 2048}
    columns = model(config)
    assert columns.kv_bytes_per_token == 70_272
    assert columns.kv_indexer_bytes_per_token * 132 / 256 == pytest.approx(61 * 132)


def test_case_29_latent_attention_is_on_every_rank() -> None:
    config = dict(cast("dict[str, Any]", KIMI_VL["text_config"])) | {"kv_lora_rank": 256, "num_hidden_layers": 36}
    batch = serving_batch(config, sizes={"tp": 2.0}, weights="fp8", max_model_len=1_048_576.0)
    held = with_free(17.39, batch)
    assert held.kv_bytes_per_token == 23_040
    assert held.kv_cache_tokens == pytest.approx(810_400, rel=0.0005)


def test_case_31_q8_0_cache() -> None:
    batch = serving_batch("deepseek-ai/DeepSeek-R1", engine="llama_cpp", kv_cache="q8_0")
    assert one_sequence(32_768, batch) == 1_223_294_976


def test_case_32_windows_of_gpt_oss() -> None:
    batch = serving_batch("openai/gpt-oss-120b", engine="tensorrt_llm", kv_cache="fp8")
    assert one_sequence(65_936, batch) / GIB == pytest.approx(1.1341, rel=0.001)


def test_case_34_gemma_4_before_and_after_windows_were_respected() -> None:
    old = with_free(46.6, serving_batch("google/gemma-4-31B", engine_year=2026.4, max_model_len=262_144.0))
    new = with_free(
        46.6,
        serving_batch(
            "google/gemma-4-31B", engine_year=2026.47, max_model_len=262_144.0, max_num_batched_tokens=2048.0
        ),
    )
    assert old.kv_bytes_per_token == 901_120
    assert old.kv_cache_tokens == pytest.approx(55_500, rel=0.03)
    assert new.kv_cache_tokens >= 500_000


def test_case_35_marginal_fixed_and_concurrency_are_three_numbers() -> None:
    held = serving(serving_batch("google/gemma-4-31B", engine="sglang"))
    assert held.kv_bytes_per_token == 81_920
    assert held.sequence_bytes == pytest.approx(50 * 16_384 * 1024, rel=0.02)
    assert held.max_concurrency * held.sequence_bytes_at_max == pytest.approx(held.kv_available_bytes, rel=0.01)


def test_case_37_concurrency_of_olmo_3_at_two_lengths() -> None:
    load: dict[str, Any] = {"engine_year": 2025.92, "max_num_batched_tokens": 2048.0}
    short, long = (
        with_free(57.18, serving_batch("allenai/Olmo-3-1025-7B", max_model_len=length, **load)).max_concurrency
        for length in (6144.0, 34_048.0)
    )
    assert short / long == pytest.approx(2.133, rel=0.005)


def test_case_38_groups_of_layers_are_padded() -> None:
    held = with_free(19.53, serving_batch("google/gemma-3-27b-it"))
    assert held.kv_cache_tokens == pytest.approx(36_560, rel=0.001)


def test_case_41_nested_latent_attention_is_not_halved_by_tp() -> None:
    for tp, free, tokens in ((1.0, 41.32, 1_426_368), (2.0, 54.78, 1_890_896)):
        held = with_free(free, serving_batch(KIMI_VL, sizes={"tp": tp}))
        assert held.kv_bytes_per_token == 31_104
        assert held.kv_cache_tokens == pytest.approx(tokens, rel=0.0002)


def test_case_43_fixed_bytes_of_hybrids_lower_concurrency() -> None:
    held = serving(serving_batch("Qwen/Qwen3-Next-80B-A3B-Instruct", sizes={"tp": 4.0}))
    assert held.sequence_bytes > 0
    assert held.max_concurrency < held.kv_available_bytes / (8192 * held.kv_bytes_per_token)


def test_case_49_multi_head_attention() -> None:
    qwen = dense(5120, 40, 40, 40, 13_696, 152_064)
    assert one_sequence(32_768, serving_batch(qwen)) / GIB == 25.0
    assert pytest.approx(11.63, rel=0.001) == 15_248 * 819_200 / GIB


def test_case_50_tokens_of_a_pool() -> None:
    held = with_free(69_524_783_104 / GIB, serving_batch(LLAMA_2_7B, engine="tensorrt_llm"))
    assert held.kv_cache_tokens == 132_608


def test_case_52_a_pool_larger_than_the_gpu_is_impossible() -> None:
    assert pytest.approx(5.23, abs=0.01) == 10_718 * 524_288 / GIB
    held = serving(serving_batch(LLAMA_2_7B, on=gpu("a10")))
    assert held.kv_cache_tokens < 8348 * 16


def test_case_53_an_fp8_cache_holds_twice_the_tokens() -> None:
    for name in ("Qwen/Qwen3-8B", "meta-llama/Meta-Llama-3-8B"):
        wide, narrow = (serving(serving_batch(name, kv_cache=kind)).kv_cache_tokens for kind in ("bf16", "fp8"))
        assert narrow == pytest.approx(2 * wide, abs=16)


def test_case_55_tensor_parallel_divides_the_cache() -> None:
    one, four = (serving_batch("Qwen/Qwen3-32B", sizes={"tp": tp}) for tp in (1.0, 4.0))
    assert serving(four).kv_bytes_per_token == 65_536
    assert with_free(50.9, four).kv_cache_tokens == pytest.approx(4 * with_free(50.9, one).kv_cache_tokens, abs=64)


def test_case_56_the_cache_is_on_every_gpu() -> None:
    coder = dense(4096, 32, 32, 32, 11_008, 32_256)
    held = with_free(507 * 16 * 262_144 / GIB, serving_batch(coder, sizes={"tp": 2.0}))
    assert held.kv_cache_tokens == 8112
    assert 8112 * held.kv_bytes_per_token / GIB == pytest.approx(1.98, abs=0.01)


def test_case_58_a_request_lives_on_one_replica() -> None:
    batch = serving_batch(LLAMA_70B, sizes={"tp": 4.0, "dp": 2.0})
    assert one_sequence(32_768, batch) / GIB == 2.5


def test_case_59_tensor_parallel_over_five_ranks_is_refused() -> None:
    columns = model("Qwen/Qwen3-14B")
    assert not rules.tp_divides(5, int(columns.heads), int(columns.kv_heads))


def test_case_61_one_long_sequence_must_fit() -> None:
    load: dict[str, Any] = {"weights": "fp8", "max_model_len": 131_072.0}
    one, two = (serving(serving_batch(LLAMA_70B, sizes={"tp": tp}, **load)) for tp in (1.0, 2.0))
    assert not one.fits
    assert two.fits
    assert one.sequence_bytes_at_max / GIB == 40.0


@pytest.mark.parametrize(("length", "tokens"), [(20_000.0, 31_232), (29_000.0, 23_648)])
def test_case_62_a_longer_context_leaves_a_smaller_pool(length: float, tokens: int) -> None:
    free = {20_000.0: 3.8125, 29_000.0: 2.8867}[length]
    batch = serving_batch(LLAMA_8B, engine_year=2024.9, max_model_len=length, max_num_batched_tokens=length)
    assert with_free(free, batch).kv_cache_tokens == pytest.approx(tokens, rel=0.01)
    whole = serving_batch(
        LLAMA_8B, on=gpu(gib=23.58), engine_year=2024.9, max_model_len=length, max_num_batched_tokens=length
    )
    assert serving(whole).kv_cache_tokens == pytest.approx(tokens, rel=0.12)


def test_case_64_activation_is_measured_not_flat() -> None:
    name = "mistralai/Mistral-Small-3.1-24B-Instruct-2503"
    held = with_free(28.20, serving_batch(name, gpu_memory_utilization=0.95, max_model_len=16_000.0))
    assert held.kv_cache_tokens == pytest.approx(184_832, rel=0.002)
    assert held.max_concurrency == pytest.approx(11.55, rel=0.002)


def test_case_65_llama_8b_on_h100() -> None:
    held = serving(serving_batch(LLAMA_8B, on=gpu(gib=79.19), gpu_memory_utilization=0.95))
    assert held.kv_available_bytes / GIB == pytest.approx(58.11, rel=0.01)
    assert held.max_concurrency == pytest.approx(58.11, rel=0.01)


def test_case_67_tokens_on_two_v100() -> None:
    held = with_free(
        3.7617, serving_batch(LLAMA_8B, on=gpu("v100-sxm2-16gb"), sizes={"tp": 2.0}, max_model_len=40_000.0)
    )
    assert held.kv_cache_tokens == pytest.approx(61_632, rel=0.003)
    assert held.max_concurrency == pytest.approx(1.54, rel=0.003)


@pytest.mark.parametrize(("engine", "free", "tokens"), [("vllm", 8.11, 178_880), ("sglang", 16.46, 367_404)])
def test_case_68_two_rules_two_pools(engine: str, free: float, tokens: int) -> None:
    held = with_free(free, serving_batch("Qwen/Qwen3-235B-A22B", engine=engine, sizes={"tp": 4.0}))
    assert held.kv_bytes_per_token == 48_128
    assert held.kv_cache_tokens == pytest.approx(tokens, rel=0.012)


def test_case_70_llama_8b_on_a10g() -> None:
    short, long = (
        serving(
            serving_batch(
                LLAMA_8B, on=gpu("a10g", 22.06), max_model_len=length, max_num_batched_tokens=2048.0, engine_year=2025.2
            )
        )
        for length in (4096.0, 8192.0)
    )
    assert 3.0 <= long.max_concurrency <= 3.8
    assert short.max_concurrency == pytest.approx(2 * long.max_concurrency)


def test_case_71_a_negative_pool_is_a_shortfall() -> None:
    held = with_free(-1.05, serving_batch("Qwen/Qwen2.5-7B-Instruct", weights="int4_g128"))
    assert not held.fits
    assert held.max_concurrency == 0
    assert (held.shortfall_bytes - held.sequence_bytes_at_max) / GIB == pytest.approx(1.05, abs=0.02)


def test_case_73_tokens_of_pixtral() -> None:
    pixtral = dense(5120, 40, 32, 8, 14_336, 131_072)
    for free, blocks in ((10.53, 4314), (17.72, 7259)):
        assert with_free(free, serving_batch(pixtral)).kv_cache_tokens == pytest.approx(16 * blocks, rel=0.001)


def test_case_74_mixtral_in_four_bits() -> None:
    batch = serving_batch(MIXTRAL, sizes={"tp": 2.0}, weights="int4_g128")
    assert 12.0 * 0.95 <= serving(batch).weights_bytes / GIB <= 12.6 * 1.05
    assert serving(batch).kv_bytes_per_token == 65_536


@pytest.mark.parametrize(
    ("name", "flops"), [("openai/gpt-oss-120b", 34_534_221_696), ("openai/gpt-oss-20b", 24_141_260_160)]
)
def test_case_76_windowed_layers_attend_to_their_window(name: str, flops: int) -> None:
    columns = model(name)
    width = columns.heads * columns.qk_dim
    scores = 12 * width * (columns.full_layers * 4096 + columns.window_layers * columns.window)
    assert 3 * columns.flops_per_token + scores == flops


def test_case_77_tied_and_untied_cost_the_same() -> None:
    config = dense(1024, 28, 16, 8, 3072, 151_936) | {"model_type": "qwen3"}
    untied, tied = (model(config | {"tie_word_embeddings": tie}) for tie in (False, True))
    assert untied.flops_per_token == tied.flops_per_token == pytest.approx(1_192_099_840)
    assert untied.total_params - tied.total_params == 155_582_464


def test_case_79_width_of_the_experts() -> None:
    assert model("Qwen/Qwen2-57B-A14B").flops_per_token == 27_409_464_320


def test_case_80_the_head_costs_six_operations_a_weight() -> None:
    columns = gpt(12_288, 96, 96, 51_200)
    assert 6 * columns.embedding_params == 3_774_873_600


def test_case_82_causal_attention_counts_half() -> None:
    columns = model("meta-llama/Meta-Llama-3-8B")
    scores = 4 * columns.heads * columns.qk_dim * columns.full_layers * 8192**2 / 2
    assert scores == pytest.approx(17.6e12, rel=0.01)


def test_case_83_one_token_reads_its_own_experts() -> None:
    assert model("allenai/OLMoE-1B-7B-0924").active_params == 1_282_017_280


def test_case_85_the_largest_unit_is_not_the_need() -> None:
    batch = training_batch("EleutherAI/gpt-j-6b", sizes={"dp": 4.0, "zero_stage": 3.0}, framework="deepspeed")
    held = training(batch)
    assert held.largest_unit_bytes * 2 >= 4 * 50_400 * 4096 * 0.99
    assert held.total_bytes > 8 * held.largest_unit_bytes


def model_states(name: str, sizes: dict[str, float], **run: Any) -> float:
    held = training(training_batch(name, sizes=sizes, **run))
    return float(held.weights_bytes + held.gradients_bytes + held.optimizer_bytes)


def test_case_86_zero_2() -> None:
    run = {"framework": "deepspeed", "gradient_dtype": "bf16"}
    assert model_states(LLAMA_2_7B, {"dp": 8.0, "zero_stage": 2.0}, **run) / GIB == pytest.approx(23.53, abs=0.01)


def test_case_88_four_bit_weights_of_70b() -> None:
    held = training(training_batch(LLAMA_70B, method="qlora", framework="hf_trainer", recompute="full"))
    assert held.weights_bytes / GIB > 36
    assert not training(training_batch(LLAMA_70B, on=gpu(gib=16), method="qlora", recompute="full")).fits


def test_case_89_every_linear_is_quantised() -> None:
    held = training(training_batch(LLAMA_8B, method="qlora", framework="hf_trainer", lora_rank=8.0))
    assert 5.3 * 0.92 <= held.weights_bytes / GIB <= 6.2 * 1.08


def test_case_91_routed_activations_scale_with_top_k_and_not_with_ep() -> None:
    batch = training_batch(MIXTRAL, sizes={"dp": 8.0, "ep": 8.0})
    two, four = (training_batch(MIXTRAL, sizes={"dp": 8.0, "ep": ep}) for ep in (2.0, 4.0))
    assert training(two).activations_bytes == training(four).activations_bytes == training(batch).activations_bytes
    one = training_batch(replace(model(MIXTRAL), top_k=1))
    gates = 4.0 * batch.model.experts * batch.model.moe_layers
    assert feed_token_bytes(batch, 0.0) - gates == pytest.approx(2 * (feed_token_bytes(one, 0.0) - gates))


def test_case_92_distributed_optimizer() -> None:
    assert model_states(LLAMA_2_7B, {"dp": 8.0, "zero_stage": 1.0}) / GIB == pytest.approx(47.07, abs=0.01)


def test_experts_are_shared_by_the_ranks_of_a_replica() -> None:
    """What the cases on expert parallelism rest on: shards of routed experts when serving."""
    assert expert_shards(serving_batch(MIXTRAL, sizes={"tp": 8.0, "ep": 8.0})) == 8
    assert expert_shards(serving_batch(MIXTRAL, sizes={"dp": 8.0, "ep": 8.0, "attention_dp": 1.0})) == 8
    assert expert_shards(serving_batch(MIXTRAL, sizes={"dp": 8.0})) == 1
    held = states(training_batch(MIXTRAL, sizes={"dp": 8.0, "zero_stage": 1.0}), _whole(MIXTRAL), 32.0)
    assert held.optimizer < 12 * model(MIXTRAL).total_params


def _whole(name: str):
    columns, spread = model(name), layout()
    return shard(columns, spread, 1.0, stage(columns, 1.0), kv_heads(columns, 1.0))
