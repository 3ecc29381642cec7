"""Plan: the page, its answer fragment, its twins."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from django.test import Client

from planner import present
from roofline.fields import FIELDS

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_engine")]
FORM = {"workload": "inference", "form_workload": "inference", "model": "llama-3.1-70b", "gpu": "h100-sxm"}


def answer(client: Client, **fields: str) -> Any:
    return client.post("/plan/answer/", {**FORM, **fields}, headers={"HX-Request": "true"})


def test_it_works(client: Client) -> None:
    page = client.get("/plan/?gpu_count=8&inference.weights=fp8").content.decode()
    assert "Fits." in page
    assert "output tokens/s" in page
    assert 'id="figure-roofline"' in page
    assert 'value="8"' in page


def test_gaps_between_tokens_are_shown(client: Client) -> None:
    page = client.get("/plan/?gpu_count=8").content.decode()
    assert page.count("ITL, 99th percentile") == 2  # among the figures, and over the curve's table
    rows = csv.DictReader(io.StringIO(client.get("/plan.csv?gpu_count=8").content.decode()))
    assert {row["field"]: float(row["value"] or 0) for row in rows if "itl" in row["field"]}["inference.itl_p99_s"] > 0


def test_every_field_of_a_workload_is_in_the_form(client: Client) -> None:
    for workload in ("inference", "training"):
        page = client.get(f"/plan/?workload={workload}").content.decode()
        fields = [entry for entry in FIELDS if entry.path != "name" and entry.workload in (None, workload)]
        assert [entry.path for entry in fields if f'name="{entry.path}"' not in page] == []
        labels = [entry.label for entry in fields]
        assert sorted(labels) == sorted(set(labels))


def test_back_ends_are_written_as_people_know_them(client: Client) -> None:
    page = client.get("/plan/?inference.engine=llama_cpp&inference.backend=vulkan_amdvlk").content.decode()
    assert '<option value="vulkan_amdvlk" selected>Vulkan, AMDVLK</option>' in page


def test_training(client: Client) -> None:
    page = client.get("/plan/?workload=training&gpu_count=64&training.total_tokens=1e12").content.decode()
    assert "MFU" in page
    assert "The run takes" in page
    assert "Speed over the number of GPUs" in page


def test_the_fragment_replaces_the_address_by_the_shortest(client: Client) -> None:
    response = answer(
        client, gpu_count="8", **{"inference.kv_cache": "bf16", "inference.input_tokens": "", "optimizations": ""}
    )
    assert response.status_code == 200
    assert response["HX-Replace-Url"] == "/plan/?gpu_count=8&optimizations="
    assert b"<html" not in response.content


def test_the_fragment_says_what_was_chosen(client: Client) -> None:
    content = answer(client).content.decode()
    state = json.loads(content.split('id="form-state" type="application/json">')[1].split("</script>")[0])
    assert state["gpu_count"]["origin"] == "chosen"
    assert state["inference.input_tokens"] == {"text": "1024", "origin": "default", "said": "chosen"}


def test_does_not_fit_offers_what_would(client: Client) -> None:
    page = answer(client, gpu_count="1").content.decode()
    assert "Does not fit: 56.2 GiB missing" in page
    assert "GPUs 2, Tensor parallel 2" in page
    assert "figure-roofline" not in page


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("gpu", "h1000"),
        ("model", "no-such-model"),
        ("gpu_count", "-1"),
        ("gpu_count", "eight"),
        ("gpu_count", "1e99"),
        ("inference.input_tokens", "nan"),
        ("parallelism.tp", "3"),
        ("inference.weights", "fp3"),
        ("model_config", "<html>"),
        ("price.usd_per_gpu_hour", "-2"),
    ],
)
def test_a_wrong_value_is_refused_at_its_field(client: Client, field: str, text: str) -> None:
    fields = {field: text} | ({"gpu_count": "8"} if field == "parallelism.tp" else {})
    fields |= {"model": ""} if field == "model_config" else {}
    response = answer(client, **fields)
    assert response.status_code == 422
    assert field in response.json()["error"]["fields"]
    page = client.get("/plan/", {key: value for key, value in (FORM | fields).items() if key != "form_workload"})
    assert page.status_code == 400
    assert "No answer yet" in page.content.decode()


def test_the_nearest_names_are_said(client: Client) -> None:
    assert "b200-sxm-180gb" in client.get("/plan/?gpu=b20").content.decode()


def test_another_workload_is_another_page(client: Client) -> None:
    response = answer(client, workload="training", **{"inference.weights": "fp8"})
    assert response.status_code == 204
    assert response["HX-Redirect"] == "/plan/?workload=training"


def test_a_pasted_configuration_is_answered(client: Client) -> None:
    from llms.models import LanguageModel

    config = LanguageModel.objects.get(name="meta-llama/Meta-Llama-3.1-8B").config
    response = answer(client, model="", model_config=json.dumps(config))
    assert response.status_code == 200
    assert b"Fits." in response.content


def test_a_bare_size_is_answered(client: Client) -> None:
    assert b"13B serving" in answer(client, model="", **{"model_size.params_b": "13"}).content


def test_json_twin_is_the_prediction(client: Client) -> None:
    body = client.get("/plan.json?gpu_count=8").json()
    assert body["scenario"]["gpu_count"] == 8
    assert body["origins"]["gpu_count"] == "given"
    assert client.get("/plan.json?gpu=x").json()["error"]["fields"]["gpu"]


def test_csv_twin_has_a_row_for_each_figure(client: Client) -> None:
    rows = list(csv.DictReader(io.StringIO(client.get("/plan.csv?gpu_count=8").content.decode())))
    figures = {row["field"]: row for row in rows}
    assert float(figures["inference.tpot_s"]["low"]) < float(figures["inference.tpot_s"]["value"])
    assert figures["memory.fits"]["value"] == "true"
    assert client.get("/plan.csv?gpu=x").status_code == 400


def test_what_would_help_is_ranked(client: Client) -> None:
    page = answer(client, gpu_count="8").content.decode()
    assert "FP8 weights" in page
    assert "Fewer bits: check the accuracy on your own task." in page


def test_no_style_attribute_and_no_inline_script(client: Client) -> None:
    page = client.get("/plan/").content.decode()
    assert " style=" not in page
    assert "<script>" not in page
    assert " onclick" not in page


def test_number_of_queries(client: Client, django_assert_max_num_queries: Any) -> None:
    answer(client)
    with django_assert_max_num_queries(24):
        answer(client)


def test_what_is_missing_counts_the_share_that_an_engine_may_use() -> None:
    per_gpu = {"total_bytes": 138 * 2**30, "capacity_bytes": 80 * 2**30}
    memory = {"per_gpu": per_gpu, "fits": False, "short_bytes": 66 * 2**30}
    serving = {
        "scenario": {"workload": "inference", "inference": {"gpu_memory_utilization": 0.9}},
        "memory": memory,
    }
    assert present.answer(serving) == (
        "Does not fit: 66.0 GiB missing on each GPU (138 GiB needed; 80.0 GiB there, of which the engine may use 90.0 %)."
    )
    assert present.parts_table(serving)[-1]["bytes"] == 66 * 2**30
    training = {"scenario": {"workload": "training"}, "memory": memory | {"short_bytes": 58 * 2**30}}
    assert "(138 GiB needed, 80.0 GiB there)" in present.answer(training)
