"""Sweeps: expansion, the job, fronts, pages, REST."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.test import APIClient

from jobs import registry
from jobs.models import JobStatus
from jobs.services import job_run
from planner.models import Sweep, SweepChunk
from planner.selectors import sweep_rows
from planner.sweeps import FRONTS, front_of, merged_fronts, sweep_create, sweep_estimate
from roofline.errors import ScenarioError
from roofline.pareto import pareto_front
from tests.planner.conftest import SERVING, TRAINING

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_engine")]
SPACE = {
    **SERVING,
    "gpu": {"values": ["h100-sxm", "h200-sxm"]},
    "inference": {"weights": {"values": ["bf16", "fp8"]}, "concurrency": {"from": 1, "to": 128, "factor": 2}},
}


def done(sweep: Sweep) -> Sweep:
    job_run(job_id=sweep.job_id, worker="w")
    return Sweep.objects.select_related("job").get(pk=sweep.pk)


def test_it_works() -> None:
    sweep = done(sweep_create(owner=None, space=SPACE))
    assert sweep.job is not None
    assert (sweep.total, sweep.job.status, sweep.job.done) == (32, JobStatus.DONE, 32)
    rows = sweep_rows(sweep)
    assert [row["n"] for row in rows] == list(range(32))
    assert rows[0]["values"] == {"gpu": "h100-sxm", "inference.weights": "bf16", "inference.concurrency": 1}
    assert {point["front"] for point in sweep.job.front} == {"speed", "cost"}


def test_chunks_give_the_same_front_as_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = done(sweep_create(owner=None, space=SPACE))
    chunked = sweep_create(owner=None, space=SPACE)
    monkeypatch.setitem(registry._KINDS, "sweep", replace(registry._KINDS["sweep"], chunk_size=5))
    chunked = done(chunked)
    assert SweepChunk.objects.filter(sweep=chunked).count() == 7
    assert chunked.job.front == whole.job.front  # type: ignore[union-attr]
    assert sweep_rows(chunked) == sweep_rows(whole)
    assert [row["n"] for row in sweep_rows(chunked, start=7, stop=12)] == [7, 8, 9, 10, 11]


def test_training_trades_time_for_cost() -> None:
    sweep = done(sweep_create(owner=None, space={**TRAINING, "gpu_count": {"values": [64, 128, 256]}}))
    assert [point["front"] for point in sweep.job.front] == ["cost"] * len(sweep.job.front)  # type: ignore[union-attr]


def test_a_point_that_cannot_be_answered_says_why() -> None:
    sweep = done(sweep_create(owner=None, space={**SERVING, "parallelism": {"tp": {"values": [3, 8]}}}))
    first, second = sweep_rows(sweep)
    assert "error" in first
    assert second["fits"]


@pytest.mark.parametrize(
    "space",
    [
        {**SERVING, "gpu": {"values": ["nothing", "nobody"]}},
        {**SERVING, "gpu_count": {"from": 1, "to": 10, "step": 0}},
        {
            **SERVING,
            "gpu_count": {"from": 1, "to": 5000, "step": 1},
            "inference": {"input_tokens": {"from": 1, "to": 500, "step": 1}},
        },
        {"workload": {"values": ["training"]}},
    ],
)
def test_a_bad_space_starts_nothing(space: dict[str, Any]) -> None:
    with pytest.raises(ScenarioError):
        sweep_create(owner=None, space=space)
    assert not Sweep.objects.exists()


def test_estimate_says_how_many_and_how_long() -> None:
    estimate = sweep_estimate(space=SPACE)
    assert estimate["total"] == 32
    assert estimate["seconds"] > 0
    assert estimate["axes"][2] == {"path": "inference.concurrency", "count": 8}


POINTS = st.lists(st.tuples(st.floats(0, 100), st.floats(0, 100)), max_size=30)


@given(POINTS)
def test_front_holds_exactly_what_nothing_beats(points: list[tuple[float, float]]) -> None:
    gain, loss = (np.array([point[axis] for point in points], dtype=float) for axis in (0, 1))
    front = set(pareto_front(gain, loss).tolist())
    for index, (up, down) in enumerate(points):
        beaten = any((more >= up and less <= down and (more > up or less < down)) for more, less in points)
        same_before = any(points[other] == (up, down) for other in range(index))
        assert (index in front) is (not beaten and not same_before)


@given(POINTS, st.integers(0, 30))
def test_fronts_of_parts_merge_to_the_front_of_all(points: list[tuple[float, float]], cut: int) -> None:
    rows = [{"n": n, "usd_per_million_output_tokens": x, "tpot_s": y} for n, (x, y) in enumerate(points)]
    cost = FRONTS["inference"][1]
    merged = merged_fronts(merged_fronts([], rows[:cut], "inference"), rows[cut:], "inference")
    values = [(row["usd_per_million_output_tokens"], row["tpot_s"]) for row in merged if row["front"] == "cost"]
    assert values == [(row["usd_per_million_output_tokens"], row["tpot_s"]) for row in front_of(rows, cost)]


def test_page_counts_before_it_starts(client: Client) -> None:
    page = client.get("/sweep/", {"gpu": "h100-sxm,h200-sxm", "inference.concurrency": "1..64 x2"}).content.decode()
    assert "14 combinations, about" in page
    assert 'value="1..64 x2"' in page
    counted = client.post("/sweep/count/", {"gpu": "h100-sxm, h200-sxm", "inference.concurrency": "1..64 x2"})
    assert "14 combinations" in counted.content.decode()
    assert counted["HX-Replace-Url"].startswith("/sweep/?gpu=h100-sxm")


def test_page_starts_shows_and_cancels(client: Client) -> None:
    started = client.post("/sweep/", {"gpu_count": "8", "inference.concurrency": "1..8 x2", "sweep_name": "mine"})
    address = started["Location"]
    page = client.get(address).content.decode()
    assert "0 of 4 combinations" in page
    assert 'hx-trigger="every 1s"' in page
    assert client.get(f"{address}status/").status_code == 200
    client.post(f"{address}cancel/")
    assert "Cancelled" in client.get(address).content.decode()
    assert client.get(f"{address}status/")["HX-Refresh"] == "true"
    assert "mine" in client.get("/sweep/").content.decode()


def test_page_when_done(client: Client) -> None:
    sweep = done(sweep_create(owner=None, space=SPACE))
    page = client.get(f"/sweep/{sweep.pk}/?sort=-output_tokens_per_s&fits=on&bound=memory").content.decode()
    assert "32 of 32 combinations" in page
    assert "/plan/?gpu=h200-sxm" in page
    rows = client.get(f"/sweep/{sweep.pk}.json?sort=tpot_s").json()
    assert [row["tpot_s"] for row in rows] == sorted(row["tpot_s"] for row in rows)
    table = client.get(f"/sweep/{sweep.pk}.csv").content.decode()
    assert table.splitlines()[0].startswith("gpu,inference.weights,inference.concurrency,n")


def test_page_refuses_at_the_field(client: Client) -> None:
    page = client.post("/sweep/", {"inference.concurrency": "9..1 +1"})
    assert page.status_code == 400
    assert "must not be below" in page.content.decode()
    assert client.post("/sweep/count/", {"inference.concurrency": "9..1 +1"}).json()["error"]["fields"][
        "inference.concurrency"
    ]


def test_rest(api: APIClient) -> None:
    answer = api.post("/api/v1/sweeps/", SPACE | {"name": "from a script"})
    assert answer.status_code == 202
    job = answer.json()
    assert answer["Location"].endswith(f"/api/v1/jobs/{job['id']}/")
    assert (job["status"], job["total"], job["front"]) == ("queued", 32, [])
    job_run(job_id=job["id"], worker="w")
    after = api.get(f"/api/v1/jobs/{job['id']}/").json()
    assert (after["status"], after["progress"]) == ("done", 1.0)
    assert after["front"]
    results = api.get(after["results"] + "?start=30&limit=9").json()
    assert [row["n"] for row in results["results"]] == [30, 31]
    assert json.dumps(results, allow_nan=False)
    assert api.get("/api/v1/sweeps/").json()[0]["name"] == "from a script"


def test_rest_refuses(api: APIClient) -> None:
    bad = api.post("/api/v1/sweeps/", {**SERVING, "gpu_count": {"values": []}})
    assert bad.status_code == 400
    assert bad.json()["error"]["fields"]["gpu_count"]
    assert api.post("/api/v1/sweeps/", [1, 2]).status_code == 400
    assert api.get("/api/v1/sweeps/00000000-0000-0000-0000-000000000000/results/").status_code == 404


def test_a_sweep_of_somebody_is_theirs(api: APIClient, api_signed: APIClient) -> None:
    job = api_signed.post("/api/v1/sweeps/", SPACE).json()
    assert api_signed.get(job["results"]).status_code == 200
    assert api.get(job["results"]).status_code == 404


def test_rest_audit(api: APIClient) -> None:
    body = {"scenario": {**TRAINING, "gpu_count": 8}, "claim": {"mfu": 0.98}, "before": {"mfu": 0.43}}
    assert api.post("/api/v1/audits/", body).json()["verdict"] == "beyond the published record"
    assert api.post("/api/v1/audits/", {**body, "claim": {"speed": 3}}).json()["error"]["fields"]["claim.speed"]
