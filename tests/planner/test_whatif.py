"""Around an answer: curve and ideas."""

from __future__ import annotations

from typing import Any

import pytest

from planner.charts import operator_bars, roofline, scaling_curve, speed_curve
from planner.hardware import roofs_of
from planner.ranking import workload_only
from planner.whatif import CONCURRENCIES, around, curve_scenarios, ideas_for
from predictions.services import predict
from tests.planner.conftest import SERVING, TRAINING

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_engine")]


def test_it_works() -> None:
    result = predict(SERVING)
    near = around(SERVING, result)
    assert [point["inference"]["concurrency"] for point in near.curve] == list(CONCURRENCIES)
    assert near.helps[0].speed >= near.helps[-1].speed > 1


def test_the_curve_keeps_the_layout() -> None:
    result = predict(SERVING)
    for scenario in curve_scenarios(SERVING, result):
        assert scenario["parallelism"]["tp"] == result["scenario"]["parallelism"]["tp"]


def test_training_is_scaled() -> None:
    result = predict(TRAINING)
    assert [scenario["gpu_count"] for scenario in curve_scenarios(TRAINING, result)] == [32, 64, 128, 256, 512, 1024]
    assert around(TRAINING, result).curve


def test_what_is_already_so_is_no_idea() -> None:
    labels = [str(idea.label) for idea, _scenario in ideas_for(SERVING, predict(SERVING))]
    assert "FP8 weights" not in labels
    assert "FP8 KV cache" in labels


def test_another_gpu_leaves_the_typed_price() -> None:
    scenario = {**SERVING, "price": {"usd_per_gpu_hour": 2.0}}
    variants = {str(idea.label): variant for idea, variant in ideas_for(scenario, predict(scenario))}
    assert "price" not in variants["H200 SXM"]
    assert variants["FP8 KV cache"]["price"] == {"usd_per_gpu_hour": 2.0}


def test_another_gpu_leaves_a_back_end_of_one_vendor() -> None:
    chosen = {"engine": "llama_cpp", "weights": "q4_k_m", "backend": "cuda"}
    local = {**SERVING, "inference": chosen}
    tried = {str(idea.label): scenario["inference"] for idea, scenario in ideas_for(local, predict(local))}
    assert (tried["FP8 KV cache"]["backend"], "backend" in tried["MI300X"]) == ("cuda", False)
    assert "backend" not in workload_only(local)["inference"]
    anywhere = {**local, "inference": {**chosen, "backend": "vulkan"}}
    assert workload_only(anywhere)["inference"]["backend"] == "vulkan"
    assert workload_only({"inference": {"backend": {"no": "word"}}}) == {"inference": {"backend": {"no": "word"}}}


def test_nothing_is_tried_around_what_does_not_fit() -> None:
    scenario = {**SERVING, "gpu_count": 1, "inference": {"weights": "bf16"}}
    assert around(scenario, predict(scenario)).curve == []


def test_figures_are_plain_json() -> None:
    import json

    serving, training = predict(SERVING), predict(TRAINING)
    figures: list[Any] = [
        speed_curve(around(SERVING, serving).curve, serving, slo_tpot_s=0.05),
        scaling_curve(around(TRAINING, training).curve, training),
        roofline(serving, roofs_of(serving)),
        roofline(training, roofs_of(training)),
        operator_bars(serving),
        operator_bars(training),
    ]
    for figure in figures:
        assert json.loads(json.dumps(figure, allow_nan=False))["data"]


def test_the_ridge_point_is_that_of_the_arithmetic_used() -> None:
    def ridges(scenario: dict[str, Any]) -> list[str]:
        result = predict(scenario)
        return [trace["name"] for trace in roofline(result, roofs_of(result))["data"] if "ridge" in trace["name"]]

    assert ridges({**SERVING, "inference": {"weights": "bf16"}}) == ["ridge point 295"]
    assert ridges(SERVING) == ["ridge point 591"]


def test_shares_of_a_phase_add_up() -> None:
    bars = operator_bars(predict(SERVING))["data"]
    assert sum(x for trace in bars for x in trace["x"] if x) == pytest.approx(2.0, abs=0.02)  # prefill and decode
    bars = operator_bars(predict(TRAINING))["data"]
    assert sum(x for trace in bars for x in trace["x"] if x) == pytest.approx(1.0, abs=0.02)
