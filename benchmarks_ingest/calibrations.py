"""Calibrations: fitted to a person's confirmed runs, judged by errors before and after, activated and rolled back."""

from __future__ import annotations

import hashlib
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from benchmarks_ingest.figures import SPEEDS, time_ratio
from benchmarks_ingest.models import RunFigure, RunStatus
from predictions.models import Calibration
from predictions.selectors import calibration_active, calibrations_visible
from roofline.calibration import WORSE, Fitted, Observation, corrections, cross_validated, error_pct, fit, kinds

FIELDS = ("run_id", "quantity", "measured", "predicted", "run__workload", "gpu", "engine", "model", "architecture")
Json = dict[str, Any]


class CalibrationRefused(ValidationError):
    """A calibration that would make predictions worse; `report` says where."""

    def __init__(self, report: Json) -> None:
        super().__init__({"force": report["refused"]})
        self.report = report


def observations(figures: QuerySet[RunFigure]) -> list[Observation]:
    """One observation a run, in the order of the runs: the mean over its figures of speed."""
    ratios: dict[int, list[float]] = defaultdict(list)
    found: dict[int, Sequence[tuple[str, ...]]] = {}
    rows = figures.filter(quantity__in=SPEEDS).order_by("run_id", "pk").values_list(*FIELDS)
    for key, quantity, measured, predicted, *names in rows:
        ratio = time_ratio(quantity, measured, predicted)
        if ratio is not None:
            ratios[key].append(ratio)
            found[key] = kinds(*names)
    return [Observation(found[key], math.fsum(values) / len(values)) for key, values in ratios.items()]


def own_figures(user: Any) -> QuerySet[RunFigure]:
    """Figures of the user's confirmed runs that may be used: nothing unconfirmed, nothing above a ceiling."""
    return RunFigure.objects.filter(
        reference=False,
        owner_key=user.pk,
        run__status=RunStatus.CONFIRMED,
        run__impossible=False,
        run__usable=True,
    )


def reference_figures(gpus: Iterable[str]) -> QuerySet[RunFigure]:
    """Figures of the public runs on these GPUs."""
    return RunFigure.objects.filter(reference=True, gpu__in=sorted(set(gpus)))


@dataclass(frozen=True)
class Trial:
    """A fit with what it would do."""

    fitted: Fitted
    report: Json


def calibration_trial(*, user: Any) -> Trial:
    """Fit to the user's runs and judge it; nothing is stored. ValidationError where there is no run to fit to."""
    runs = observations(own_figures(user))
    if not runs:
        raise ValidationError({"runs": [_("There is no confirmed run with a prediction to fit to.")]})
    fitted = fit(runs)
    same_gpu = observations(reference_figures(run.kinds[-1][1] for run in runs))
    # Runs of other software stay as they are: they would only hide what happens to those that change.
    public = [run for run in same_gpu if run.kinds[-1] in fitted.cells]
    own = _errors(runs, cross_validated(runs))
    reference = _errors(public, corrections(public, fitted))
    report = {"own": own, "reference": reference, "refused": _refusals(own, reference)}
    return Trial(fitted, report)


def _errors(runs: Sequence[Observation], after: Any) -> Json:
    """Median errors in % before and after; null where there are no runs."""
    ratios = [run.log_ratio for run in runs]
    if not ratios:
        return {"n": 0, "before_pct": None, "after_pct": None}
    return {
        "n": len(ratios),
        "before_pct": round(error_pct(ratios), 2),  # type: ignore[arg-type]
        "after_pct": round(error_pct(ratios, after), 2),  # type: ignore[arg-type]
    }


def _refusals(own: Json, reference: Json) -> list[str]:
    words = (
        (own, _("the runs that it is fitted to (cross-validated)")),
        (reference, _("the public reference runs on the same GPUs with the same software")),
    )
    return [
        _("The median error of %(what)s would grow from %(before).1f to %(after).1f %%.")
        % {"what": what, "before": errors["before_pct"], "after": errors["after_pct"]}
        for errors, what in words
        if errors["n"] and errors["after_pct"] > errors["before_pct"] + WORSE
    ]


def calibration_fit(*, user: Any, name: str = "", force: bool = False) -> Calibration:
    """Fit to the user's confirmed runs and keep it, not yet active. CalibrationRefused where either median error
    grows by more than a point, unless `force`."""
    trial = calibration_trial(user=user)
    if trial.report["refused"] and not force:
        raise CalibrationRefused(trial.report)
    cells = [[list(kind), bias, trial.fitted.counts[kind]] for kind, bias in sorted(trial.fitted.cells.items())]
    number = Calibration.objects.filter(owner=user).count() + 1
    return Calibration.objects.create(
        owner=user,
        name=name[:200] or _("Calibration %(number)d") % {"number": number},
        version=_version(user, number, cells),
        cells=cells,
        report=trial.report | {"forced": bool(trial.report["refused"])},
        runs=trial.report["own"]["n"],
    )


def _version(user: Any, number: int, cells: Any) -> str:
    digest = hashlib.sha256(json.dumps(cells).encode()).hexdigest()[:8]
    return f"{timezone.now():%Y%m%d%H%M%S}-{user.pk}-{number}-{digest}"


@transaction.atomic
def calibration_activate(*, user: Any, row: Calibration, for_everyone: bool = False) -> Calibration:
    """Let the owner's predictions carry it, or everyone's (staff alone); what was active there no longer is."""
    _must_own(user, row)
    if for_everyone and not user.is_staff:
        raise PermissionDenied(_("Only staff may activate a calibration for everyone."))
    rivals = Calibration.objects.filter(active=True, for_everyone=for_everyone)
    (rivals if for_everyone else rivals.filter(owner=row.owner)).update(active=False)
    row.active, row.for_everyone = True, for_everyone
    row.save(update_fields=["active", "for_everyone"])
    return row


def calibration_deactivate(*, user: Any, row: Calibration) -> Calibration:
    """Back to the shipped coefficients."""
    _must_own(user, row)
    row.active = False
    row.save(update_fields=["active"])
    return row


def calibration_rollback(*, user: Any) -> Calibration | None:
    """Activate the one made before the active one; with none before it, the shipped coefficients are back."""
    active = Calibration.objects.filter(owner=user, active=True).first()
    if active is None:
        return None
    earlier = Calibration.objects.filter(owner=user, pk__lt=active.pk).order_by("-pk").first()
    if earlier:
        return calibration_activate(user=user, row=earlier, for_everyone=active.for_everyone)
    calibration_deactivate(user=user, row=active)
    return None


def _must_own(user: Any, row: Calibration) -> None:
    if row.owner_id != getattr(user, "pk", None):
        raise PermissionDenied(_("Only its owner may do this."))


def cells_shown(row: Calibration) -> list[Json]:
    """The cells of a calibration as rows: kind, factor on every time, runs."""
    return [
        {
            "workload": kind[0],
            "gpu": kind[1],
            "software": kind[2],
            "what": kind[3] if len(kind) > 3 else "",
            "factor": math.exp(bias),
            "runs": runs,
        }
        for kind, bias, runs in row.cells
    ]


def cells_compared(rows: Sequence[Calibration]) -> list[Json]:
    """Cells of several calibrations side by side: factors in the order of `rows`, None where one has no such cell."""
    factors: dict[tuple[str, ...], dict[int, float]] = defaultdict(dict)
    for row in rows:
        for kind, bias, _runs in row.cells:
            factors[tuple(kind)][row.pk] = math.exp(bias)
    return [
        {"kind": " · ".join(kind), "factors": [of.get(row.pk) for row in rows]} for kind, of in sorted(factors.items())
    ]


def calibration_facts(row: Calibration) -> Json:
    """One calibration as REST and the twins show it."""
    return {
        "id": row.pk,
        "name": row.name,
        "version": row.version,
        "owner": str(row.owner),
        "created": row.created_at.isoformat(),
        "runs": row.runs,
        "active": row.active,
        "for_everyone": row.for_everyone,
        "report": row.report,
        "cells": cells_shown(row),
    }


def halves(
    runs: Sequence[Observation], *, by_configuration: bool = False
) -> tuple[list[Observation], list[Observation]]:
    """Every other run, or every other (workload, GPU, software, model) with all its runs."""
    order = {kind: place for place, kind in enumerate(sorted({run.kinds[0] for run in runs}))}
    place_of = [order[run.kinds[0]] if by_configuration else place for place, run in enumerate(runs)]
    parts: tuple[list[Observation], list[Observation]] = ([], [])
    for run, place in zip(runs, place_of, strict=True):
        parts[place % 2].append(run)
    return parts


def half_and_half(*, by_configuration: bool = False) -> Json:
    """Fit to one half of the public reference runs, errors on the other half, both ways round taken together."""
    runs = observations(RunFigure.objects.filter(reference=True))
    first, second = halves(runs, by_configuration=by_configuration)
    after = [*corrections(second, fit(first)), *corrections(first, fit(second))]
    return _errors([*second, *first], after)


__all__ = [
    "CalibrationRefused",
    "calibration_activate",
    "calibration_active",
    "calibration_deactivate",
    "calibration_facts",
    "calibration_fit",
    "calibration_rollback",
    "calibration_trial",
    "calibrations_visible",
    "cells_compared",
    "cells_shown",
]
