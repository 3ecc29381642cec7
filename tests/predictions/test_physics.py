"""What physics and practice say of whole predictions: monotone answers, layouts and remedies that an expert would
choose."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from predictions.services import predict_many

pytestmark = pytest.mark.django_db
CAREFUL = settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True
)
OWN = {
    "architecture": "Hopper",
    "vendor": "nvidia",
    "memory_gb": 500,
    "mem_bandwidth_gbs": 3350,
    "bf16_dense_tflops": 989,
    "fp8_dense_tflops": 1979,
    "fp32_tflops": 67,
    "interconnect_bw_gbs_bidir_total": 900,
    "pcie_bw_gbs_bidir": 128,
    "tdp_w": 700,
    "gpus_per_node_typical": 8,
    "scale_up_domain_size": 8,
    "internode_nic_gbps_per_gpu_typical": 400,
    "sm_or_cu_count": 132,
    "l2_cache_mb": 50,
}
models = st.sampled_from(("llama-3.1-8b", "llama-3.1-70b", "mistralai/Mixtral-8x7B-v0.1"))


def training(model: str, **more: Any) -> dict[str, Any]:
    own = {"micro_batch": 1, "global_batch": 256, "recompute": "none", **more.pop("training", {})}
    pinned = {"tp": 4, "pp": 1, "ep": 1, **more.pop("parallelism", {})}
    spec = OWN | more.pop("gpu_spec", {})
    base = {"workload": "training", "model": model, "gpu_spec": spec, "gpu_count": 16}
    return {**base, "parallelism": pinned, "training": own, **more}


def serving(model: str, **more: Any) -> dict[str, Any]:
    spec = OWN | more.pop("gpu_spec", {})
    base = {"workload": "inference", "model": model, "gpu_spec": spec, "gpu_count": 4, "parallelism": {"tp": 4}}
    return {**base, **more}


def figures(scenarios: list[dict[str, Any]], *path: str) -> list[float]:
    found = []
    for answer in predict_many(scenarios, detail=False):
        for key in path:
            answer = answer[key]
        found.append(float(answer))  # type: ignore[arg-type]
    return found


def test_a_link_joins_a_machine_and_an_unknown_one_is_named() -> None:
    """A link of one's own GPU without a stated reach is used; a catalogue row without a bandwidth says what is taken."""
    stated, left_out = (serving("llama-3.1-70b", gpu_spec={"scale_up_domain_size": size}) for size in (8, ""))
    pace = figures([stated, left_out], "inference", "tpot_s")
    assert pace[0] == pytest.approx(pace[1])
    ponte_vecchio = {"workload": "inference", "model": "llama-3.1-8b", "gpu": "max-1550", "gpu_count": 2}
    (answer,) = predict_many([ponte_vecchio], detail=False)
    assert "unknown_link" in {warning["code"] for warning in answer["warnings"]}


def assert_rising(values: list[float], slack: float = 1e-6) -> None:
    pairs = pairwise(values)
    assert all(later >= earlier * (1 - slack) for earlier, later in pairs), values


FASTER = {
    "mem_bandwidth_gbs": (1000, 2000, 3350, 8000),
    "bf16_dense_tflops": (200, 500, 989, 2000),
    "interconnect_bw_gbs_bidir_total": (128, 300, 900, 1800),
}


@CAREFUL
@given(model=models, column=st.sampled_from(sorted(FASTER)), method=st.sampled_from(("pretrain", "lora")))
def test_better_hardware_never_trains_slower(model: str, column: str, method: str) -> None:
    asked = [training(model, gpu_spec={column: v}, training={"method": method}) for v in FASTER[column]]
    assert_rising(figures(asked, "training", "tokens_per_s"))


@CAREFUL
@given(model=models, concurrency=st.sampled_from((1, 16, 128)))
def test_more_bandwidth_never_decodes_slower(model: str, concurrency: int) -> None:
    load = {"concurrency": concurrency}
    asked = [serving(model, gpu_spec={"mem_bandwidth_gbs": v}, inference=load) for v in (8000, 3350, 2000, 1000)]
    assert_rising(figures(asked, "inference", "tpot_s"), 0.01)


@CAREFUL
@given(model=models, engine=st.sampled_from(("vllm", "sglang", "tensorrt_llm")))
def test_more_requests_at_once_never_answer_each_faster(model: str, engine: str) -> None:
    asked = [serving(model, inference={"engine": engine, "concurrency": n}) for n in (1, 4, 16, 64)]
    assert_rising(figures(asked, "inference", "tpot_s"), 0.01)
    assert_rising(figures(asked, "inference", "output_tokens_per_s"))


@CAREFUL
@given(model=models, engine=st.sampled_from(("vllm", "sglang", "tensorrt_llm")), concurrency=st.sampled_from((1, 32)))
def test_a_cached_prefix_never_slows(model: str, engine: str, concurrency: int) -> None:
    loads = [{"engine": engine, "concurrency": concurrency, "prefix_cache_hit": hit} for hit in (1.0, 0.9, 0.5, 0.0)]
    asked = [serving(model, inference=load) for load in loads]
    assert_rising(figures(asked, "inference", "ttft_s"), 0.01)


@CAREFUL
@given(model=models, size=st.sampled_from(("micro_batch", "seq_len")))
def test_larger_batches_never_need_less_memory(model: str, size: str) -> None:
    values = (1, 2, 4) if size == "micro_batch" else (512, 2048, 8192)
    asked = [training(model, training={size: value}) for value in values]
    assert_rising(figures(asked, "memory", "per_gpu", "total_bytes"))


@CAREFUL
@given(model=models)
def test_recomputation_saves_memory_and_costs_time(model: str) -> None:
    asked = [training(model, training={"recompute": kind}) for kind in ("full", "selective", "none")]
    assert_rising(figures(asked, "memory", "per_gpu", "total_bytes"))
    assert_rising(figures(asked, "training", "tokens_per_s"))


def test_long_sequences_are_shared_among_context_ranks() -> None:
    raw = {
        "workload": "training",
        "model": "meta-llama/Llama-3.1-405B",
        "gpu": "H100-SXM",
        "gpu_count": 8192,
        "training": {"seq_len": 131_072, "global_batch": 128},
    }
    (answer,) = predict_many([raw], detail=False)
    assert answer["scenario"]["parallelism"]["cp"] >= 8
    assert answer["origins"]["parallelism.cp"] == "chosen"


def test_a_deep_pipeline_with_few_micro_batches_is_interleaved() -> None:
    raw = {
        "workload": "training",
        "model": "meta-llama/Llama-3.1-405B",
        "gpu": "H100-SXM",
        "gpu_count": 16_384,
        "parallelism": {"tp": 8, "pp": 16},
        "training": {"seq_len": 8192, "global_batch": 2048},
    }
    plain = {**raw, "parallelism": {"tp": 8, "pp": 16, "virtual_pipeline": 1}}
    chosen, given_plain = predict_many([raw, plain], detail=False)
    assert chosen["scenario"]["parallelism"]["virtual_pipeline"] > 1
    assert chosen["training"]["mfu"] > given_plain["training"]["mfu"]


@pytest.mark.parametrize(
    ("model", "gpu", "count", "most_pp"),
    [
        ("llama-3.1-70b", "H100-SXM", 8, 1),
        ("llama-3.1-8b", "H100-SXM", 8, 1),
        ("deepseek-ai/DeepSeek-V3", "H200", 8, 1),
    ],
)
def test_serving_inside_a_machine_needs_no_pipeline(model: str, gpu: str, count: int, most_pp: int) -> None:
    (answer,) = predict_many([{"workload": "inference", "model": model, "gpu": gpu, "gpu_count": count}], detail=False)
    layout = answer["scenario"]["parallelism"]
    assert layout["pp"] <= most_pp
    assert answer["model"]["name"] != "llama" or layout["ep"] == 1


@pytest.mark.parametrize(
    ("method", "gpu", "remedy"),
    [("lora", "H100-SXM", "qlora"), ("full_finetune", "H100-SXM", "qlora"), ("full_finetune", "4090", None)],
)
def test_remedies_of_a_large_model_on_one_gpu(method: str, gpu: str, remedy: str | None) -> None:
    raw = {
        "workload": "training",
        "model": "meta-llama/Meta-Llama-3-70B",
        "gpu": gpu,
        "gpu_count": 1,
        "training": {"method": method},
    }
    (answer,) = predict_many([raw])
    changes = [entry["change"] for entry in answer["memory"]["would_fit"]]
    assert changes
    assert remedy in {change.get("training", {}).get("method") for change in changes}
    for change in changes:
        (again,) = predict_many([raw | change | {"training": raw["training"] | change.get("training", {})}])
        assert again["memory"]["fits"]


@pytest.mark.parametrize("precision", ["fp8", "mxfp8", "nvfp4"])
def test_a_precision_that_the_hardware_lacks_is_said(precision: str) -> None:
    raw = {"workload": "training", "model": "llama-3.1-8b", "gpu": "A100-SXM4-80GB", "gpu_count": 8}
    (answer,) = predict_many([{**raw, "training": {"precision": precision}}])
    assert "emulated_precision" in {warning["code"] for warning in answer["warnings"]}
