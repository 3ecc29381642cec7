"""The job row: the truth about work that outlives a request. The broker only rings a bell."""

from __future__ import annotations

import uuid
from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models import Owned


class JobStatus(models.TextChoices):
    """Where a job stands."""

    QUEUED = "queued", _("queued")
    RUNNING = "running", _("running")
    DONE = "done", _("done")
    FAILED = "failed", _("failed")
    CANCELLED = "cancelled", _("cancelled")


FINISHED = (JobStatus.DONE, JobStatus.FAILED, JobStatus.CANCELLED)


class JobQuerySet(models.QuerySet["Job"]):
    """Jobs by what can be done with them."""

    def claimable(self) -> JobQuerySet:
        """Waiting, or left behind by a worker whose lease ran out."""
        return self.filter(Q(status=JobStatus.QUEUED) | Q(status=JobStatus.RUNNING, lease_until__lt=timezone.now()))

    def held_by(self, worker: str, attempt: int) -> JobQuerySet:
        """Running under exactly this claim."""
        return self.filter(status=JobStatus.RUNNING, worker=worker, attempts=attempt)

    def unfinished(self) -> JobQuerySet:
        """Neither done nor failed nor cancelled."""
        return self.exclude(status__in=FINISHED)


class Job(Owned):
    """One piece of work, done chunk by chunk; `done` counts what is stored."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(_("kind"), max_length=40)
    status = models.CharField(_("status"), max_length=10, choices=JobStatus.choices, default=JobStatus.QUEUED)
    payload = models.JSONField(_("payload"), default=dict)
    done = models.PositiveIntegerField(_("done"), default=0)
    total = models.PositiveIntegerField(_("total"), default=0)
    front = models.JSONField(_("front"), default=list, blank=True)
    error = models.JSONField(_("error"), null=True, blank=True)
    worker = models.CharField(_("worker"), max_length=120, blank=True)
    lease_until = models.DateTimeField(_("lease until"), null=True, blank=True)
    attempts = models.PositiveIntegerField(_("attempts"), default=0)
    # Attempts since the last stored chunk: work that kills each of its workers is given up, work that advances is not.
    stalled = models.PositiveIntegerField(_("attempts without progress"), default=0)
    rung_at = models.DateTimeField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    started_at = models.DateTimeField(_("started"), null=True, blank=True)
    finished_at = models.DateTimeField(_("finished"), null=True, blank=True)

    objects = JobQuerySet.as_manager()

    class Meta:
        ordering: ClassVar[list[str]] = ["-created_at"]
        indexes: ClassVar[list[models.Index]] = [models.Index(fields=["status", "lease_until"], name="job_claimable")]
        verbose_name = _("job")
        verbose_name_plural = _("jobs")

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"

    @property
    def progress(self) -> float:
        """Share done, 0 to 1."""
        if self.total == 0:
            return 1.0 if self.status == JobStatus.DONE else 0.0
        return self.done / self.total

    @property
    def finished(self) -> bool:
        """Whether nothing more will happen."""
        return self.status in FINISHED


class DataLoad(models.Model):
    """Which version of an app's shipped facts the tables hold."""

    app = models.CharField(max_length=40, primary_key=True)
    version = models.CharField(max_length=64)
    summary = models.CharField(max_length=200)
    loaded_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return self.app
