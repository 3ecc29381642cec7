"""The layout that the planner chooses is the best of those that engines run, and its remedies hold."""

from __future__ import annotations

import pytest

from predictions.services import predict, predict_many
from roofline.errors import ScenarioError

pytestmark = pytest.mark.django_db

CASES = [
    ("Qwen/Qwen3-32B", "l40s", 8),
    ("Qwen/Qwen3-235B-A22B", "b200-sxm-180gb", 8),
    ("openai/gpt-oss-120b", "h100-sxm5-80gb", 8),
    ("deepseek-ai/DeepSeek-V3", "h200-sxm-141gb", 16),
]


@pytest.mark.parametrize(("model", "gpu", "count"), CASES)
def test_no_layout_that_engines_run_is_faster_than_the_chosen_one(model: str, gpu: str, count: int) -> None:
    asked = {"workload": "inference", "model": model, "gpu": gpu, "gpu_count": count, "inference": {"concurrency": 256}}
    sizes = [2**power for power in range(count.bit_length())]
    layouts = [
        {"tp": tp, "pp": pp, "cp": 1, "dp": count // (tp * pp), "attention_dp": shared, "ep": ep}
        for tp in sizes
        for pp in (sizes if gpu == "l40s" else (1, count // 8))
        if tp * pp <= count
        for shared in (False, True)
        for ep in {1, count // pp if shared else tp}
        if (ep > 1) == shared or not shared
    ]
    chosen = predict(asked, detail=False)["inference"]["output_tokens_per_s"]
    if model == "Qwen/Qwen3-32B":  # dense
        layouts = [one for one in layouts if not one["attention_dp"] and one["ep"] == 1]
    answers = predict_many([{**asked, "parallelism": one} for one in layouts], detail=False)
    speeds = [one["inference"]["output_tokens_per_s"] for one in answers if one.get("inference")]
    assert speeds
    assert max(speeds) <= chosen * 1.001


GIVEN = {"method": "full_finetune", "seq_len": 32768, "micro_batch": 8, "recompute": "none"}
MISFITS = [
    {
        "workload": "training",
        "model": "llama-3.1-405b",
        "gpu": "b200-sxm-180gb",
        "gpu_count": 2,
        "training": GIVEN,
        "parallelism": {"tp": 2},
    },
    {"workload": "training", "model": "Qwen/Qwen3-32B", "gpu": "t4", "gpu_count": 1, "training": GIVEN},
    {"workload": "inference", "model": "llama-3.1-70b", "gpu": "h100-sxm5-80gb", "gpu_count": 1},
    {"workload": "inference", "model": "deepseek-v3", "gpu": "rtx-4090", "gpu_count": 8},
]


@pytest.mark.parametrize("asked", MISFITS)
def test_remedies_fit_when_they_are_applied(asked: dict[str, object]) -> None:
    memory = predict(asked)["memory"]
    assert not memory["fits"]
    assert memory["would_fit"]
    for remedy in memory["would_fit"]:
        merged = dict(asked)
        for key, value in remedy["change"].items():
            merged[key] = {**merged.get(key, {}), **value} if isinstance(value, dict) else value  # type: ignore[dict-item]
        applied = predict(merged)
        assert applied["memory"]["fits"], remedy
        assert applied["memory"]["per_gpu"]["total_bytes"] == pytest.approx(remedy["total_bytes"], rel=1e-6)
        assert applied["cost"] is None or applied["cost"]["usd_per_hour"] == pytest.approx(remedy["usd_per_hour"])


def test_one_rank_alone_gathers_nothing() -> None:
    asked = {
        "workload": "training",
        "model": "llama-3.1-8b",
        "gpu": "h100-sxm5-80gb",
        "gpu_count": 8,
        "training": {"framework": "fsdp"},
    }
    alone = [{**asked, "parallelism": {"tp": 8, "dp": 1, "zero_stage": stage}} for stage in (0, 3)]
    whole, sharded = (one["memory"]["per_gpu"]["total_bytes"] for one in predict_many(alone, detail=False))
    assert sharded == whole


@pytest.mark.parametrize(
    ("asked", "path"),
    [
        ({"workload": "inference", "parallelism": {"zero_stage": 3}}, "parallelism.zero_stage"),
        ({"workload": "training", "parallelism": {"attention_dp": True}}, "parallelism.attention_dp"),
    ],
)
def test_what_belongs_to_the_other_workload_is_said_to_change_nothing(asked: dict[str, object], path: str) -> None:
    answer = predict({"model": "llama-3.1-8b", "gpu": "h100-sxm5-80gb", "gpu_count": 8, **asked}, detail=False)
    assert [warning["field"] for warning in answer["warnings"] if warning["code"] == "does_not_apply"] == [path]


MIXTRAL = {"model": "mistralai/Mixtral-8x7B-v0.1", "gpu": "h100-sxm5-80gb", "gpu_count": 8}


@pytest.mark.parametrize(
    ("asked", "path"),
    [
        ({"workload": "inference", "parallelism": {"tp": 8, "ep": 8, "expert_tp": 8}}, "parallelism.expert_tp"),
        (
            {"workload": "training", "parallelism": {"tp": 8, "pp": 1, "cp": 1, "dp": 1, "ep": 8, "expert_tp": 2}},
            "parallelism.expert_tp",
        ),
        ({"workload": "training", "parallelism": {"pp": 1, "virtual_pipeline": 4}}, "parallelism.virtual_pipeline"),
        ({"workload": "training", "parallelism": {"pp": 8, "virtual_pipeline": 5}}, "parallelism.virtual_pipeline"),
    ],
)
def test_layouts_that_contradict_themselves_are_refused(asked: dict[str, object], path: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        predict({**MIXTRAL, **asked}, detail=False)
    assert path in refused.value.fields


def test_the_embedding_and_the_head_may_take_a_chunk_each() -> None:
    """126 layers in 16 stages of 8 chunks, as Llama 3 405B was trained."""
    asked: dict[str, object] = {
        "model": "meta-llama/Llama-3.1-405B", "gpu": "h100-sxm5-80gb", "gpu_count": 2048, "workload": "training",
        "parallelism": {"tp": 8, "pp": 16, "virtual_pipeline": 8}, "training": {"global_batch": 256},
    }  # fmt: skip
    assert predict(asked, detail=False)["scenario"]["parallelism"]["virtual_pipeline"] == 8
    with pytest.raises(ScenarioError):
        predict({**asked, "parallelism": {"tp": 8, "pp": 16, "virtual_pipeline": 9}}, detail=False)


def test_an_offer_of_another_accelerator_is_named() -> None:
    median = predict({**MIXTRAL, "workload": "inference"}, detail=False)
    offer = median["scenario"]["price"]["offer"]
    assert median["cost"]["price"]["gpu"] == "h100-sxm5-80gb"
    other = predict(
        {**MIXTRAL, "workload": "inference", "gpu": "h200-sxm-141gb", "price": {"offer": offer}}, detail=False
    )
    assert "offer_of_other_gpu" in {warning["code"] for warning in other["warnings"]}
    assert "offer_of_other_gpu" not in {warning["code"] for warning in median["warnings"]}
