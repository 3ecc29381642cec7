"""Acts on saved scenarios, comparisons and case studies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from planner.forms import tag_names
from planner.models import MOST_COMPARED, CaseStudy, Comparison, ComparisonColumn, Scenario, Tag
from planner.selectors import may_change
from roofline import scenario as engine


def scenario_create(
    *, owner: Any, name: str, scenario: Mapping[str, Any], tags: Iterable[str] = (), notes: str = ""
) -> Scenario:
    """Keep a what-if. Raises ScenarioError for one that contradicts itself."""
    engine.parse(scenario)
    with transaction.atomic():
        row = Scenario.objects.create(owner=_owner(owner), name=name[:200], scenario=dict(scenario), notes=notes)
        row.tags.set(_tags(tags))
    return row


def scenario_update(*, user: Any, row: Scenario, **changes: Any) -> Scenario:
    """Change name, scenario, notes or tags of a scenario that the user may change (else PermissionDenied)."""
    _must_change(user, row)
    if "scenario" in changes:
        engine.parse(changes["scenario"])
    with transaction.atomic():
        if "tags" in changes:
            row.tags.set(_tags(changes.pop("tags")))
        for key, value in changes.items():
            setattr(row, key, value)
        row.save()
    return row


def scenario_clone(*, owner: Any, row: Scenario) -> Scenario:
    """A copy that belongs to `owner` and can be changed."""
    name = _("%(name)s (copy)") % {"name": row.name[:180]}
    return scenario_create(
        owner=owner, name=name, scenario=row.scenario, tags=[tag.name for tag in row.tags.all()], notes=row.notes
    )


def scenario_delete(*, user: Any, row: Scenario) -> None:
    """Remove a scenario that the user may change."""
    _must_change(user, row)
    row.delete()


def comparison_create(
    *, owner: Any, name: str, scenarios: Sequence[Scenario], baseline: Scenario | None = None
) -> Comparison:
    """Keep a comparison of two to eight scenarios; the first one is the baseline unless another is named."""
    rows = list(dict.fromkeys(scenarios))
    if not 2 <= len(rows) <= MOST_COMPARED:
        raise ValidationError({"scenarios": _("Choose two to %(most)d scenarios.") % {"most": MOST_COMPARED}})
    if baseline is not None and baseline not in rows:
        raise ValidationError({"baseline": _("The baseline must be one of the scenarios.")})
    with transaction.atomic():
        comparison = Comparison.objects.create(owner=_owner(owner), name=name[:200], baseline=baseline or rows[0])
        ComparisonColumn.objects.bulk_create(
            ComparisonColumn(comparison=comparison, scenario=row, position=position)
            for position, row in enumerate(rows)
        )
    return comparison


def comparison_delete(*, user: Any, row: Comparison) -> None:
    """Remove a comparison that the user may change; its scenarios stay."""
    _must_change(user, row)
    row.delete()


def case_study_load(*, facts: Mapping[str, Any], position: int) -> CaseStudy:
    """Write a shipped case study and its two scenarios, or bring them up to date."""
    with transaction.atomic():
        known = CaseStudy.objects.filter(slug=facts["slug"]).first()
        pair = {
            role: _seeded(getattr(known, role) if known else None, facts["title"], role, facts[role])
            for role in ("baseline", "optimised")
        }
        values = {key: facts[key] for key in ("title", "story", "assumed", "levers", "claim")}
        study, _made = CaseStudy.objects.update_or_create(
            slug=facts["slug"], defaults={**values, **pair, "position": position}
        )
    return study


def _seeded(row: Scenario | None, title: str, role: str, scenario: Mapping[str, Any]) -> Scenario:
    engine.parse(scenario)
    row = row or Scenario()
    row.name, row.scenario, row.seeded = f"{title}: {role}", dict(scenario), True
    row.save()
    row.tags.set(_tags(["case-study"]))
    return row


def _tags(words: Iterable[str]) -> list[Tag]:
    return [Tag.objects.get_or_create(name=name)[0] for name in tag_names(words)]


def _owner(user: Any) -> Any:
    return user if getattr(user, "is_authenticated", False) else None


def _must_change(user: Any, row: Scenario | Comparison) -> None:
    if not may_change(user, row):
        raise PermissionDenied(_("Only its owner may change this; clone it to change a copy."))
