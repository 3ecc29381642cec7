"""Published serving points become scenarios: lengths, layouts, formats and figures as the sources mean them."""

import json
import math
from pathlib import Path

import pytest

from roofline import architecture
from roofline.fitting.folds import FOLDS, fold_of
from roofline.validation.inference import baseline, outcome_of, validate
from roofline.validation.model_labels import UnderSpecified
from roofline.validation.serving_table import Run, read_run

POINT = {
    "id": "own-1",
    "source": "somebody/bench@abc: table",
    "model_id": "meta-llama/Meta-Llama-3.1-8B",
    "gpu_slug": "h100-sxm5-80gb",
    "engine": "vLLM",
    "engine_version": "0.9.1",
    "n_gpus": "2",
    "tp": "2",
    "precision_weights": "fp8",
    "isl": "1000",
    "osl": "500",
    "concurrency_or_batch": "16",
    "ttft_ms": "80",
    "tpot_ms": "8",
    "scenario": "fixed concurrency",
    "notes": "q=A",
}


def read(**changed: str) -> Run:
    return read_run({**POINT, **changed})


def test_it_works() -> None:
    run = read()
    assert (run.engine, run.gpu.slug, run.tp, run.dp, run.input_tokens, run.concurrency) == (
        "vllm",
        "h100-sxm5-80gb",
        2.0,
        1.0,
        1000.0,
        16.0,
    )
    assert run.measured["tpot"] == pytest.approx(0.008)
    assert run.measured["ttft"] == pytest.approx(0.08)
    assert run.measured["output_tokens_per_s"] == pytest.approx(16 * 500 / (0.08 + 0.008 * 500))


@pytest.mark.parametrize(
    "changed", [{"id": "aic-00001"}, {"id": "ix_dsr1-3"}, {"notes": "q=A; random_range_ratio 0.8"}]
)
def test_drawn_lengths_have_a_mean_of_nine_tenths(changed: dict[str, str]) -> None:
    assert read(**changed).input_tokens == pytest.approx(900.0)
    assert read(**changed).output_tokens == pytest.approx(450.0)


def test_ttft_is_compared_up_to_64_in_flight() -> None:
    assert "ttft" in read(concurrency_or_batch="64").measured
    assert "ttft" not in read(concurrency_or_batch="65").measured


def test_a_rate_for_each_gpu_counts_where_the_notes_say_output() -> None:
    run = read(tpot_ms="", ttft_ms="", tokens_per_s_per_gpu="100", notes="q=A; perGPU-col=OUTPUT tokens/s/GPU")
    assert run.measured == {"output_tokens_per_s": 200.0}


def test_static_batches_give_their_rate_by_the_whole_latency() -> None:
    assert read(tpot_ms="", ttft_ms="", e2e_latency_s="4").measured == {
        "output_tokens_per_s": pytest.approx(16 * 500 / 4)
    }


def test_depth_stands_in_the_notes() -> None:
    run = read(
        scenario="prefill",
        engine="llama.cpp-hip",
        isl="34816",
        total_tokens_per_s_total="276",
        notes="q=A; llama-bench pp2048 @ d32768 (prompt …)",
    )
    assert run.input_tokens == 2048 + 32768
    assert run.input_tokens * (1 - run.prefix_hit) == pytest.approx(2048)
    assert run.measured == {"prefill_tokens_per_s": 276.0}
    decode = read(
        scenario="batch-1 decode",
        engine="llama.cpp",
        isl="",
        osl="32",
        output_tokens_per_s_total="20",
        notes="q=A; tg32 @ d4096",
    )
    assert (decode.input_tokens, decode.output_tokens, decode.measured) == (4096.0, 32.0, {"batch1_tokens_per_s": 20.0})


@pytest.mark.parametrize(
    ("engine", "notes", "gpu", "backend"),
    [
        ("llama.cpp", "", "h100-sxm5-80gb", "cuda"),
        ("llama.cpp", "", "m2-ultra", "metal"),
        ("llama.cpp ROCm (rocm7-nightlies)", "", "ryzen-ai-max-395", "rocm"),
        ("llama.cpp-rocwmma", "flags -fa 1  hipblaslt=1; model weights", "ryzen-ai-max-395", "rocm"),
        ("llama.cpp-hip", "flags   hipblaslt=; model weights", "ryzen-ai-max-395", "rocblas"),
        ("llama.cpp Vulkan (vulkan_radv)", "", "ryzen-ai-max-395", "vulkan"),
        ("llama.cpp Vulkan (vulkan_amdvlk)", "", "ryzen-ai-max-395", "vulkan_amdvlk"),
    ],
)
def test_back_ends_are_read_from_labels_and_flags(engine: str, notes: str, gpu: str, backend: str) -> None:
    assert read(engine=engine, notes=notes, gpu_slug=gpu, gpu="").variant == backend


def test_formats_without_kernels_say_nothing_of_the_engine() -> None:
    assert read(engine="torchao (gpt-fast generate)", quant_method="uintx-4-64-hqq").variant == "emulated"
    assert read(engine="torchao (gpt-fast generate)", quant_method="int8dq").variant == "emulated"
    assert read(engine="torchao (gpt-fast generate)", quant_method="int8wo").variant == ""


@pytest.mark.parametrize(
    ("name", "total", "active"),
    [
        ("Hunyuan-A13B-Instruct-UD-Q6_K_XL", 80.39, 12.75),
        ("dots.llm1.inst-UD-Q4_K_XL", 142.77, 14.0),
        ("GLM-4.7-Flash-BF16", 29.94, 3.9),
        ("Ministral-3-14B-Instruct-2512-BF16", 13.51, 13.51),
    ],
)
def test_public_models_have_the_size_that_their_files_state(name: str, total: float, active: float) -> None:
    model = read(model_id="", model_name=name).architecture
    assert model.total_params / 1e9 == pytest.approx(total, abs=0.006)
    assert model.active_params / 1e9 == pytest.approx(active, rel=0.01)


def test_active_parameters_in_a_name_make_a_mixture() -> None:
    model = read(model_id="", model_name="Other-A7B-Chat", params_b="60").architecture
    assert model.total_params / 1e9 == pytest.approx(60, rel=0.01)
    assert model.active_params / 1e9 == pytest.approx(7, rel=0.02)


def test_llama_cpp_splits_layers() -> None:
    run = read(engine="llama.cpp", n_gpus="4", tp="")
    assert (run.tp, run.pp, run.dp) == (1.0, 4.0, 1.0)


def test_answers_are_as_long_as_the_two_rates_say() -> None:
    notes = "q=A; MLPerf Inference v4.1; variant gptj-99.9; Offline; dataset: CNN-DailyMail"
    run = read(
        scenario="offline max throughput",
        isl="",
        osl="",
        output_tokens_per_s_total="6900",
        requests_per_s="100",
        concurrency_or_batch="",
        notes=notes,
    )
    assert (run.input_tokens, run.output_tokens, run.beams) == (870.0, 69.0, 4.0)
    other = read(
        scenario="offline max throughput",
        isl="",
        osl="",
        output_tokens_per_s_total="13090",
        requests_per_s="10",
        notes="MLPerf; variant gpt-oss-120b; dataset: reasoning mix",
    )
    assert (other.output_tokens, other.beams) == (1309.0, 1.0)


def test_everything_is_queued_offline() -> None:
    run = read(scenario="offline max throughput", output_tokens_per_s_total="9000", concurrency_or_batch="")
    assert math.isinf(run.concurrency)
    assert run.measured == {"offline_tokens_per_s": 9000.0}


def test_an_open_loop_has_a_rate() -> None:
    run = read(
        scenario="fixed request rate (open loop)",
        request_rate="4",
        concurrency_or_batch="",
        notes="prefix caching ON; shared system prompt 100",
    )
    assert run.request_rate == 4.0
    assert run.prefix_hit == pytest.approx(0.1)
    assert set(run.measured) == {"tpot_open_loop", "ttft_open_loop"}
    with pytest.raises(UnderSpecified, match="request rate"):
        read(scenario="fixed request rate (open loop)", request_rate="inf", concurrency_or_batch="")


def test_pools_are_read_from_the_notes() -> None:
    notes = "q=A; DISAGG prefill 2x tp1 dp8 moe_ep8; decode 1x tp1 dp32 moe_ep32; more"
    run = read(
        model_id="deepseek-ai/DeepSeek-R1", scenario="fixed concurrency (disaggregated)", n_gpus="48", notes=notes
    )
    assert (run.prefill_gpus, run.prefill_tp, run.decode_gpus, run.decode_tp, run.attention_dp) == (
        16.0,
        8.0,
        32.0,
        32.0,
        True,
    )
    with pytest.raises(UnderSpecified, match="pools"):
        read(
            scenario="fixed concurrency (disaggregated)",
            notes="q=A; DISAGG prefill ?x tp4 dp1 moe_ep1; decode ?x tp4 dp1 moe_ep1",
        )


@pytest.mark.parametrize(
    ("changed", "formats"),
    [
        ({}, ("fp8", "fp8", "bf16")),
        ({"gpu_slug": "a100-sxm4-80gb"}, ("fp8", "bf16", "bf16")),
        ({"engine": "TensorRT-LLM"}, ("fp8", "fp8", "fp8")),
        ({"precision_weights": ""}, ("bf16", "bf16", "bf16")),
        ({"precision_weights": "fp4", "gpu_slug": "b200-sxm-180gb"}, ("nvfp4", "nvfp4", "bf16")),
        ({"precision_weights": "fp4", "gpu_slug": "mi355x"}, ("mxfp4", "mxfp8", "bf16")),
        ({"precision_weights": "ud-q4_k_xl", "engine": "llama.cpp"}, ("q4_k_xl", "bf16", "bf16")),
        ({"precision_weights": "int8", "quant_method": "int8wo"}, ("int8", "bf16", "bf16")),
        ({"precision_kv": "fp8"}, ("fp8", "fp8", "fp8")),
    ],
)
def test_formats_follow_from_words_and_hardware(changed: dict[str, str], formats: tuple[str, str, str]) -> None:
    found = read(**changed).formats
    assert (found.weights, found.activations, found.kv_cache) == formats


def test_a_configuration_decides_over_names() -> None:
    config = json.dumps(architecture.configurations()["Qwen/Qwen3-8B"])
    assert read(config_json=config).architecture.total_params == architecture.presets()["Qwen/Qwen3-8B"].total_params
    with pytest.raises(UnderSpecified, match="configuration"):
        read(config_json="{")


@pytest.mark.parametrize("missing", ["n_gpus", "isl", "concurrency_or_batch", "gpu_slug", "model_id"])
def test_what_is_missing_is_named(missing: str) -> None:
    with pytest.raises(UnderSpecified, match="not stated"):
        read(**{missing: ""})


def test_points_of_a_configuration_share_a_fold() -> None:
    folds = {fold_of(read(concurrency_or_batch=str(n), isl=str(10 * n + 10))) for n in range(1, 9)}
    assert len(folds) == 1
    assert 0 <= folds.pop() < FOLDS


def test_a_table_is_validated(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    columns = [*POINT, "surplus"]
    rows = [
        POINT,
        {**POINT, "id": "", "n_gpus": ""},
        {**POINT, "id": "own-3", "concurrency_or_batch": "64", "tpot_ms": "12"},
    ]
    path.write_text(
        "\n".join([",".join(columns), *(",".join(row.get(name, "") for name in columns) for row in rows)]) + "\n",
        encoding="utf-8",
    )
    outcome = validate(path)
    assert (outcome.rows, outcome.predicted, dict(outcome.skipped)) == (3, 2, {"number of GPUs not stated": 1})
    assert {residual.quantity for residual in outcome.residuals} == {"tpot", "ttft", "output_tokens_per_s"}
    for residual in outcome.residuals:
        assert residual.low < residual.high
        assert 0.4 < residual.predicted / residual.measured < 2.5
        assert residual.source == "somebody/bench"


def test_the_textbook_roofline_is_optimistic() -> None:
    fitted = {r.quantity: r.predicted for r in outcome_of([POINT]).residuals}
    ideal = {r.quantity: r.predicted for r in baseline([POINT]).residuals}
    assert ideal["tpot"] < fitted["tpot"]
    assert ideal["ttft"] < fitted["ttft"]
    assert ideal["output_tokens_per_s"] > fitted["output_tokens_per_s"]
