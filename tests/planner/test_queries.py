"""A what-if and its address."""

from __future__ import annotations

from typing import Any

import pytest
from django.http import QueryDict

from planner.queries import changed, query_of, scenario_from_query, scenario_of
from roofline.errors import ScenarioError
from roofline.fields import FIELDS
from roofline.scenario import DEFAULT_OPTIMIZATIONS, parse


def test_an_empty_address_is_the_page_default() -> None:
    scenario = scenario_of("")
    assert scenario == {"workload": "inference", "model": "llama-3.1-70b", "gpu": "h100-sxm"}
    assert query_of(scenario) == ""


def test_the_address_holds_only_what_differs() -> None:
    query = "gpu_count=8&inference.weights=fp8&inference.concurrency=64&inference.kv_cache=bf16&gpu=h100-sxm"
    assert query_of(scenario_of(query)) == "gpu_count=8&inference.concurrency=64&inference.weights=fp8"


def test_an_address_reads_back() -> None:
    scenario = {
        "workload": "training",
        "model": "llama-3.1-8b",
        "gpu": "h200-sxm-141gb",
        "gpu_count": 64,
        "parallelism": {"tp": 8, "sequence_parallel": True},
        "training": {"total_tokens": 1_000_000_000_000, "precision": "fp8"},
        "optimizations": ["flash_attention_3", "comm_overlap"],
        "price": {"usd_per_gpu_hour": 2.5},
    }
    assert scenario_of(query_of(scenario)) == scenario
    assert "1e12" in query_of(scenario)


def test_every_field_reads_back() -> None:
    for field in FIELDS:
        if field.kind in ("integer", "number"):
            value: Any = 0.5 if field.kind == "number" and (field.maximum or 0) >= 0.5 else 2
            assert f"{field.path}={value}" in query_of(
                scenario_of(f"workload={field.workload or 'training'}&{field.path}={value}")
            ), field.path


def test_a_form_that_changes_the_workload_drops_what_belongs_to_the_other() -> None:
    query = QueryDict(
        "workload=training&form_workload=inference&inference.weights=fp8&optimizations=cuda_graphs&gpu_count=8"
    )
    assert scenario_from_query(query) == {
        "workload": "training",
        "gpu_count": 8,
        "model": "llama-3.1-70b",
        "gpu": "h100-sxm",
    }


def test_the_usual_optimizations_are_not_stated() -> None:
    ticked = "&".join(f"optimizations={name}" for name in DEFAULT_OPTIMIZATIONS["inference"])
    assert "optimizations" not in scenario_of(f"optimizations=&{ticked}")
    assert scenario_of("optimizations=")["optimizations"] == []


def test_own_model_displaces_the_default_one() -> None:
    assert "model" not in scenario_of("model_size.params_b=13")
    assert "model" not in scenario_of("model=llama-3.1-70b&model_size.params_b=13")
    assert scenario_of("model=mixtral&model_size.params_b=13")["model"] == "mixtral"
    assert "gpu" not in scenario_of('gpu_spec={"memory_gb":80}')


def test_ranges_are_read_where_they_are_wanted() -> None:
    scenario = scenario_of(
        "gpu=h100-sxm,h200-sxm&inference.concurrency=1..64 x2&inference.weights=bf16&inference.weights=fp8", ranges=True
    )
    assert scenario["gpu"] == {"values": ["h100-sxm", "h200-sxm"]}
    assert scenario["inference"] == {
        "concurrency": {"from": 1, "to": 64, "factor": 2},
        "weights": {"values": ["bf16", "fp8"]},
    }
    assert scenario_of(query_of(scenario), ranges=True) == scenario


@pytest.mark.parametrize(("text", "word"), [("<html>", "web page"), ("{", "not JSON"), ("[" * 100_000, "JSON")])
def test_what_is_no_json_is_refused_at_its_field(text: str, word: str) -> None:
    with pytest.raises(ScenarioError) as refusal:
        scenario_from_query(_query(model_config=text))
    assert word in refusal.value.fields["model_config"][0]


def test_an_unknown_key_is_kept_for_the_engine_to_refuse() -> None:
    with pytest.raises(ScenarioError) as refusal:
        parse(scenario_of("inference.inputs=5"))
    assert "inference.inputs" in refusal.value.fields


def test_a_value_below_a_value_contradicts() -> None:
    with pytest.raises(ScenarioError):
        scenario_of("foo=1&foo.bar=2")


def test_changes_lay_over_and_take_out() -> None:
    scenario = {"gpu": "a", "parallelism": {"tp": 8, "dp": 2}, "gpu_spec": {"x": 1}}
    assert changed(scenario, {"parallelism": {"dp": None}, "gpu_spec": None, "inference": {"weights": "fp8"}}) == {
        "gpu": "a",
        "parallelism": {"tp": 8},
        "inference": {"weights": "fp8"},
    }


def _query(**values: str) -> QueryDict:
    query = QueryDict(mutable=True)
    query.update(values)
    return query
