"""Jobs over REST."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from rest_framework.test import APIClient

from jobs.services import job_create, job_run

pytestmark = pytest.mark.django_db


def test_it_works(api: APIClient) -> None:
    job = job_create(kind="counting", payload={}, total=3)
    answer = api.get(f"/api/v1/jobs/{job.pk}/").json()
    assert answer == {
        "id": str(job.pk),
        "status": "queued",
        "progress": 0.0,
        "done": 0,
        "total": 3,
        "results": None,
        "front": [],
        "error": None,
    }
    job_run(job_id=job.pk, worker="a")
    assert api.get(f"/api/v1/jobs/{job.pk}/").json()["status"] == "done"


def test_cancel(api: APIClient) -> None:
    job = job_create(kind="counting", payload={}, total=3)
    answer = api.post(f"/api/v1/jobs/{job.pk}/cancel/")
    assert answer.status_code == 200
    assert answer.json()["status"] == "cancelled"


def test_unknown_job(api: APIClient) -> None:
    answer = api.get(f"/api/v1/jobs/{uuid4()}/")
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "not_found"


def test_owned_job_is_hidden_from_others(api: APIClient, api_signed: APIClient, user: Any) -> None:
    job = job_create(kind="counting", payload={}, total=3, owner=user)
    assert api.get(f"/api/v1/jobs/{job.pk}/").status_code == 404
    assert api.post(f"/api/v1/jobs/{job.pk}/cancel/").status_code == 404
    assert api_signed.get(f"/api/v1/jobs/{job.pk}/").status_code == 200
