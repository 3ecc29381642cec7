"""Uploads, runs and calibrations over REST."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from rest_framework.test import APIClient

from accounts.models import User
from benchmarks_ingest.models import MeasuredRun

from .conftest import HARDWARE, many, run_jobs, serve, uploaded

pytestmark = pytest.mark.django_db
UPLOADS, RUNS = "/api/v1/uploads/", "/api/v1/runs/"


def send(client: APIClient, data: bytes, kind: str = "application/json", **headers: str) -> Any:
    return client.generic("POST", f"{UPLOADS}?name=result.json", data, content_type=kind, **headers)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["application/json", "application/octet-stream", "text/csv"])
def test_it_works(api_uploader: APIClient, kind: str) -> None:
    answer = send(api_uploader, serve(), kind)
    assert answer.status_code == 202, answer.content
    body = answer.json()
    assert answer["Location"].endswith(f"{UPLOADS}{body['id']}/")
    run_jobs()
    assert api_uploader.get(answer["Location"]).json()["status"] == "done"
    (run,) = api_uploader.get(f"{RUNS}?upload={body['id']}").json()["results"]
    assert (run["status"], run["run"]["output_tokens_per_s"]) == ("to_confirm", 2000)
    confirmed = api_uploader.post(f"{RUNS}{run['id']}/confirm/", HARDWARE)
    assert confirmed.status_code == 200, confirmed.content
    run_jobs()
    run = api_uploader.get(f"{RUNS}{run['id']}/").json()
    assert {figure["quantity"] for figure in run["figures"]} >= {"tpot", "ttft", "output_tokens_per_s"}


def test_multipart(api_uploader: APIClient) -> None:
    file = SimpleUploadedFile("result.json", serve())
    answer = api_uploader.post(UPLOADS, {"file": file}, format="multipart")
    assert answer.status_code == 202, answer.content
    assert answer.json()["name"] == "result.json"


def test_again_is_the_same(api_uploader: APIClient) -> None:
    first = send(api_uploader, serve(), HTTP_IDEMPOTENCY_KEY="k1")
    again = send(api_uploader, serve(), HTTP_IDEMPOTENCY_KEY="k1")
    assert (first.status_code, again.status_code) == (202, 200)
    assert first.json()["id"] == again.json()["id"]
    other = send(api_uploader, serve(duration=99.0), HTTP_IDEMPOTENCY_KEY="k1")
    assert (other.status_code, other.json()["error"]["code"]) == (409, "key_reused")


def test_refusals(api_uploader: APIClient, settings: Any) -> None:
    assert send(api_uploader, b"").status_code == 400
    settings.ROOFTREE_MAX_FILE_BYTES = 100
    large = send(api_uploader, serve())
    assert (large.status_code, large.json()["error"]["code"]) == (413, "too_large")
    assert api_uploader.post(UPLOADS, {}, format="multipart").status_code == 400


def test_who_may(api: APIClient, api_signed: APIClient) -> None:
    assert send(api, serve()).status_code == 401
    assert send(api_signed, serve()).status_code == 403, "the token lacks the scope upload"
    assert api.get(UPLOADS).status_code == 200
    assert api.get(RUNS).status_code == 200


def test_runs_of_others_are_not_seen(api_uploader: APIClient) -> None:
    bob = User.objects.create_user("bob")
    theirs = uploaded(bob, serve())
    run = MeasuredRun.objects.get(upload=theirs)
    assert api_uploader.get(f"{RUNS}{run.pk}/").status_code == 404
    assert api_uploader.post(f"{RUNS}confirm/", {"runs": [run.pk], **HARDWARE}).status_code == 400
    assert api_uploader.get(f"{UPLOADS}{theirs.pk}/").status_code == 404
    assert api_uploader.get(f"{RUNS}?reference=false").json()["count"] == 0


def test_filters_and_pages(api: APIClient) -> None:
    found = api.get(f"{RUNS}?reference=true&gpu=h100-sxm5-80gb&workload=training").json()
    assert found["count"] > 50
    assert {run["gpu"] for run in found["results"]} == {"h100-sxm5-80gb"}
    assert api.get(f"{RUNS}?status=nonsense").status_code == 400


def test_several_are_confirmed(api_uploader: APIClient, user: Any) -> None:
    upload = uploaded(user, many([1.0, 1.2]), "many.jsonl")
    keys = list(upload.runs.values_list("pk", flat=True))
    refused = api_uploader.post(f"{RUNS}confirm/", {"runs": keys, "gpu": "no such gpu", "gpu_count": 8})
    assert (refused.status_code, list(refused.json()["error"]["fields"])) == (400, ["gpu"])
    answer = api_uploader.post(f"{RUNS}confirm/", {"runs": keys, **HARDWARE})
    assert [run["status"] for run in answer.json()] == ["confirmed", "confirmed"]


def test_calibrations(user: Any, api_uploader: APIClient, api: APIClient) -> None:
    from accounts.services import token_create

    _row, text = token_create(user=user, name="planner")
    api.credentials(HTTP_AUTHORIZATION=f"Token {text}")
    address = "/api/v1/calibrations/"
    assert api.post(address, {}).status_code == 400, "there is nothing to fit to"
    upload = uploaded(user, many([1.0 + 0.01 * step for step in range(12)]), "many.jsonl")
    api_uploader.post(f"{RUNS}confirm/", {"runs": list(upload.runs.values_list("pk", flat=True)), **HARDWARE})
    run_jobs()
    made = api.post(address, {"name": "ours", "force": True})
    assert made.status_code == 201, made.content
    row = made.json()
    assert row["runs"] == 12
    assert api.post(f"{address}{row['id']}/activate/", {}).json()["active"] is True
    assert api.post(f"{address}{row['id']}/activate/", {"for_everyone": True}).status_code == 403
    scenario = {"workload": "inference", "model": "llama-3.1-70b", "gpu": "h100-sxm", "gpu_count": 8}
    answer = api.post("/api/v1/predictions/", scenario).json()
    assert answer["versions"]["calibration"] == row["version"]
    assert api.post(f"{address}{row['id']}/deactivate/").json()["active"] is False
    assert APIClient().get(f"{address}{row['id']}/").status_code == 404
    assert APIClient().post(address, {}).status_code == 401
