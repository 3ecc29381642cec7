"""Uploaded files, the runs that they hold, and each run's figures beside their prediction."""

from __future__ import annotations

from typing import Any, ClassVar
from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from accounts.models import Owned
from benchmarks_ingest.parsers import Run, run_from_json

SAMPLE_RANGE = 1024  # numbers that `RunFigure.sample` takes: a chart of n of N points wants those below 1024 n / N


class Private(Owned):
    """What a person uploads goes with that person: it must never fall to everybody."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("owner"),
        null=True,
        blank=True,
        editable=False,
        on_delete=models.CASCADE,
        related_name="+",
    )

    class Meta:
        abstract = True


class Upload(Private):
    """One uploaded file. The bytes lie under their SHA-256; the same bytes of one owner are the same upload."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    sha256 = models.CharField(max_length=64)
    name = models.CharField(_("name"), max_length=300)
    size = models.PositiveBigIntegerField(_("bytes"))
    created = models.DateTimeField(_("uploaded"), auto_now_add=True)
    idempotency_key = models.CharField(max_length=200, blank=True, editable=False)
    refusals = models.JSONField(_("refused"), default=list, blank=True)
    run_count = models.PositiveIntegerField(_("runs"), default=0)
    job = models.ForeignKey("jobs.Job", verbose_name=_("job"), null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        ordering: ClassVar[list[str]] = ["-created", "-pk"]
        verbose_name = _("upload")
        verbose_name_plural = _("uploads")
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["owner", "sha256"], name="upload_once_each"),
            models.UniqueConstraint(fields=["sha256"], condition=Q(owner=None), name="upload_once_shared"),
            models.UniqueConstraint(
                fields=["owner", "idempotency_key"], condition=~Q(idempotency_key=""), name="upload_key_once"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class RunStatus(models.TextChoices):
    """What a run may be used for."""

    TO_CONFIRM = "to_confirm", _("to confirm")
    CONFIRMED = "confirmed", _("confirmed")
    DUPLICATE = "duplicate", _("duplicate")


class MeasuredRun(Private):
    """One measured run: as its file says (`data`), and what of it is known in the catalogues (the columns)."""

    upload = models.ForeignKey(
        Upload, verbose_name=_("upload"), null=True, on_delete=models.CASCADE, related_name="runs"
    )
    reference = models.BooleanField(_("public reference run"), default=False)
    source_id = models.CharField(max_length=120, blank=True)  # of a reference run: its id in the shipped table
    source = models.CharField(_("source"), max_length=500, blank=True)
    source_date = models.CharField(_("date"), max_length=20, blank=True)
    file = models.CharField(_("file"), max_length=500, blank=True)
    position = models.PositiveIntegerField(_("position"), default=0)
    format = models.CharField(_("format"), max_length=60, blank=True)
    status = models.CharField(_("status"), max_length=10, choices=RunStatus.choices)
    fingerprint = models.CharField(max_length=64, db_index=True)
    workload = models.CharField(_("workload"), max_length=10)
    label = models.CharField(_("model as stated"), max_length=300, blank=True)
    model = models.CharField(_("model"), max_length=200, blank=True)
    architecture = models.CharField(_("architecture"), max_length=10, blank=True)
    gpu = models.CharField(_("GPU"), max_length=80, blank=True)
    gpu_count = models.PositiveIntegerField(_("GPUs"), null=True)
    engine = models.CharField(_("engine"), max_length=40, blank=True)
    precision = models.CharField(_("precision"), max_length=20, blank=True)
    load = models.CharField(_("load"), max_length=80, blank=True)
    data = models.JSONField(_("run"), default=dict)
    warnings = models.JSONField(_("warnings"), default=list, blank=True)
    guesses = models.JSONField(_("guesses"), default=list, blank=True)
    evidence = models.JSONField(_("evidence"), default=dict, blank=True)
    reason = models.CharField(_("reason"), max_length=500, blank=True)
    impossible = models.BooleanField(_("above a physical ceiling"), default=False)
    usable = models.BooleanField(_("may be used for calibration"), default=True)
    compared_at = models.DateTimeField(_("compared"), null=True)
    problem = models.CharField(_("why there is no prediction"), max_length=500, blank=True)
    confirmed_at = models.DateTimeField(_("confirmed"), null=True)
    confirmed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("confirmed by"),
        null=True,
        editable=False,
        on_delete=models.SET_NULL,
        related_name="+",
    )
    created = models.DateTimeField(_("stored"), auto_now_add=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["-pk"]
        verbose_name = _("measured run")
        verbose_name_plural = _("measured runs")
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["owner", "status"], name="run_owner_status"),
            models.Index(fields=["reference", "gpu", "model"], name="run_reference"),
            models.Index(fields=["upload", "position"], name="run_upload"),
        ]

    def __str__(self) -> str:
        return f"{self.model or self.label or '?'} · {self.gpu_count or '?'} × {self.gpu or '?'}"

    @property
    def gpu_words(self) -> str:
        """The catalogue's id, else what the file says."""
        return self.gpu or str(self.data.get("gpu") or "")

    @property
    def engine_words(self) -> str:
        """What the file says, else what is taken."""
        return str(self.data.get("engine") or self.engine)

    def canonical(self) -> Run:
        """The run as its parser read it."""
        return run_from_json(self.data)


class RunFigure(models.Model):
    """One figure of a run and its prediction in the same unit. What lists filter by is repeated here."""

    run = models.ForeignKey(MeasuredRun, on_delete=models.CASCADE, related_name="figures")
    quantity = models.CharField(_("quantity"), max_length=30)
    measured = models.FloatField(_("measured"))
    predicted = models.FloatField(_("predicted"))
    low = models.FloatField(_("low"), null=True)
    high = models.FloatField(_("high"), null=True)
    # ln(predicted / measured) in hundredths: medians come out of counts by bucket, without reading the rows.
    bucket = models.SmallIntegerField()
    sample = models.SmallIntegerField()
    owner_key = models.IntegerField(default=0)  # the run's owner, 0 for everyone's
    reference = models.BooleanField(default=False)
    gpu = models.CharField(max_length=80)
    engine = models.CharField(max_length=40)
    model = models.CharField(max_length=200)
    architecture = models.CharField(max_length=10)

    class Meta:
        ordering: ClassVar[list[str]] = ["-run_id", "pk"]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["quantity", "gpu", "bucket", "owner_key"], name="figure_buckets"),
            models.Index(fields=["quantity", "sample"], name="figure_sample"),
            models.Index(fields=["quantity", "run"], name="figure_latest"),
            models.Index(fields=["gpu", "quantity", "model"], name="figure_same_gpu"),
        ]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["run", "quantity"], name="figure_once")
        ]

    def __str__(self) -> str:
        return f"{self.quantity} of run {self.run_id}"

    @property
    def ratio(self) -> float:
        """Predicted over measured."""
        return self.predicted / self.measured

    @property
    def within(self) -> bool | None:
        """Whether the measurement lies in the interval; None where none is known."""
        return None if self.low is None or self.high is None else self.low <= self.measured <= self.high


class ColumnMapping(Private):
    """What the columns of a hand-kept table mean, remembered for the next file with the same header."""

    signature = models.CharField(max_length=64)
    header = models.JSONField(_("header"))
    columns = models.JSONField(_("columns"))  # label -> [field, unit]; a label that is not there is not read
    changed = models.DateTimeField(_("changed"), auto_now=True)

    class Meta:
        verbose_name = _("column mapping")
        verbose_name_plural = _("column mappings")
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["owner", "signature"], name="mapping_once_each")
        ]

    def __str__(self) -> str:
        return ", ".join(str(label) for label in self.header)[:80]

    def meaning(self) -> dict[str, Any]:
        """The columns as a dictionary."""
        return dict(self.columns)
