"""Scenarios at and beyond the bounds of every field: an answer that holds together, or a refusal at the field."""

import json
import math
from collections.abc import Iterator
from typing import Any

import pytest

from predictions.services import predict_many
from roofline import codes, hardware
from roofline.fields import FIELDS, Field

pytestmark = pytest.mark.django_db

GPU = {"gpu": "H100-SXM", "gpu_count": 8}
POOLS = {"prefill": {"gpus": 8, "tp": 4}, "decode": {"gpus": 16, "tp": 8}}
# What other fields a field needs beside it.
COMPANY: dict[str, dict[str, Any]] = {
    "model_size": {"model_size": {"params_b": 70}},
    "inference.speculative": {"inference": {"speculative": {"draft_tokens": 4, "acceptance": 0.7}}},
    "inference.disaggregated": {"inference": {"disaggregated": POOLS}, "gpu_count": None},
}
WRONG: tuple[Any, ...] = (
    True,
    "8",
    [],
    {},
    [1],
    math.nan,
    math.inf,
    -math.inf,
    -1,
    10**400,
    1.5,
    "\x00",
    "x" * 501,
    "∞",
)


def scenario(field: Field, value: Any, workload: str, model: str) -> dict[str, Any]:
    raw: dict[str, Any] = {"workload": workload, "model": model, **GPU}
    for prefix, more in COMPANY.items():
        if field.path.startswith(prefix):
            raw |= json.loads(json.dumps(more))
    if field.path.startswith("model_size"):
        raw.pop("model")
    branch = raw
    *above, key = field.path.split(".")
    for name in above:
        branch = branch.setdefault(name, {})
    branch[key] = value
    return {name: value for name, value in raw.items() if value is not None}


def edges(field: Field) -> list[Any]:
    if field.kind in ("integer", "number", "count"):
        return [1e-9 if field.above_minimum else field.minimum, 2, 3, field.maximum]
    by_kind: dict[str, list[Any]] = {
        "boolean": [True, False],
        "choice": list(field.choices),
        "choices": [[], list(field.choices)],
    }
    return by_kind.get(field.kind, [])


def numbers(value: Any, path: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from numbers(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from numbers(inner, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, value


def given_values(tree: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for key, value in tree.items():
        if isinstance(value, dict) and key not in ("model_config", "gpu_spec", "tco"):
            yield from given_values(value, f"{prefix}{key}.")
        elif value is not None:
            yield prefix + key


def assert_coherent(answer: dict[str, Any]) -> None:
    """What holds for every answer, fitting or not."""
    json.dumps(answer, allow_nan=False)
    assert all(number >= 0 for path, number in numbers({k: v for k, v in answer.items() if k != "scenario"})), answer
    parts = dict(answer["memory"]["per_gpu"])
    total, capacity = parts.pop("total_bytes"), parts.pop("capacity_bytes")
    assert sum(parts.values()) == pytest.approx(total, abs=16)
    assert set(given_values(answer["scenario"])) <= answer["origins"].keys()
    workload = answer["scenario"]["workload"]
    if not answer["memory"]["fits"]:
        assert answer[workload] is None
        assert answer["cost"] is None
        return
    assert total <= capacity * 1.0001
    speed = answer[workload]
    assert 0 < speed["mfu"] < 1
    assert speed.get("hfu", 1) >= speed["mfu"] * 0.999999
    assert 0 < speed.get("mbu", 0.5) < 1
    assert sum(answer["bound"]["shares"].values()) == pytest.approx(1)
    for name, pair in answer["interval"].items():
        assert not isinstance(pair, list) or pair[0] < speed[name] < pair[1], name


@pytest.mark.parametrize("workload", ["training", "inference"])
@pytest.mark.parametrize("model", ["llama-3.1-8b", "deepseek-ai/DeepSeek-V3"])
def test_every_field_at_its_bounds(workload: str, model: str) -> None:
    asked = [
        scenario(field, value, workload, model)
        for field in FIELDS
        if field.workload in (None, workload)
        for value in edges(field)
    ]
    for raw, answer in zip(asked, predict_many(asked, detail=False), strict=True):
        if "error" in answer:
            assert answer["error"]["fields"], raw
        else:
            assert_coherent(answer)


def test_wrong_types_are_refused_at_their_field() -> None:
    asked = [
        (field, value, scenario(field, value, field.workload or "inference", "llama-3.1-8b"))
        for field in FIELDS
        for value in WRONG
        if field.kind in ("integer", "number", "count", "boolean", "choice", "choices")
        and not (field.kind == "choices" and value == [])
        and not (field.kind == "boolean" and value is True)
        and not (field.kind == "number" and value == 1.5)
    ]
    for (field, value, _), answer in zip(asked, predict_many([raw for *_, raw in asked]), strict=True):
        assert field.path in answer["error"]["fields"], (field.path, value)


def test_every_accelerator_answers_for_every_kind_of_model() -> None:
    models = ("Qwen/Qwen2.5-0.5B", "mistralai/Mixtral-8x7B-v0.1")
    asked = [
        {"workload": workload, "model": model, "gpu": gpu, "gpu_count": 8}
        for gpu in hardware.presets()
        for model in models
        for workload in ("training", "inference")
    ]
    for answer in predict_many(asked, detail=False):
        assert_coherent(answer)


def test_every_format_on_every_engine() -> None:
    asked = [
        {
            "workload": "inference",
            "model": "Qwen/Qwen3-30B-A3B",
            **GPU,
            "inference": {"engine": engine, "weights": weights, "kv_cache": cache},
        }
        for engine in codes.ENGINES
        for weights in codes.WEIGHT_FORMATS
        for cache in ("bf16", "fp8", "nvfp4")
    ]
    for answer in predict_many(asked, detail=False):
        assert_coherent(answer)


@pytest.mark.parametrize("size", [{"params_b": 0.001}, {"params_b": 1e5, "active_params_b": 2}])
def test_sizes_that_no_model_has_are_refused(size: dict[str, float]) -> None:
    (answer,) = predict_many([{"workload": "training", "model_size": size, **GPU}])
    assert "model_size.params_b" in answer["error"]["fields"]


def test_all_padding_is_refused() -> None:
    raw = {"workload": "training", "model": "llama-3.1-8b", **GPU, "training": {"padding_fraction": 1.0}}
    assert "training.padding_fraction" in predict_many([raw])[0]["error"]["fields"]


def test_heads_are_named_as_the_model_has_them() -> None:
    raw = {"workload": "inference", "model": "deepseek-ai/DeepSeek-V3", "gpu": "H200", "parallelism": {"tp": 3}}
    (sentence,) = predict_many([raw])[0]["error"]["fields"]["parallelism.tp"]
    assert "128" in sentence
    assert "KV heads" not in sentence


def test_echoed_pools_answer_the_same() -> None:
    raw = {
        "workload": "inference",
        "model": "llama-3.1-70b",
        "gpu": "H100-SXM",
        "inference": {"disaggregated": POOLS},
    }
    (first,) = predict_many([raw])
    (again,) = predict_many([first["scenario"]])
    assert again["inference"] == first["inference"]
    assert again["memory"] == first["memory"]


@pytest.mark.parametrize("change", [{}, {"gpu_count": 8}, {"training": {"seq_len": 32_768}}])
def test_echoed_training_answers_the_same(change: dict[str, Any]) -> None:
    (first,) = predict_many([{"workload": "training", "model": "llama-3.1-70b", "gpu": "H200", **change}])
    (again,) = predict_many([first["scenario"]])
    assert again["training"] == first["training"]


def test_a_serving_misfit_is_measured_against_the_engines_share() -> None:
    raw = {"workload": "inference", "model": "llama-3.1-70b", "gpu": "H200", "gpu_count": 1}
    (answer,) = predict_many([raw])
    (warning,) = [w for w in answer["warnings"] if w["code"] == "does_not_fit"]
    assert "0 GiB short" not in warning["message"]


@pytest.mark.parametrize(("column", "value"), [("colour", "red"), ("name", ["x"]), ("memory_gb", "many")])
def test_odd_columns_of_own_hardware_are_refused(column: str, value: Any) -> None:
    spec = {"memory_gb": 80, "mem_bandwidth_gbs": 3000, "bf16_dense_tflops": 900, column: value}
    raw = {"workload": "inference", "model": "llama-3.1-8b", "gpu_spec": spec, "gpu_count": 1}
    assert f"gpu_spec.{column}" in predict_many([raw])[0]["error"]["fields"]
