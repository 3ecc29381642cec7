"""Reads: rows that a user may see, and their predictions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from planner.models import CaseStudy, Comparison, Scenario, Sweep, Tag
from predictions.services import predict_many


def _visible(user: Any) -> Q:
    """Signed-in people share what they save; without a sign-in only rows without an owner are seen."""
    return Q() if getattr(user, "is_authenticated", False) else Q(owner=None)


def scenarios_visible(user: Any) -> QuerySet[Scenario]:
    """Saved scenarios with owner and tags, last changed first."""
    return Scenario.objects.filter(_visible(user)).select_related("owner").prefetch_related("tags")


def scenarios_found(
    *, user: Any, words: str = "", tag: str = "", mine: bool = False, workload: str = ""
) -> QuerySet[Scenario]:
    """Scenarios whose name or notes hold all words, under a tag, of a workload."""
    rows = scenarios_visible(user)
    for word in words.split():
        rows = rows.filter(Q(name__icontains=word) | Q(notes__icontains=word))
    if tag:
        rows = rows.filter(tags__name=tag)
    if workload:
        rows = rows.filter(scenario__workload=workload)
    return rows.filter(owner=user) if mine and user.is_authenticated else rows


def scenarios_by_id(*, user: Any, ids: Iterable[int]) -> list[Scenario]:
    """The scenarios with these ids, in that order; unknown ones are left out."""
    wanted = list(dict.fromkeys(ids))
    found = scenarios_visible(user).in_bulk(wanted)
    return [found[number] for number in wanted if number in found]


def may_change(user: Any, row: Scenario | Comparison | Sweep) -> bool:
    """Whether a user may change or delete a row: its owner, or staff; never what ships with the product."""
    if getattr(row, "seeded", False) or not getattr(user, "is_authenticated", False):
        return False
    return bool(user.is_staff or row.owner_id == user.pk)


def tags_in_use() -> list[str]:
    """Names of the tags that some scenario carries."""
    return list(Tag.objects.filter(scenarios__isnull=False).distinct().values_list("name", flat=True))


def comparisons_visible(user: Any) -> QuerySet[Comparison]:
    """Saved comparisons with their columns."""
    rows = Comparison.objects.filter(_visible(user)).select_related("owner", "baseline")
    return rows.prefetch_related("columns__scenario")


def case_studies() -> QuerySet[CaseStudy]:
    """The case studies with both scenarios."""
    return CaseStudy.objects.select_related("baseline", "optimised")


def sweeps_visible(user: Any) -> QuerySet[Sweep]:
    """A user's own sweeps and those of nobody, newest first."""
    mine = Q(owner=None)
    if getattr(user, "is_authenticated", False):
        mine = Q() if user.is_superuser else mine | Q(owner=user)
    return Sweep.objects.filter(mine).select_related("owner", "job")


def sweep_get(*, user: Any, sweep_id: UUID) -> Sweep:
    """One sweep; Sweep.DoesNotExist where it is not there or not theirs."""
    return sweeps_visible(user).get(pk=sweep_id)


def sweep_rows(sweep: Sweep, *, start: int = 0, stop: int | None = None) -> list[dict[str, Any]]:
    """Rows of the stored points numbered start to stop - 1, in order."""
    chunks = sweep.chunks.filter(last__gt=start)
    if stop is not None:
        chunks = chunks.filter(first__lt=stop)
    rows = [row for chunk in chunks for row in chunk.rows]
    return [row for row in rows if row["n"] >= start and (stop is None or row["n"] < stop)]


def predictions_of(
    scenarios: Sequence[Mapping[str, Any]], *, user: Any = None, detail: bool = False
) -> list[dict[str, Any]]:
    """A prediction for each scenario in one vectorised call; `{"error": …}` where one cannot be answered.

    Without `detail` the operators and what would fit are left out.
    """
    return predict_many(scenarios, user=user, detail=detail) if scenarios else []
