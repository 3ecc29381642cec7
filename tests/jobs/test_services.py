"""The life of a job row."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from jobs import registry
from jobs.models import Job, JobStatus
from jobs.registry import Handler
from jobs.services import job_cancel, job_create, job_run, jobs_sweep, register
from tests.counting import work
from tests.counting.models import CountedUnit

pytestmark = pytest.mark.django_db


def make(total: int = 12, **payload: object) -> Job:
    return job_create(kind="counting", payload=payload, total=total)


def units(job: Job) -> list[int]:
    return sorted(CountedUnit.objects.filter(job=job.pk).values_list("unit", flat=True))


def test_it_works() -> None:
    job = make()
    job_run(job_id=job.pk, worker="a")
    job.refresh_from_db()
    assert (job.status, job.done, job.progress) == (JobStatus.DONE, 12, 1.0)
    assert job.front == [{"last": 12}]
    assert units(job) == list(range(12))


def test_finished_job_is_not_run_again() -> None:
    job = make()
    job_run(job_id=job.pk, worker="a")
    job_run(job_id=job.pk, worker="b")
    assert units(job) == list(range(12))


def test_empty_job_is_done_at_once() -> None:
    job = make(total=0)
    job_run(job_id=job.pk, worker="a")
    job.refresh_from_db()
    assert job.status == JobStatus.DONE


def test_failure_is_kept_with_its_reason_and_what_was_stored_stays() -> None:
    job = make(fail_at=7)
    job_run(job_id=job.pk, worker="a")
    job.refresh_from_db()
    assert job.status == JobStatus.FAILED
    assert job.error == {"code": "failed", "message": "ValueError: told to fail", "fields": {}}
    assert units(job) == list(range(5))


def test_lease_keeps_others_out_until_it_runs_out() -> None:
    job = make()
    Job.objects.filter(pk=job.pk).update(
        status=JobStatus.RUNNING, worker="a", attempts=1, lease_until=timezone.now() + timedelta(minutes=1)
    )
    job_run(job_id=job.pk, worker="b")
    assert units(job) == []
    Job.objects.filter(pk=job.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    job_run(job_id=job.pk, worker="b")
    assert units(job) == list(range(12))


def test_worker_that_lost_its_lease_stores_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    job = make()

    def slow(job: Job, start: int, stop: int) -> list[int]:
        Job.objects.filter(pk=job.pk).update(worker="b", attempts=2)  # another took over meanwhile
        return work.compute(job, start, stop)

    monkeypatch.setitem(registry._KINDS, "counting", Handler(slow, work.store, 5))
    job_run(job_id=job.pk, worker="a")
    assert units(job) == []


def test_cancel_stops_before_the_next_chunk_is_stored() -> None:
    job = make()
    stopped = job_cancel(job=job)
    assert stopped.status == JobStatus.CANCELLED
    job_run(job_id=job.pk, worker="a")
    assert units(job) == []


def test_cancel_leaves_a_finished_job_as_it_is() -> None:
    job = make()
    job_run(job_id=job.pk, worker="a")
    assert job_cancel(job=job).status == JobStatus.DONE


def test_stopping_gives_the_job_back() -> None:
    job = make()
    job_run(job_id=job.pk, worker="a", stopping=CountedUnit.objects.exists)
    job.refresh_from_db()
    assert (job.status, job.done) == (JobStatus.QUEUED, 5)
    job_run(job_id=job.pk, worker="b")
    assert units(job) == list(range(12))


def test_work_that_kills_each_worker_is_given_up() -> None:
    job = make()
    Job.objects.filter(pk=job.pk).update(stalled=5)
    job_run(job_id=job.pk, worker="a")
    job.refresh_from_db()
    assert job.status == JobStatus.FAILED
    assert job.error
    assert job.error["code"] == "worker_lost"


def test_sweep_rings_for_unheard_jobs_once_in_a_lease() -> None:
    make()
    assert jobs_sweep() == 1
    assert jobs_sweep() == 0


def test_kind_is_registered_once() -> None:
    with pytest.raises(ValueError, match="two handlers"):
        register("counting", Handler(work.compute, work.store))


def test_unknown_kind_is_refused() -> None:
    with pytest.raises(KeyError):
        job_create(kind="nothing", payload={}, total=1)
