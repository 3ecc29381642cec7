"""Uploads: kept once, read whole or not at all, limits, duplicates, confirmation."""

from __future__ import annotations

import io
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied, ValidationError

from accounts.models import User
from benchmarks_ingest import services
from benchmarks_ingest.models import MeasuredRun, RunFigure, RunStatus, Upload
from benchmarks_ingest.services import runs_confirm, upload_create, upload_delete
from benchmarks_ingest.work import lease_kept
from jobs.models import Job, JobQuerySet
from jobs.services import job_run

from .conftest import HARDWARE, TABLE, many, run_jobs, serve, uploaded

pytestmark = pytest.mark.django_db


def runs_of(upload: Upload) -> list[MeasuredRun]:
    return list(upload.runs.order_by("position"))


def test_it_works(user: Any) -> None:
    upload = uploaded(user, serve())
    (run,) = runs_of(upload)
    assert (run.status, run.model, run.gpu, run.owner) == (
        RunStatus.TO_CONFIRM,
        "meta-llama/Meta-Llama-3.1-70B",
        "",
        user,
    )
    assert run.canonical().output_tokens_per_s == 2000.0
    assert not run.figures.exists()
    runs_confirm(user=user, runs=[run], given=HARDWARE)
    run_jobs()
    run.refresh_from_db()
    assert (run.status, run.gpu, run.gpu_count, run.confirmed_by) == ("confirmed", "h100-sxm5-80gb", 8, user)
    figures = {figure.quantity: figure for figure in run.figures.all()}
    assert {"output_tokens_per_s", "tpot", "ttft"} <= set(figures)
    assert 0.3 < figures["tpot"].ratio < 3
    assert figures["tpot"].low is not None


def test_the_same_bytes_are_the_same_upload(user: Any, own_folder: Path) -> None:
    first, new = upload_create(owner=user, chunks=[serve()], name="a.json")
    again, newer = upload_create(owner=user, chunks=[serve()], name="b.json")
    assert (new, newer) == (True, False)
    assert first == again
    assert len([path for path in own_folder.rglob("*") if path.is_file()]) == 1


def test_others_keep_their_own(user: Any) -> None:
    bob = User.objects.create_user("bob")
    mine, theirs = uploaded(user, serve()), uploaded(bob, serve())
    assert mine != theirs
    assert runs_of(theirs)[0].status == RunStatus.TO_CONFIRM, "a run of somebody else is no duplicate"


def test_the_same_run_in_another_file_is_a_duplicate(user: Any) -> None:
    uploaded(user, serve())
    second = uploaded(user, b"\n" + serve() + b"\n", "copy.json")
    assert runs_of(second)[0].status == RunStatus.DUPLICATE
    with pytest.raises(ValidationError):
        runs_confirm(user=user, runs=runs_of(second), given=HARDWARE)


def test_an_archive_is_one_upload(user: Any) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("h100/a.json", serve())
        archive.writestr("h100/b.json", serve(duration=60.0))
        archive.writestr("h100/notes.txt", "nothing measured")
    upload = uploaded(user, buffer.getvalue(), "all.zip")
    assert upload.run_count == 2
    assert [line["file"].rsplit("/", 1)[-1] for line in upload.refusals] == ["notes.txt"]
    assert {guess["field"] for guess in runs_of(upload)[0].guesses} >= {"gpu"}


@pytest.mark.parametrize(("data", "code"), [([], "empty"), ([b"x" * 600, b"y" * 600], "too_large")])
def test_limits(user: Any, settings: Any, own_folder: Path, data: list[bytes], code: str) -> None:
    settings.ROOFTREE_MAX_FILE_BYTES = 1000
    with pytest.raises(ValidationError) as caught:
        upload_create(owner=user, chunks=data, name="a.json")
    assert caught.value.error_dict["file"][0].code == code
    assert not Upload.objects.exists()
    assert not [path for path in own_folder.rglob("*") if path.is_file()]


def test_too_many_runs_are_refused_whole(user: Any, settings: Any) -> None:
    settings.ROOFTREE_MAX_RUNS = 2
    upload = uploaded(user, many([1.0, 1.1, 1.2]), "many.jsonl")
    assert upload.run_count == 0
    assert "more than the limit" in upload.refusals[0]["reason"]


def test_a_failure_stores_nothing(user: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any, **options: Any) -> None:
        raise RuntimeError("the disk is full")

    upload, _new = upload_create(owner=user, chunks=[many([1.0, 1.1])], name="many.jsonl")
    monkeypatch.setattr(services, "runs_compare_later", broken)
    job_run(job_id=upload.job_id, worker="tests")
    upload.refresh_from_db()
    assert upload.job is not None
    assert upload.job.status == "failed"
    assert (upload.run_count, MeasuredRun.objects.filter(upload=upload).count()) == (0, 0)


def test_a_job_that_is_done_again_doubles_nothing(user: Any) -> None:
    upload = uploaded(user, many([1.0, 1.1, 1.2]), "many.jsonl")
    services.upload_again(user=user, upload=upload)
    run_jobs()
    assert MeasuredRun.objects.filter(upload=upload).count() == 3


def test_reading_again_keeps_what_was_confirmed(user: Any) -> None:
    upload = uploaded(user, many([1.0, 1.1]), "many.jsonl")
    first = runs_of(upload)[0]
    runs_confirm(user=user, runs=[first], given=HARDWARE)
    services.upload_again(user=user, upload=upload)
    run_jobs()
    assert sorted(run.status for run in runs_of(upload)) == ["confirmed", "to_confirm"]
    assert MeasuredRun.objects.get(pk=first.pk).gpu == "h100-sxm5-80gb"


def test_several_are_confirmed_at_once_or_none(user: Any) -> None:
    upload = uploaded(user, many([1.0, 1.1, 1.2]), "many.jsonl")
    with pytest.raises(ValidationError) as caught:
        runs_confirm(user=user, runs=runs_of(upload), given={"gpu": "h100-sxm"})
    assert "gpu_count" in caught.value.error_dict
    assert {run.status for run in runs_of(upload)} == {"to_confirm"}
    runs_confirm(user=user, runs=runs_of(upload), given=HARDWARE)
    run_jobs()
    assert RunFigure.objects.filter(run__upload=upload, quantity="tpot").count() == 3


def test_only_the_owner_confirms_and_deletes(user: Any, own_folder: Path) -> None:
    bob = User.objects.create_user("bob")
    upload = uploaded(user, serve())
    with pytest.raises(PermissionDenied):
        runs_confirm(user=bob, runs=runs_of(upload), given=HARDWARE)
    with pytest.raises(PermissionDenied):
        upload_delete(user=bob, upload=upload)
    upload_delete(user=user, upload=upload)
    assert not [path for path in own_folder.rglob("*") if path.is_file()]


def test_a_run_above_a_ceiling_says_so(user: Any) -> None:
    upload = uploaded(user, serve(output_throughput=9e6, total_token_throughput=4.5e7, duration=0.01))
    (run,) = runs_confirm(user=user, runs=runs_of(upload), given=HARDWARE)
    assert run.impossible
    assert any("physical ceiling" in warning for warning in run.warnings)


def test_a_table_states_its_hardware(user: Any) -> None:
    upload = uploaded(user, TABLE.encode(), "table.csv")
    assert [(run.gpu, run.gpu_count, run.status) for run in runs_of(upload)] == [
        ("h100-sxm5-80gb", 8, "to_confirm"),
        ("h100-sxm5-80gb", 8, "to_confirm"),
    ], "the meaning of the columns was guessed"


def test_comparing_goes_on_where_it_stopped(user: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks_ingest import work

    upload = uploaded(user, many([1.0, 1.1, 1.2]), "many.jsonl")
    runs_confirm(user=user, runs=runs_of(upload), given=HARDWARE)
    job = Job.objects.get(kind=services.COMPARE)
    figures, problems = work.runs_compared(list(upload.runs.all()))
    assert not problems
    services.figures_store([run.pk for run in upload.runs.all()], figures, {})  # a worker that was killed after storing
    job_run(job_id=job.pk, worker="another")
    assert RunFigure.objects.filter(run__upload=upload, quantity="tpot").count() == 3
    job.refresh_from_db()
    assert (job.status, job.done) == ("done", 3)


def test_hostile_text_is_stored(user: Any) -> None:
    upload = uploaded(user, serve(model_id="a\u0000b\ud800", backend="vl\u0000lm"))
    assert runs_of(upload)[0].label.startswith("ab")


def test_a_long_reading_renews_its_lease(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that takes longer than the lease is not taken over by another worker."""
    settings.ROOFTREE_JOB_LEASE_S = 0.06
    renewed: list[dict[str, Any]] = []
    monkeypatch.setattr(JobQuerySet, "update", lambda self, **values: renewed.append(values))
    with lease_kept(Job(kind=services.PARSE, total=1, worker="me", attempts=1)):
        time.sleep(0.3)
    assert renewed
    assert renewed[0]["lease_until"] is not None
