"""Saved scenarios: keep, find, change, clone, delete; on pages and over REST."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.test import Client
from rest_framework.test import APIClient

from accounts.models import User
from planner.models import CaseStudy, Scenario
from planner.selectors import scenarios_found, tags_in_use
from planner.services import scenario_clone, scenario_create, scenario_update
from roofline.errors import ScenarioError
from tests.planner.conftest import SERVING, TRAINING

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_engine")]


@pytest.fixture
def other() -> Any:
    return User.objects.create_user("eve", password="another long password")


def test_it_works(signed_in: Client) -> None:
    response = signed_in.post(
        "/scenarios/new/?gpu_count=8", {"name": "eight", "tags": "Prod, prod, big model", "notes": "n"}
    )
    assert response["Location"] == "/scenarios/"
    row = Scenario.objects.get(name="eight")
    assert row.scenario == {"workload": "inference", "model": "llama-3.1-70b", "gpu": "h100-sxm", "gpu_count": 8}
    assert [tag.name for tag in row.tags.all()] == ["big-model", "prod"]
    assert "eight" in signed_in.get("/scenarios/").content.decode()


def test_saving_suggests_a_name_and_shows_the_answer(signed_in: Client) -> None:
    page = signed_in.get("/scenarios/new/?gpu_count=8").content.decode()
    assert "llama-3.1-70b serving on 8" in page
    assert "Fits." in page


def test_what_cannot_be_answered_is_not_kept(signed_in: Client, user: Any) -> None:
    assert signed_in.post("/scenarios/new/?gpu=nothing", {"name": "x"})["Location"] == "/plan/?gpu=nothing"
    with pytest.raises(ScenarioError):
        scenario_create(owner=user, name="x", scenario={"workload": "training"})


def test_saving_asks_to_sign_in(client: Client) -> None:
    assert "sign-in" in client.get("/scenarios/new/?gpu_count=8")["Location"]


def test_filters(user: Any, saved: Any) -> None:
    first, second = saved("alpha", tags=("x",)), saved("beta", tags=("y",))
    scenario_create(owner=user, name="train", scenario=TRAINING)
    assert list(scenarios_found(user=user, words="alp")) == [first]
    assert list(scenarios_found(user=user, tag="y")) == [second]
    assert [row.name for row in scenarios_found(user=user, workload="training", mine=True)] == ["train"]
    assert set(tags_in_use()) >= {"x", "y", "case-study"}


def test_only_the_owner_changes(other: Any, saved: Any, user: Any) -> None:
    row = saved()
    with pytest.raises(PermissionDenied):
        scenario_update(user=other, row=row, name="mine now")
    assert scenario_update(user=user, row=row, name="new", tags=["t"]).name == "new"


def test_what_ships_is_read_only_and_can_be_cloned(signed_in: Client, user: Any) -> None:
    row = CaseStudy.objects.first().baseline  # type: ignore[union-attr]
    assert signed_in.post(f"/scenarios/{row.pk}/delete/").status_code == 403
    assert signed_in.post(f"/scenarios/{row.pk}/clone/").status_code == 302
    copy = Scenario.objects.get(owner=user)
    assert (copy.seeded, copy.scenario) == (False, row.scenario)
    assert scenario_clone(owner=user, row=copy).name.endswith("(copy) (copy)")


def test_edit_and_delete(signed_in: Client, saved: Any) -> None:
    row = saved("old")
    assert 'value="old"' in signed_in.get(f"/scenarios/{row.pk}/").content.decode()
    assert signed_in.post(f"/scenarios/{row.pk}/", {"name": ""}).status_code == 200
    signed_in.post(f"/scenarios/{row.pk}/", {"name": "new", "tags": "", "notes": ""})
    assert Scenario.objects.get(pk=row.pk).name == "new"
    signed_in.post(f"/scenarios/{row.pk}/delete/")
    assert not Scenario.objects.filter(pk=row.pk).exists()
    assert signed_in.get("/scenarios/999999/").status_code == 404


def test_without_a_sign_in_only_what_ships_is_seen(client: Client, saved: Any) -> None:
    saved("private plan")
    assert "private plan" not in client.get("/scenarios/").content.decode()
    assert "Healthcare" in client.get("/scenarios/").content.decode()


def test_rest(api_signed: APIClient, user: Any) -> None:
    made = api_signed.post("/api/v1/scenarios/", {"name": "a", "scenario": SERVING, "tags": ["t"]})
    assert made.status_code == 201
    address = f"/api/v1/scenarios/{made.json()['id']}/"
    assert made.json()["owner"] == user.username
    assert api_signed.get(address).json()["tags"] == ["t"]
    assert api_signed.patch(address, {"name": "b"}).json()["name"] == "b"
    assert [row["name"] for row in api_signed.get("/api/v1/scenarios/?q=b&tag=t").json()["results"]] == ["b"]
    assert api_signed.delete(address).status_code == 204


def test_rest_refuses_at_the_field(api_signed: APIClient, api: APIClient) -> None:
    bad = api_signed.post("/api/v1/scenarios/", {"name": "a", "scenario": {**SERVING, "gpu_count": -1}})
    assert bad.status_code == 400
    assert bad.json()["error"]["fields"]["gpu_count"]
    assert api_signed.post("/api/v1/scenarios/", {"name": "a"}).json()["error"]["fields"]["scenario"]
    assert api_signed.post("/api/v1/scenarios/", {"name": "a", "scenario": [1]}).status_code == 400
    assert api.post("/api/v1/scenarios/", {"name": "a", "scenario": SERVING}).status_code in (401, 403)
