"""The public reference runs, names of the catalogues, scenarios of runs."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks_ingest.figures import Compared, bucket_of, measured_figures, time_ratio
from benchmarks_ingest.models import MeasuredRun, RunFigure
from benchmarks_ingest.precisions import cache_format, training_precision, weight_format
from benchmarks_ingest.resolving import Books
from benchmarks_ingest.scenarios import lengths_missing, run_scenario, software_of
from benchmarks_ingest.seeding import canonical_data


@pytest.mark.django_db
def test_it_works() -> None:
    runs = MeasuredRun.objects.filter(reference=True)
    assert runs.filter(workload="training").count() > 1000
    assert runs.filter(workload="inference").count() > 5000
    assert not runs.exclude(owner=None).exists()
    assert not runs.filter(source="").exists()
    run = runs.get(source_id="mosaic_h100_80gb_bf16_70b_s2048_g256_mb8")
    assert (run.gpu, run.gpu_count, run.engine, run.data["tokens_per_s_per_gpu"]) == (
        "h100-sxm5-80gb",
        256,
        "llm_foundry",
        1035.0,
    )
    figure = run.figures.get(quantity="tokens_per_s_per_gpu")
    assert 0.5 < figure.ratio < 2


@pytest.mark.django_db
def test_seeding_again_changes_nothing() -> None:
    from config.seeding import seed_all

    before = MeasuredRun.objects.filter(reference=True).count(), RunFigure.objects.filter(reference=True).count()
    assert list(seed_all()) == []
    assert before == (
        MeasuredRun.objects.filter(reference=True).count(),
        RunFigure.objects.filter(reference=True).count(),
    )


def test_rows_of_the_tables_are_canonical() -> None:
    row = dict.fromkeys(
        ("n_gpus", "tp", "pp", "ep", "dp", "isl", "osl", "concurrency_or_batch", "request_rate", "ttft_ms", "tpot_ms"),
        "",
    ) | {
        "model_name": "m",
        "engine": "vLLM",
        "gpu": "H100",
        "precision_weights": "fp8",
        "notes": "",
        "scenario": "fixed",
    }
    data = canonical_data("inference", row | {"tpot_ms": "20", "request_rate": "inf", "n_gpus": "8.0"})
    assert (data["tpot_mean_s"], data["gpu_count"]) == (0.02, 8)
    assert "request_rate_per_s" not in data
    told = canonical_data("inference", row | {"engine": "llama.cpp Vulkan (vulkan_radv)", "n_gpus": "1"})
    assert (told["backend"], "backend" in data) == ("vulkan", False)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("label", "slug"),
    [
        ("NVIDIA H100 80GB HBM3", "h100-sxm5-80gb"),
        ("NVIDIA A100-SXM4-80GB", "a100-sxm4-80gb"),
        ("H100-SXM", "h100-sxm5-80gb"),
        ("AMD Instinct MI300X", "mi300x"),
        ("Intel 13900K (Nvidia RTX 4090)", "rtx-4090"),
        ("a toaster", ""),
        (None, ""),
    ],
)
def test_gpu_labels(label: str | None, slug: str) -> None:
    assert Books.now().gpu_slug(label) == slug


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("meta-llama/Llama-3.1-70B-Instruct", "meta-llama/Meta-Llama-3.1-70B"),
        ("/home/models/deepseek-r1", "deepseek-ai/DeepSeek-R1"),
        ("neuralmagic_Llama-2-7b-chat-hf-FP8", "meta-llama/Llama-2-7b-hf"),
        ("gpt-oss-20b-F16", "openai/gpt-oss-20b"),
        ("a poem", ""),
    ],
)
def test_model_labels(label: str, name: str) -> None:
    assert Books.now().model_name(label) == name


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("W4A16-AWQ", "int4_g128"),
        ("FP8-dynamic", "fp8"),
        ("bfloat16", "bf16"),
        ("Q4_K_M", "q4_k_m"),
        ("?", ""),
        (None, ""),
    ],
)
def test_number_formats(text: str | None, word: str) -> None:
    assert weight_format(text) == word


def test_bare_fp4_depends_on_the_model() -> None:
    assert (weight_format("fp4", "openai/gpt-oss-120b"), weight_format("fp4", "llama")) == ("mxfp4", "nvfp4")
    assert (training_precision("q4_0"), cache_format("auto"), cache_format("fp8_e4m3")) == ("", "", "fp8")


def made(**data: Any) -> MeasuredRun:
    kind = "training" if data.get("kind") == "training" else "inference"
    return MeasuredRun(workload=kind, model="m", gpu="g", gpu_count=data.get("gpu_count", 8), engine="vllm", data=data)


@pytest.mark.parametrize(
    ("data", "load"),
    [
        ({"concurrency": 64.0}, {"concurrency": 64}),
        ({"request_rate_per_s": 2.5}, {"request_rate_per_s": 2.5}),
        ({"completed": 300}, {"concurrency": 300}),
        ({"kind": "offline"}, {"concurrency": "max"}),
        ({"kind": "single_stream"}, {"concurrency": 1}),
    ],
)
def test_load(data: dict[str, Any], load: dict[str, Any]) -> None:
    scenario = run_scenario(made(**data))["inference"]
    assert {key: scenario[key] for key in load} == load


def test_layouts_that_contradict_the_count_are_left_out() -> None:
    assert run_scenario(made(tp=8, dp=1))["parallelism"] == {"tp": 8, "dp": 1}
    assert "parallelism" not in run_scenario(made(tp=3))
    assert "dp" not in run_scenario(made(tp=4, dp=4))["parallelism"]


def test_only_llama_cpp_gets_its_back_end() -> None:
    run = made(kind="single_stream", backend="vulkan", output_tokens=128)
    assert "backend" not in run_scenario(run)["inference"]
    run.engine = "llama_cpp"
    assert run_scenario(run)["inference"]["backend"] == "vulkan"


def test_software() -> None:
    assert software_of({"engine": "trtllm"}) == "tensorrt_llm"
    assert software_of({"engine": "Megatron-LM", "kind": "training"}) == "megatron"
    assert software_of({}, "llama-bench-json") == "vllm" or software_of({}, "llama.cpp") == "llama_cpp"


def test_lengths() -> None:
    assert lengths_missing({"kind": "offline", "input_tokens": 5}) == "output_tokens"
    assert lengths_missing({"kind": "training"}) == "seq_len"
    assert lengths_missing({"kind": "single_stream"}) == ""


def test_figures() -> None:
    data = {"kind": "training", "tokens_per_s": 800.0, "peak_memory_bytes": 1e9}
    assert measured_figures(data, 8) == {"tokens_per_s_per_gpu": 100.0, "peak_memory": 1e9}
    step = {"kind": "training", "global_batch": 8, "seq_len": 100, "step_time_s": 2.0}
    assert measured_figures(step, 4) == {"tokens_per_s_per_gpu": 100.0}
    assert set(measured_figures({"request_rate_per_s": 1.0, "tpot_mean_s": 0.1, "output_tokens_per_s": 5.0}, 1)) == {
        "tpot_open_loop"
    }


def test_ratios() -> None:
    assert Compared("tpot", 1.0, 2.0, None, None).bucket == 69
    assert bucket_of(1.0, 0.0) == -1000
    assert time_ratio("tpot", 2.0, 1.0) == pytest.approx(0.693, abs=1e-3)
    assert time_ratio("output_tokens_per_s", 2.0, 1.0) == pytest.approx(-0.693, abs=1e-3)
    assert time_ratio("peak_memory", 2.0, 1.0) is None
