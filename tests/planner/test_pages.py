"""Home, rank, case studies, audit, accuracy: pages that anybody reads."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from django.test import Client

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_engine")]
PAGES = ["/", "/plan/", "/rank/", "/scenarios/", "/compare/", "/case-studies/", "/sweep/", "/audit/", "/accuracy/"]
TWINS = ["/home", "/plan", "/rank", "/scenarios", "/compare", "/case-studies", "/sweep", "/accuracy"]


@pytest.mark.parametrize("address", PAGES)
def test_every_page_answers_anybody(client: Client, address: str) -> None:
    page = client.get(address)
    assert page.status_code == 200
    assert "<h1>" in page.content.decode()
    assert " style=" not in page.content.decode()


@pytest.mark.parametrize("address", TWINS)
def test_every_page_has_its_twins(client: Client, address: str) -> None:
    assert client.get(f"{address}.json").json() is not None
    table = client.get(f"{address}.csv")
    assert table["Content-Type"].startswith("text/csv")
    assert next(csv.reader(io.StringIO(table.content.decode())))


def test_home_answers_recent_scenarios(signed_in: Client, saved: Any) -> None:
    saved("my eight")
    page = signed_in.get("/").content.decode()
    assert "my eight" in page
    assert "Fits." in page
    assert "Healthcare" in page


def test_rank_sorts_by_cost_and_folds_what_misses(client: Client) -> None:
    page = client.get("/rank/?inference.slo.tpot_s=0.02").content.decode()
    assert "is the cheapest" in page
    assert "Too slow for the service level" in page
    rows = client.get("/rank.json?inference.slo.tpot_s=0.02").json()
    costs = [
        row["usd_per_million_output_tokens"]
        for row in rows
        if row["meets_slo"] and row["usd_per_million_output_tokens"]
    ]
    assert len({row["gpu"] for row in rows}) > 60
    first = [row for row in rows if row["meets_slo"]]
    assert costs[0] == min(costs)
    assert all(row["tpot_s"] <= 0.02 for row in first)


def test_rank_of_training_keeps_to_the_count(client: Client) -> None:
    rows = client.get("/rank.json?workload=training&model=llama-3.1-8b&gpu_count=64&training.total_tokens=1e12").json()
    assert {row["gpu_count"] for row in rows} == {32, 64, 128}
    assert any(row["usd_per_run"] for row in rows)


def test_rank_refuses_at_the_field(client: Client) -> None:
    page = client.get("/rank/?inference.input_tokens=-3")
    assert page.status_code == 400
    assert "Must be" in page.content.decode()
    assert client.get("/rank.json?inference.input_tokens=-3").status_code == 400
    assert client.get("/rank.csv?inference.input_tokens=-3").status_code == 400


def test_a_form_without_scripts_lands_on_the_short_address(client: Client) -> None:
    response = client.get("/rank/?form_workload=inference&workload=inference&model=llama-3.1-8b&inference.weights=")
    assert response["Location"] == "/rank/?model=llama-3.1-8b"


def test_case_studies_give_the_published_arithmetic(client: Client) -> None:
    studies = {study["slug"]: study for study in client.get("/case-studies.json").json()}
    verdicts = {slug: study["audit"]["verdict"] for slug, study in studies.items()}
    assert verdicts["financial-services"].startswith("plausible only if")
    assert "FP8" in verdicts["financial-services"]
    assert "one GPU" in verdicts["healthcare"]
    assert verdicts["e-commerce"] == "beyond the published record"
    page = client.get("/case-studies/").content.decode()
    for figure in (
        "84.3e9 tokens",
        "85.1e9 tokens",
        "15,360 GPU-hours",
        "40.8%",
        "$0.27 per GPU-hour",
        "12.8 ms",
        "6 x 70e9 x 1,923",
        "807.7 TFLOP",
    ):
        assert figure in page


def test_case_studies_csv_has_one_unit_a_row(client: Client) -> None:
    lines = list(csv.DictReader(io.StringIO(client.get("/case-studies.csv").content.decode())))
    days = next(line for line in lines if line["figure"] == "time_days")
    assert all(1 < float(days[f"predicted_{role}"]) < 100 for role in ("baseline", "optimised"))
    page = client.get("/case-studies/").content.decode()
    assert "1,923" in page  # a published figure keeps its digits


def test_audit_of_a_typed_claim(client: Client) -> None:
    query = "workload=training&model_size.params_b=70&gpu_count=64&claim.tokens_per_s_per_gpu=1923"
    assert "plausible only if" in client.get(f"/audit/?{query}").content.decode()
    assert client.get(f"/audit.json?{query}").json()["findings"]
    assert client.get(f"/audit.csv?{query}").status_code == 200


def test_audit_of_the_wasted_node(client: Client) -> None:
    scenario = "workload=training&model=llama-3.1-8b&gpu_count=8"
    claim = "claim.mfu=0.98&before.mfu=0.43&claim.usd_wasted_per_year=380000"
    body = client.get(f"/audit.json?{scenario}&{claim}").json()
    assert any("39,331 GPU-hours: $9.66" in finding["sentence"] for finding in body["findings"])


@pytest.mark.parametrize("query", ["claim.mfu=-1", "claim.mfu=x", "claim.speed=3", "gpu=nothing&claim.mfu=0.5"])
def test_audit_refuses(client: Client, query: str) -> None:
    assert client.get(f"/audit/?{query}").status_code == 400
    assert client.get(f"/audit.json?{query}").json()["error"]["fields"]
    assert client.get(f"/audit.csv?{query}").status_code == 400


def test_accuracy_shows_the_report(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    group = {"n": 5, "median_ape_pct": 7.0, "p90_ape_pct": 20.0, "bias_pct": 1.0}
    report = {
        "reports": {
            "training": {
                "kind": "training",
                "rows": 10,
                "predicted": 9,
                "skipped": {"no sequence length": 1},
                "quantities": {"tokens_per_s_per_gpu": group | {"by": {"gpu": {"H100-SXM": group, "A100": group}}}},
                "interval_coverage_pct": {"80": 81.0},
                "interval_width": {"80": 1.4},
            }
        }
    }
    monkeypatch.setattr("planner.views.accuracy._report", lambda: report)
    page = client.get("/accuracy/").content.decode()
    assert "to within 7.00 % (training speed)" in page
    assert "nine in ten to within 20.0 %" in page
    for text in ("Tokens/s per GPU", "7.00", "81.0", "no sequence length 1", "H100-SXM"):
        assert text in page
    assert len(client.get("/accuracy.csv").content.decode().splitlines()) == 4


def test_number_of_queries_of_the_list_pages(signed_in: Client, saved: Any, django_assert_max_num_queries: Any) -> None:
    for number in range(12):
        saved(f"scenario {number}", tags=("one", "two"))
    for address, most in (("/", 20), ("/scenarios/", 20), ("/compare/", 12), ("/case-studies/", 20), ("/sweep/", 14)):
        signed_in.get(address)
        with django_assert_max_num_queries(most):
            signed_in.get(address)


def test_a_missing_page_has_the_same_frame(client: Client) -> None:
    page = client.get("/no-such-page/")
    assert page.status_code == 404
    assert "Rooftree" in page.content.decode()


def test_audit_reads_the_weights_that_a_token_uses(client: Client) -> None:
    """671 B parameters in FP8 of which 37 B are active: 8 H200 read those in a millisecond, not all in 18."""
    scenario = "model=deepseek-ai/DeepSeek-V3&gpu=h200-sxm&gpu_count=8"
    assert client.get(f"/audit.json?{scenario}&claim.tpot_s=0.010").json()["verdict"] == "plausible"
    assert client.get(f"/audit.json?{scenario}&claim.tpot_s=0.0002").json()["verdict"] == "beyond the roof"
    narrow = "model_size.params_b=70&gpu_count=1&inference.weights=int4_g128"
    assert client.get(f"/audit.json?{narrow}&claim.tpot_s=0.015").json()["verdict"] == "plausible"


def test_audit_page_lets_the_workload_change(client: Client) -> None:
    """The precision of the training that was shown does not follow into serving."""
    query = "form_workload=training&workload=inference&training.precision=bf16&model_size.params_b=70&claim.tpot_s=1"
    assert client.get(f"/audit/?{query}").status_code == 200
