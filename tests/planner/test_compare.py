"""Scenarios side by side."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from rest_framework.test import APIClient

from planner.charts import compare_bars
from planner.comparing import best_index, input_rows, result_rows
from planner.models import Comparison
from planner.present import COST, SERVING
from planner.services import comparison_create
from predictions.services import predict
from tests.planner import conftest

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_engine")]
TWO = "q=gpu_count%3D8&q=gpu%3Dh200-sxm%26gpu_count%3D8"


def test_it_works(client: Client) -> None:
    page = client.get(f"/compare/?{TWO}").content.decode()
    assert "llama-3.1-70b serving on 8 × h200-sxm" in page
    assert "baseline" in page
    assert "figure-0" in page


def test_differing_inputs_come_first() -> None:
    results = [predict(conftest.SERVING), predict({**conftest.SERVING, "gpu": "h200-sxm"})]
    rows = input_rows(results, 0)
    assert rows[0]["path"] == "gpu"
    assert [cell["differs"] for cell in rows[0]["cells"]] == [False, True]
    assert not rows[-1]["differs"]


def test_ratios_are_to_the_baseline() -> None:
    results = [predict(conftest.SERVING), predict({**conftest.SERVING, "gpu": "h200-sxm"})]
    row = next(row for row in result_rows(results, 1) if row["path"] == "inference.output_tokens_per_s")
    assert row["cells"][0]["ratio"] == pytest.approx(row["cells"][0]["value"] / row["cells"][1]["value"])
    assert row["cells"][1]["ratio"] is None


def speeds(*pairs: tuple[float, float, float]) -> list[dict[str, Any]]:
    return [
        {"inference": {"output_tokens_per_s": value}, "interval": {"output_tokens_per_s": [low, high]}}
        for low, value, high in pairs
    ]


def test_best_is_marked_only_beyond_the_ranges() -> None:
    metric = SERVING[0]
    apart, meeting = speeds((9, 10, 11), (12, 13, 14)), speeds((9, 10, 12.5), (12, 13, 14))
    assert best_index(metric, [10, 13], apart) == 1
    assert best_index(metric, [10, 13], meeting) is None
    assert best_index(metric, [10, None], [apart[0], None]) is None
    assert (
        best_index(metric, [10, 13], [apart[0], {"inference": {}}]) is None
    )  # a figure without a range decides nothing
    less_is_better = COST[0]
    assert best_index(less_is_better, [3, 2], [{"cost": {}}, {"cost": {}}]) == 1  # an hour's price is exact


def test_whiskers_reach_the_ends_of_the_range() -> None:
    bar = compare_bars(["a", "b"], [10.0, None], [(9.0, 12.0), None], "tokens/s", 0)["data"][0]
    assert (bar["error_y"]["array"], bar["error_y"]["arrayminus"]) == ([2.0, None], [1.0, None])
    assert bar["marker"]["color"][0] == "var:accent"


def test_bars_of_one_name_stand_apart() -> None:
    figure = compare_bars(["70B <a>", "70B <a>"], [1.0, 2.0], [None, None], "tokens/s", 0)
    assert figure["data"][0]["x"] == [0, 1]
    assert figure["layout"]["xaxis"]["ticktext"] == ["70B &lt;a&gt;"] * 2


def test_an_unanswerable_scenario_keeps_its_column(client: Client) -> None:
    page = client.get("/compare/?q=gpu%3Dnothing&q=gpu_count%3D8&q=model_config%3D%7B").content.decode()
    assert "There is no GPU" in page
    assert "unreadable" in page


def test_saved_scenarios_by_id(signed_in: Client, saved: Any) -> None:
    first, second = saved("first"), saved("second", gpu="h200-sxm")
    page = signed_in.get(f"/compare/?id={first.pk}&id={second.pk}&id=0&id=x&baseline=1").content.decode()
    assert "first" in page
    assert "second" in page
    body = signed_in.get(f"/compare.json?id={first.pk}&id={second.pk}&baseline=9").json()
    assert body["baseline"] == 0
    assert [entry["name"] for entry in body["scenarios"]] == ["first", "second"]
    assert (
        "inference.output_tokens_per_s" in signed_in.get(f"/compare.csv?id={first.pk}&id={second.pk}").content.decode()
    )


def test_at_most_eight_columns(client: Client) -> None:
    assert (
        len(client.get("/compare.json?" + "&".join(f"q=gpu_count%3D{n}" for n in range(1, 12))).json()["scenarios"])
        == 8
    )


def test_keep_show_delete(signed_in: Client, saved: Any) -> None:
    rows = [saved(name) for name in ("a", "b")]
    made = signed_in.post("/compare/save/", {"name": "ab", "id": [row.pk for row in rows], "baseline": rows[1].pk})
    kept = Comparison.objects.get()
    assert made["Location"] == f"/compare/{kept.pk}/"
    assert signed_in.get(f"/compare/{kept.pk}/")["Location"].endswith("baseline=1")
    assert signed_in.post("/compare/save/", {"name": "one", "id": [rows[0].pk]})["Location"] == "/compare/"
    assert signed_in.get("/compare/999/").status_code == 404
    signed_in.post(f"/compare/{kept.pk}/delete/")
    assert not Comparison.objects.exists()


def test_a_baseline_from_outside_is_refused(user: Any, saved: Any) -> None:
    with pytest.raises(ValidationError):
        comparison_create(owner=user, name="x", scenarios=[saved("a"), saved("b")], baseline=saved("c"))


def test_rest(api_signed: APIClient, saved: Any) -> None:
    ids = [saved("a").pk, saved("b").pk]
    made = api_signed.post("/api/v1/comparisons/", {"name": "ab", "scenarios": ids, "baseline": ids[1]})
    assert made.status_code == 201
    address = f"/api/v1/comparisons/{made.json()['id']}/"
    body = api_signed.get(address).json()
    assert (body["scenarios"], body["baseline"]) == (ids, ids[1])
    assert body["predictions"][0]["memory"]["fits"]
    assert api_signed.get("/api/v1/comparisons/").json()["count"] == 1
    assert api_signed.delete(address).status_code == 204


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"scenarios": [1]}, "scenarios"),
        ({"scenarios": [999999, 999998]}, "scenarios"),
        ({"baseline": 999999}, "baseline"),
    ],
)
def test_rest_refuses(api_signed: APIClient, saved: Any, change: dict[str, Any], field: str) -> None:
    body = {"name": "ab", "scenarios": [saved("a").pk, saved("b").pk], **change}
    answer = api_signed.post("/api/v1/comparisons/", body)
    assert answer.status_code == 400
    assert field in str(answer.json()["error"]["fields"])
