"""Reads of jobs."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db.models import Count, Q, QuerySet

from jobs.models import Job
from jobs.registry import kind_get


def jobs_visible(user: Any) -> QuerySet[Job]:
    """Jobs that `user` may see: their own and those of nobody."""
    if getattr(user, "is_superuser", False):
        return Job.objects.all()
    mine = Q(owner_id=user.pk) if getattr(user, "pk", None) else Q()
    return Job.objects.filter(Q(owner=None) | mine) if mine else Job.objects.filter(owner=None)


def job_get(job_id: UUID, user: Any) -> Job:
    """The job, or Job.DoesNotExist when it is not there or not theirs."""
    return jobs_visible(user).get(pk=job_id)


def job_counts() -> Iterable[tuple[str, str, int]]:
    """(kind, status, how many)."""
    rows = Job.objects.order_by().values_list("kind", "status").annotate(count=Count("pk"))
    return [(kind, status, count) for kind, status, count in rows]


def job_summary(job: Job) -> dict[str, Any]:
    """The job as REST shows it."""
    return {
        "id": str(job.id),
        "status": job.status,
        "progress": job.progress,
        "done": job.done,
        "total": job.total,
        "results": kind_get(job.kind).results_url(job),
        "front": job.front,
        "error": job.error,
    }
