"""What people keep: scenarios, comparisons, case studies, sweeps. Every row that a user makes has an owner."""

from __future__ import annotations

from typing import ClassVar
from uuid import uuid4

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.models import Owned

MOST_COMPARED = 8


class Tag(models.Model):
    """A word that scenarios are found by."""

    name = models.SlugField(_("name"), max_length=40, unique=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["name"]
        verbose_name = _("tag")
        verbose_name_plural = _("tags")

    def __str__(self) -> str:
        return self.name


class Kept(Owned):
    """An owned row that says when it was made and changed. Rows that ship have no owner and are read-only."""

    created = models.DateTimeField(_("created"), auto_now_add=True)
    changed = models.DateTimeField(_("changed"), auto_now=True)

    class Meta:
        abstract = True


class Scenario(Kept):
    """A saved what-if: the scenario as it was given, to be predicted anew whenever it is shown."""

    name = models.CharField(_("name"), max_length=200)
    scenario = models.JSONField(_("scenario"))
    notes = models.TextField(_("notes"), blank=True)
    tags = models.ManyToManyField(Tag, verbose_name=_("tags"), blank=True, related_name="scenarios")
    seeded = models.BooleanField(_("ships with the product"), default=False, editable=False)

    class Meta:
        ordering: ClassVar[list[str]] = ["-changed", "-pk"]
        verbose_name = _("scenario")
        verbose_name_plural = _("scenarios")

    def __str__(self) -> str:
        return self.name

    @property
    def workload(self) -> str:
        return str(self.scenario.get("workload", "inference"))


class Comparison(Kept):
    """Up to eight scenarios side by side, one of them the baseline."""

    name = models.CharField(_("name"), max_length=200)
    scenarios = models.ManyToManyField(
        Scenario, verbose_name=_("scenarios"), through="ComparisonColumn", related_name="comparisons"
    )
    baseline = models.ForeignKey(
        Scenario, verbose_name=_("baseline"), null=True, on_delete=models.SET_NULL, related_name="+"
    )

    class Meta:
        ordering: ClassVar[list[str]] = ["-changed", "-pk"]
        verbose_name = _("comparison")
        verbose_name_plural = _("comparisons")

    def __str__(self) -> str:
        return self.name


class ComparisonColumn(models.Model):
    """Where a scenario stands in a comparison."""

    comparison = models.ForeignKey(Comparison, on_delete=models.CASCADE, related_name="columns")
    scenario = models.ForeignKey(Scenario, on_delete=models.CASCADE, related_name="+")
    position = models.PositiveSmallIntegerField(_("position"))

    class Meta:
        ordering: ClassVar[list[str]] = ["position"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["comparison", "scenario"], name="comparison_scenario_once")
        ]

    def __str__(self) -> str:
        return f"{self.position}: {self.scenario_id}"


class CaseStudy(models.Model):
    """A published claim beside what the engine says of its baseline and of its optimised set-up. Seeded, read-only."""

    slug = models.SlugField(_("slug"), unique=True)
    title = models.CharField(_("title"), max_length=200)
    story = models.TextField(_("story"))
    assumed = models.TextField(_("what is assumed"))
    levers = models.JSONField(_("levers"), default=list)
    claim = models.JSONField(_("published claim"))
    baseline = models.ForeignKey(Scenario, verbose_name=_("baseline"), on_delete=models.PROTECT, related_name="+")
    optimised = models.ForeignKey(Scenario, verbose_name=_("optimised"), on_delete=models.PROTECT, related_name="+")
    position = models.PositiveSmallIntegerField(_("position"), default=0)

    class Meta:
        ordering: ClassVar[list[str]] = ["position"]
        verbose_name = _("case study")
        verbose_name_plural = _("case studies")

    def __str__(self) -> str:
        return self.title


class Sweep(Kept):
    """A scenario with ranges, expanded point by point by a background job."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    name = models.CharField(_("name"), max_length=200, blank=True)
    space = models.JSONField(_("scenario with ranges"))
    total = models.PositiveIntegerField(_("combinations"))
    job = models.OneToOneField(
        "jobs.Job", verbose_name=_("job"), null=True, on_delete=models.SET_NULL, related_name="sweep"
    )

    class Meta:
        ordering: ClassVar[list[str]] = ["-created"]
        verbose_name = _("sweep")
        verbose_name_plural = _("sweeps")

    def __str__(self) -> str:
        return self.name or str(self.id)

    @property
    def workload(self) -> str:
        return str(self.space.get("workload", "inference"))


class SweepChunk(models.Model):
    """Results of consecutive points, first to last - 1; a chunk is stored once, whole, or not at all."""

    sweep = models.ForeignKey(Sweep, on_delete=models.CASCADE, related_name="chunks")
    first = models.PositiveIntegerField(_("first point"))
    last = models.PositiveIntegerField(_("point after the last"))
    rows = models.JSONField(_("rows"))

    class Meta:
        ordering: ClassVar[list[str]] = ["first"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["sweep", "first"], name="sweep_chunk_once")
        ]

    def __str__(self) -> str:
        return f"{self.sweep_id} {self.first}-{self.last}"
