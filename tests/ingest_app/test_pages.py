"""The pages of measured runs, with the number of their queries."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client

from accounts.models import User
from benchmarks_ingest.models import ColumnMapping, MeasuredRun, RunFigure, Upload
from benchmarks_ingest.services import runs_confirm
from predictions.models import Calibration

from .conftest import HARDWARE, TABLE, many, run_jobs, serve, uploaded

pytestmark = pytest.mark.django_db


def confirmed(user: Any, data: bytes = b"", name: str = "result.json") -> MeasuredRun:
    upload = uploaded(user, data or serve(), name)
    runs_confirm(user=user, runs=list(upload.runs.all()), given=HARDWARE)
    run_jobs()
    return upload.runs.order_by("position")[0]


def test_it_works(client: Client) -> None:
    page = client.get("/measured/")
    assert page.status_code == 200
    text = page.content.decode()
    assert "median error" in text
    assert "Sign in" in text, "visitors look, they do not upload"
    assert page.context["chart"]["data"][0]["name"] == "equal"


@pytest.mark.parametrize("address", ["/measured/", "/measured/?quantity=tpot&gpu=h100-sxm5-80gb", "/measured/?page=3"])
def test_queries_do_not_grow(client: Client, django_assert_max_num_queries: Any, address: str) -> None:
    client.get(address)
    with django_assert_max_num_queries(5):  # quantities, errors by GPU, a page of rows, points, choices
        client.get(address)


def test_medians_come_from_counts(client: Client) -> None:
    found = client.get("/measured.json?quantity=tokens_per_s_per_gpu").json()
    exact = sorted(abs(row["ratio"] - 1) for row in found["results"])
    summary = found["summary"][0]
    assert summary["n"] == len(exact)
    assert summary["median_ape_pct"] == pytest.approx(100 * exact[len(exact) // 2], abs=1.0)


def test_twins(client: Client) -> None:
    rows = client.get("/measured.csv?quantity=tpot&gpu=h200-sxm-141gb").content.decode().splitlines()
    figures = RunFigure.objects.filter(quantity="tpot", gpu="h200-sxm-141gb")
    assert len(rows) == figures.count() + 1
    for name in ("measured/uploads", "measured/calibrations"):
        assert client.get(f"/{name}.json").status_code == 200
        assert client.get(f"/{name}.csv").status_code == 200


def test_files_are_dropped_and_confirmed(signed_in: Client) -> None:
    files = [SimpleUploadedFile("a.json", serve()), SimpleUploadedFile("b.json", serve(duration=80.0))]
    assert signed_in.post("/measured/upload/", {"files": files})["Location"] == "/measured/uploads/"
    one = signed_in.post("/measured/upload/", {"files": [SimpleUploadedFile("a.json", serve())]})["Location"]
    assert one.startswith("/measured/uploads/")
    waiting = signed_in.get(one).content.decode()
    assert "is being read" in waiting
    run_jobs()
    assert signed_in.get(f"{one}status/")["HX-Refresh"] == "true"
    page = signed_in.get(one).content.decode()
    assert "to confirm" in page
    assert "Confirm the ticked ones" in page
    keys = list(MeasuredRun.objects.filter(reference=False).values_list("pk", flat=True))
    assert str(keys[0]) in signed_in.get("/measured/waiting/").content.decode()
    answer = signed_in.post("/measured/confirm/", {"run": keys, "gpu": "h100-sxm", "gpu_count": "8", "from": "waiting"})
    assert answer["Location"] == "/measured/waiting/"
    run_jobs()
    assert RunFigure.objects.filter(run_id__in=keys, quantity="tpot").count() == 2
    assert "2 measured figures" in signed_in.get("/measured/?quantity=tpot&whose=mine").content.decode()


@pytest.mark.parametrize(
    "form", [{}, {"run": "x"}, {"gpu": "no such"}, {"gpu_count": "-3"}, {"input_tokens": "9" * 40, "gpu_count": "8"}]
)
def test_wrong_confirmations_say_why(signed_in: Client, user: Any, form: dict[str, str]) -> None:
    run = uploaded(user, serve()).runs.get()
    answer = signed_in.post("/measured/confirm/", {"run": run.pk, **form}, follow=True)
    assert next(message.level_tag for message in answer.context["messages"]) == "error"
    run.refresh_from_db()
    assert run.status == "to_confirm"


def test_one_run(signed_in: Client, user: Any) -> None:
    run = confirmed(user)
    text = signed_in.get(f"/measured/runs/{run.pk}/?usd=2.5").content.decode()
    assert "Others measured" in text
    assert "Waste meter" in text
    assert "$2.50" in text
    body = signed_in.get(f"/measured/runs/{run.pk}.json?usd=2.5").json()
    waste = body["waste"]
    assert waste["achieved"] <= waste["achievable"] <= waste["roof"]
    assert waste["usd_per_year"] == pytest.approx(waste["gpu_hours"] * 2.5)
    assert body["figures"][0]["others"]["n"] >= 5
    assert "quantity,measured" in signed_in.get(f"/measured/runs/{run.pk}.csv").content.decode()
    assert signed_in.get(f"/plan/?{signed_in.get(f'/measured/runs/{run.pk}/').context['query']}").status_code == 200


def test_reference_runs_have_pages(client: Client) -> None:
    for workload in ("training", "inference"):
        figure = RunFigure.objects.filter(reference=True, run__workload=workload).first()
        assert figure is not None
        page = client.get(f"/measured/runs/{figure.run_id}/")
        assert page.status_code == 200
        assert "public reference run" in page.content.decode()


def test_lengths_that_are_missing_can_be_given(signed_in: Client, user: Any) -> None:
    upload = uploaded(user, b"model,gpu,gpus,output tokens/s,ttft (ms)\nllama-3.1-70b,h100-sxm,8,1900,400\n", "t.csv")
    runs_confirm(user=user, runs=list(upload.runs.all()))
    run_jobs()
    run = upload.runs.get()
    assert "input_tokens" in run.problem
    form = {"run": run.pk, "input_tokens": "1024", "output_tokens": "256", "from": "run"}
    assert signed_in.post("/measured/confirm/", form)["Location"] == f"/measured/runs/{run.pk}/"
    run_jobs()
    run.refresh_from_db()
    assert run.problem == ""
    assert run.figures.exists()


def test_others_see_nothing(signed_in: Client) -> None:
    run = confirmed(User.objects.create_user("bob"))
    assert run.upload is not None
    for address in (
        f"/measured/runs/{run.pk}/",
        f"/measured/runs/{run.pk}.json",
        f"/measured/uploads/{run.upload.pk}/",
    ):
        assert signed_in.get(address).status_code == 404
    assert signed_in.post(f"/measured/runs/{run.pk}/use/", {"usable": "on"}).status_code == 404
    assert str(run.pk) not in [
        line.split(",")[0] for line in signed_in.get("/measured.csv?quantity=tpot").content.decode().splitlines()
    ]


def test_columns_are_taught_once(signed_in: Client, user: Any) -> None:
    table = "thing,machine,cards,weird speed,in,out,users\nllama-3.1-70b,H100-SXM,8,1900,1024,256,64\n"
    upload = uploaded(user, table.encode(), "table.csv")
    page = signed_in.get(f"/measured/uploads/{upload.pk}/columns/")
    assert page.status_code == 200
    fields = ("model", "gpu", "gpu_count", "output_tokens_per_s", "input_tokens", "output_tokens", "concurrency")
    form = {f"field-0-{place}": name for place, name in enumerate(fields)}
    preview = signed_in.post(f"/measured/uploads/{upload.pk}/columns/", {**form, "preview": ""})
    assert "1 of 1 rows" in preview.content.decode()
    assert not ColumnMapping.objects.exists()
    signed_in.post(f"/measured/uploads/{upload.pk}/columns/", {**form, "keep": ""})
    run_jobs()
    run = upload.runs.get()
    assert (run.status, run.gpu, run.data["output_tokens_per_s"]) == ("confirmed", "h100-sxm5-80gb", 1900)
    later = uploaded(user, (table + "llama-3.1-70b,H100-SXM,8,1500,1024,256,32\n").encode(), "next.csv")
    assert sorted(run.status for run in later.runs.all()) == ["confirmed", "duplicate"]


def test_calibration_by_page(signed_in: Client, user: Any) -> None:
    confirmed(user, many([1.0 + 0.01 * place for place in range(10)]), "many.jsonl")
    assert "A calibration made now" in signed_in.get("/measured/calibrations/").content.decode()
    form = {"name": "ours", "activate": "on", "force": "on"}
    made = signed_in.post("/measured/calibrations/make/", form)["Location"]
    assert "Factor on every time" in signed_in.get(made).content.decode()
    row = Calibration.objects.get()
    assert Calibration.objects.filter(active=True).count() == 1
    assert row.version in signed_in.get("/plan.json?gpu_count=8").content.decode()
    assert f"{row.name}" in signed_in.get(f"/measured/calibrations/?compare={row.pk}").content.decode()
    signed_in.post("/measured/calibrations/back/")
    assert not Calibration.objects.filter(active=True).exists()
    signed_in.post(f"/measured/calibrations/{row.pk}/switch/", {"act": "activate"})
    signed_in.post(f"/measured/calibrations/{row.pk}/switch/", {"act": "deactivate"})
    assert not Calibration.objects.filter(active=True).exists()


def test_deleting_an_upload(signed_in: Client, user: Any) -> None:
    run = confirmed(user)
    signed_in.post(f"/measured/uploads/{run.upload_id}/delete/")
    assert not Upload.objects.exists()
    assert not RunFigure.objects.filter(run_id=run.pk).exists()


def lines_of(*arguments: str) -> list[dict[str, Any]]:
    out = io.StringIO()
    call_command("import_runs", *arguments, stdout=out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_the_command_stores_and_says_the_same_again(tmp_path: Path, user: Any) -> None:
    tmp_path = tmp_path / "results"
    tmp_path.mkdir()
    (tmp_path / "a.json").write_bytes(serve())
    (tmp_path / "b.json").write_bytes(serve() + b"\n")
    (tmp_path / "c.csv").write_text(TABLE)
    (tmp_path / "d.bin").write_bytes(b"\x00\x01")
    first = lines_of(str(tmp_path), "--user", "ada")
    assert [line["status"] for line in first] == ["to_confirm", "duplicate", "to_confirm", "to_confirm", "refused"]
    assert lines_of(str(tmp_path), "--user", "ada") == first
    assert lines_of(str(tmp_path), "--dry-run") == first
    assert MeasuredRun.objects.filter(owner=user).exclude(status="duplicate").count() == 3
    alone = lines_of(str(tmp_path / "b.json"), "--user", "ada")
    assert alone[0]["status"] == "duplicate", "its run is stored from another file"


def test_what_cannot_be_stored_is_still_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks_ingest import importing, storage

    def full(chunks: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(storage, "bytes_keep", full)
    (tmp_path / "a.json").write_bytes(serve())
    assert [line["status"] for line in lines_of(str(tmp_path / "a.json"))] == ["to_confirm"]
    monkeypatch.setattr("benchmarks_ingest.management.commands.import_runs.can_store", lambda: False)
    assert [line["status"] for line in lines_of(str(tmp_path / "a.json"))] == ["to_confirm"]
    assert importing.can_store()
    assert not Upload.objects.exists()
