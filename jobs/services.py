"""Acts on jobs: create, claim, advance, cancel, take over."""

import logging
import socket
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone
from kombu.exceptions import OperationalError

from jobs.models import Job, JobStatus
from jobs.registry import Handler, kind_get, register

__all__ = ["Handler", "job_cancel", "job_create", "job_run", "jobs_sweep", "register", "worker_lost", "worker_name"]

logger = logging.getLogger(__name__)
MAX_STALLED = 5


class LeaseLost(Exception):
    """The job is no longer ours: cancelled, or taken over by another worker."""


def job_create(*, kind: str, payload: dict[str, Any], total: int, owner: Any = None) -> Job:
    """Make a queued job and ring for a worker once the surrounding transaction is committed."""
    kind_get(kind)
    owner = owner if getattr(owner, "is_authenticated", False) else None
    job = Job.objects.create(kind=kind, payload=payload, total=total, owner=owner)
    transaction.on_commit(lambda: _ring(job.pk))
    return job


def job_cancel(*, job: Job) -> Job:
    """Stop the job before its next chunk is stored; what is stored stays. A finished job is left as it is."""
    Job.objects.filter(pk=job.pk).unfinished().update(
        status=JobStatus.CANCELLED, lease_until=None, finished_at=timezone.now()
    )
    job.refresh_from_db()
    return job


def job_run(*, job_id: Any, worker: str, stopping: Any = lambda: False) -> None:
    """Claim the job and work it off; returns quietly when another worker holds it or it is finished."""
    job = _claim(job_id, worker)
    if job is None:
        return
    try:
        _work(job, stopping)
    except LeaseLost:
        logger.info("job %s was taken from %s", job.pk, worker)
    except Exception as error:
        logger.exception("job %s failed", job.pk)
        _fail(job, "failed", f"{type(error).__name__}: {error}")


def jobs_sweep() -> int:
    """Ring again for jobs that wait unheard or whose worker's lease ran out; returns how many."""
    unheard = timezone.now() - _lease()
    waiting = Job.objects.claimable().exclude(rung_at__gt=unheard).values_list("pk", flat=True)
    for job_id in waiting:
        _ring(job_id)
    return len(waiting)


def worker_name(pid: int) -> str:
    """What a worker process of this machine is called on the rows that it holds."""
    return f"{socket.gethostname()}:{pid}"


def worker_lost(*, pid: int) -> int:
    """A worker of this machine is known to be dead: what it held is free at once. Returns how many jobs."""
    held = Job.objects.filter(status=JobStatus.RUNNING, worker=worker_name(pid))
    return held.update(lease_until=timezone.now() - timedelta(seconds=1), rung_at=None)


def _lease() -> timedelta:
    return timedelta(seconds=settings.ROOFTREE_JOB_LEASE_S)


def _ring(job_id: Any) -> None:
    """Tell the workers. A bell that is not heard is rung again by the sweep, and so is one that could not be rung."""
    from jobs.tasks import run_job  # the task module needs this one

    try:
        run_job.delay(str(job_id))
    except OperationalError:
        logger.warning("the broker does not answer; job %s waits for the sweep", job_id, exc_info=True)
    else:
        Job.objects.filter(pk=job_id).update(rung_at=timezone.now())


def _claim(job_id: Any, worker: str) -> Job | None:
    """Take the job if it is free: one conditional UPDATE, so of many workers one wins, on any database."""
    now = timezone.now()
    claimed = (
        Job.objects.filter(pk=job_id)
        .claimable()
        .update(
            status=JobStatus.RUNNING,
            worker=worker,
            lease_until=now + _lease(),
            attempts=F("attempts") + 1,
            stalled=F("stalled") + 1,
        )
    )
    if not claimed:
        return None
    Job.objects.filter(pk=job_id, started_at=None).update(started_at=now)
    return Job.objects.filter(pk=job_id, worker=worker).first()


def _work(job: Job, stopping: Any) -> None:
    """Chunk after chunk from where the last worker stopped."""
    if job.stalled > MAX_STALLED:
        _fail(job, "worker_lost", f"The work stopped {MAX_STALLED} times at the same place.")
        return
    handler = kind_get(job.kind)
    while job.done < job.total:
        if stopping():
            _release(job)
            return
        stop = min(job.done + handler.chunk_size, job.total)
        _store(job, handler, stop, handler.compute(job, job.done, stop))
    if job.total == 0:
        _store(job, handler, 0, None)


def _store(job: Job, handler: Handler, stop: int, value: Any) -> None:
    """Write one chunk and the counter together; LeaseLost (and nothing written) when the job is no longer ours."""
    with transaction.atomic():
        _advance(job, stop)
        if stop > job.done:
            handler.store(job, job.done, stop, value)
        if stop == job.total:
            handler.finish(job)
        Job.objects.filter(pk=job.pk).update(front=job.front)
    job.done = stop


def _advance(job: Job, stop: int) -> None:
    """Move the counter if the claim still holds; the row stays locked until the transaction ends."""
    last = stop == job.total
    changed = (
        Job.objects.filter(pk=job.pk, done=job.done)
        .held_by(job.worker, job.attempts)
        .update(
            done=stop,
            stalled=0,
            lease_until=None if last else timezone.now() + _lease(),
            status=JobStatus.DONE if last else JobStatus.RUNNING,
            finished_at=timezone.now() if last else None,
        )
    )
    if not changed:
        raise LeaseLost


def _release(job: Job) -> None:
    """Give the job back at once, for a worker that is told to stop."""
    Job.objects.filter(pk=job.pk).held_by(job.worker, job.attempts).update(
        status=JobStatus.QUEUED, lease_until=None, rung_at=None, stalled=0
    )


def _fail(job: Job, code: str, message: str) -> None:
    Job.objects.filter(pk=job.pk).held_by(job.worker, job.attempts).update(
        status=JobStatus.FAILED,
        lease_until=None,
        finished_at=timezone.now(),
        error={"code": code, "message": message, "fields": {}},
    )
