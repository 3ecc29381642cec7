"""Predictions over REST, as the contract says."""

import json
import math
from typing import Any

import pytest
from rest_framework.test import APIClient

URL = "/api/v1/predictions/"
SERVING = {"workload": "inference", "model": "llama-3.1-70b", "gpu": "H100-SXM", "gpu_count": 8}
TRAINING = {**SERVING, "workload": "training", "gpu_count": 64}

pytestmark = pytest.mark.django_db


def predict(api: APIClient, scenario: Any) -> dict[str, Any]:
    response = api.post(URL, scenario, format="json")
    assert response.status_code == 200, response.json()
    return response.json()


def refused(api: APIClient, scenario: Any) -> dict[str, list[str]]:
    response = api.post(URL, data=json.dumps(scenario), content_type="application/json")
    assert response.status_code == 400
    error = response.json()["error"]
    assert error["code"]
    assert error["message"]
    return error["fields"]


def numbers(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [n for inner in value.values() for n in numbers(inner)]
    if isinstance(value, list):
        return [n for inner in value for n in numbers(inner)]
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else []


def test_it_works(api: APIClient) -> None:
    answer = predict(api, SERVING)
    assert answer["model"]["total_params"] == 70_553_706_496
    assert answer["model"]["kv_bytes_per_token"] == 327_680
    assert answer["memory"]["fits"] is True
    assert answer["inference"]["output_tokens_per_s"] > 0
    assert "training" not in answer
    assert answer["versions"].keys() == {"engine", "calibration", "catalog"}


def test_training_has_its_keys(api: APIClient) -> None:
    answer = predict(api, {**TRAINING, "training": {"total_tokens": 1e12}})
    assert "inference" not in answer
    speed = answer["training"]
    assert 0 < speed["mfu"] <= speed["hfu"] < 1
    assert speed["time_to_train_s"] == pytest.approx(1e12 / speed["tokens_per_s"])
    assert answer["cost"]["usd_per_run"] == pytest.approx(
        answer["cost"]["usd_per_hour"] * speed["time_to_train_s"] / 3600
    )


@pytest.mark.parametrize("scenario", [SERVING, TRAINING])
def test_parts_of_memory_add_up(api: APIClient, scenario: dict) -> None:
    parts = predict(api, scenario)["memory"]["per_gpu"]
    total, capacity = parts.pop("total_bytes"), parts.pop("capacity_bytes")
    assert sum(parts.values()) == pytest.approx(total, abs=8)
    assert total <= capacity


@pytest.mark.parametrize("scenario", [SERVING, TRAINING])
def test_every_number_is_finite_and_shares_add_up(api: APIClient, scenario: dict) -> None:
    answer = predict(api, scenario)
    assert all(math.isfinite(number) for number in numbers(answer))
    assert sum(answer["bound"]["shares"].values()) == pytest.approx(1)
    assert answer["bound"]["dominant"] in answer["bound"]["shares"]
    assert {o["bound"] for o in answer["operators"]} <= {"compute", "memory", "interconnect", "latency"}


@pytest.mark.parametrize("scenario", [SERVING, TRAINING])
def test_interval_holds_the_figure(api: APIClient, scenario: dict) -> None:
    answer = predict(api, scenario)
    interval = answer["interval"]
    assert interval["level"] == 0.8
    assert interval["basis"]
    figures = answer.get("training") or answer["inference"]
    pairs = {key: value for key, value in interval.items() if isinstance(value, list)}
    assert pairs
    for key, (low, high) in pairs.items():
        assert low < figures[key] < high


def test_echo_marks_origins_and_answers_the_same(api: APIClient) -> None:
    answer = predict(api, SERVING)
    assert answer["origins"]["parallelism.tp"] == "chosen"
    assert answer["origins"]["gpu_count"] == "given"
    assert answer["origins"]["inference.input_tokens"] == "default"
    again = predict(api, answer["scenario"])
    assert again["inference"] == answer["inference"]
    assert again["memory"] == answer["memory"]


def test_layout_multiplies_to_the_number_of_gpus(api: APIClient) -> None:
    for scenario in (
        SERVING,
        TRAINING,
        {**SERVING, "model": "deepseek-ai/DeepSeek-V3", "gpu": "h200-sxm-141gb", "gpu_count": 16},
    ):
        echoed = predict(api, scenario)["scenario"]
        layout = echoed["parallelism"]
        assert layout["tp"] * layout["pp"] * layout["cp"] * layout["dp"] == echoed["gpu_count"]
        assert (layout["tp"] * layout["cp"] * layout["dp"]) % layout["ep"] == 0


def test_number_of_gpus_is_chosen(api: APIClient) -> None:
    answer = predict(api, {key: value for key, value in SERVING.items() if key != "gpu_count"})
    assert answer["memory"]["fits"]
    assert answer["origins"]["gpu_count"] == "chosen"
    fewer = predict(api, {**SERVING, "gpu_count": answer["scenario"]["gpu_count"] // 2})
    assert not fewer["memory"]["fits"]


def test_does_not_fit_says_what_would(api: APIClient) -> None:
    answer = predict(api, {**SERVING, "gpu_count": 1})
    assert answer["memory"]["fits"] is False
    assert answer["inference"] is None
    assert answer["cost"] is None
    assert answer["bound"]["dominant"] == "capacity"
    assert answer["memory"]["would_fit"]
    for remedy in answer["memory"]["would_fit"]:
        changed = {**SERVING, "gpu_count": 1, **remedy["change"]}
        assert predict(api, changed)["memory"]["fits"]


def test_price_is_named_or_typed(api: APIClient) -> None:
    named = predict(api, SERVING)["cost"]["price"]
    assert named["source"]
    assert named["date"]
    typed = predict(api, {**SERVING, "price": {"usd_per_gpu_hour": 2.5}})["cost"]
    assert typed["usd_per_hour"] == 20
    half = predict(api, {**SERVING, "price": {"usd_per_gpu_hour": 2.5}, "utilization": 0.5})["cost"]
    assert half["usd_per_million_output_tokens"] == pytest.approx(2 * typed["usd_per_million_output_tokens"])


def test_ownership_is_priced(api: APIClient) -> None:
    owned = {
        "purchase_usd_per_gpu": 41_700,
        "interest": 0,
        "maintenance": 0,
        "watts_per_gpu": 955.5,
        "usd_per_kwh": 0.0826,
    }
    cost = predict(api, {**SERVING, "gpu_count": 8, "price": {"tco": owned}})["cost"]
    assert cost["usd_per_hour"] / 8 == pytest.approx(1.05, abs=0.01)
    assert "price.tco.colour" in refused(api, {**SERVING, "price": {"tco": {**owned, "colour": 1}}})


def test_no_price_known_gives_no_cost(api: APIClient) -> None:
    spec = {"memory_gb": 80, "mem_bandwidth_gbs": 3000, "bf16_dense_tflops": 900}
    answer = predict(api, {"workload": "inference", "model": "llama-3.1-8b", "gpu_spec": spec, "gpu_count": 1})
    assert answer["cost"] is None
    assert "no_price" in {warning["code"] for warning in answer["warnings"]}


def test_bare_size_and_own_configuration(api: APIClient) -> None:
    sized = {"workload": "training", "model_size": {"params_b": 70}, "gpu": "H100-SXM", "gpu_count": 64}
    assert predict(api, sized)["model"]["total_params"] == pytest.approx(70e9, rel=0.03)
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 4096,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "intermediate_size": 14336,
        "vocab_size": 128256,
        "tie_word_embeddings": False,
    }
    own = {"workload": "inference", "model_config": config, "gpu": "H100-SXM", "gpu_count": 1}
    assert predict(api, own)["model"]["total_params"] == 8_030_261_248


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"gpu": "H1000"}, "gpu"),
        ({"model": "llama-9-900b"}, "model"),
        ({"parallelism": {"tp": 3}, "gpu_count": 3}, "parallelism.tp"),
        ({"parallelism": {"tp": 16}}, "parallelism.tp"),
        ({"parallelism": {"ep": 2}}, "parallelism.ep"),
        ({"gpu_count": 1e30}, "gpu_count"),
        ({"inference": {"concurrency": math.nan}}, "inference.concurrency"),
        ({"model": None, "model_config": {"model_type": "bert"}}, "model_config"),
        ({"model": None, "model_config": {"model_type": "unknown"}}, "model_config"),
        ({"gpu": None, "gpu_spec": {"memory_gb": -1}}, "gpu_spec.memory_gb"),
        ({"price": {"offer": "no such"}}, "price.offer"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_refusal_names_the_field(api: APIClient, change: dict, path: str) -> None:
    scenario = {key: value for key, value in {**SERVING, **change}.items() if value is not None}
    assert path in refused(api, scenario)


def test_unknown_gpu_names_the_nearest(api: APIClient) -> None:
    assert "h100" in " ".join(refused(api, {**SERVING, "gpu": "H100-SXMM"})["gpu"]).lower()


def test_list_is_answered_in_order_with_errors_in_place(api: APIClient) -> None:
    answers = api.post(URL, [SERVING, {**SERVING, "gpu": "H1000"}, TRAINING, "nonsense"], format="json").json()
    assert "inference" in answers[0]
    assert answers[1]["error"]["fields"].keys() == {"gpu"}
    assert "training" in answers[2]
    assert answers[3]["error"]["code"] == "invalid"


def test_list_of_1001_is_refused(api: APIClient) -> None:
    response = api.post(URL, [SERVING] * 1001, format="json")
    assert response.status_code == 400
    assert "1,000" in response.json()["error"]["message"]


@pytest.mark.parametrize(
    ("body", "status"),
    [("{", 400), ("[" * 5000 + "]" * 5000, 400), ("null", 400), ('"text"', 400), ("{}", 400), ("x" * 11_000_000, 413)],
)
def test_bodies_that_cannot_be_read(api: APIClient, body: str, status: int) -> None:
    response = api.post(URL, data=body, content_type="application/json")
    assert response.status_code == status
    assert response.json()["error"]["message"]


def test_other_content_is_refused(api: APIClient) -> None:
    assert api.post(URL, data="a=1", content_type="application/x-www-form-urlencoded").status_code == 415
    assert api.get(URL).status_code == 405


def test_disaggregated_pools_make_up_the_count(api: APIClient) -> None:
    pools = {"prefill": {"gpus": 8, "tp": 4}, "decode": {"gpus": 16, "tp": 8}}
    scenario = {key: value for key, value in SERVING.items() if key != "gpu_count"}
    answer = predict(api, {**scenario, "inference": {"disaggregated": pools}})
    assert answer["scenario"]["gpu_count"] == 24
    assert answer["inference"]["output_tokens_per_s"] > 0


def test_concurrency_max_takes_all_that_fits(api: APIClient) -> None:
    some = predict(api, {**SERVING, "inference": {"concurrency": 16}})["inference"]
    most = predict(api, {**SERVING, "inference": {"concurrency": "max"}})["inference"]
    assert most["concurrency"] > some["concurrency"]
    assert most["output_tokens_per_s"] > some["output_tokens_per_s"]
