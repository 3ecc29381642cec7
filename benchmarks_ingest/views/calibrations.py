"""Calibrations: what would change, make one, activate, roll back, compare."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from benchmarks_ingest import calibrations as acts
from faces.twins import csv_twin, json_twin
from predictions.models import Calibration

MOST_COMPARED = 4
COLUMNS = ("id", "name", "version", "owner", "created", "runs", "active", "for_everyone")


@require_GET
def calibrations(request: HttpRequest) -> HttpResponse:
    """The list, the trial of a new one, and cells side by side where some are ticked."""
    rows = acts.calibrations_visible(request.user)
    ticked = [int(key) for key in request.GET.getlist("compare") if key.isdecimal() and len(key) < 19]
    compared = list(rows.filter(pk__in=ticked)[:MOST_COMPARED])
    context = {
        "rows": rows,
        "trial": _trial(request.user),
        "active": acts.calibration_active(request.user),
        "compared": compared,
        "cells": acts.cells_compared(compared) if compared else [],
    }
    return render(request, "benchmarks_ingest/calibrations.html", context)


def _trial(user: Any) -> Any:
    """What a calibration made now would do; None for visitors and where there is nothing to fit to."""
    if not user.is_authenticated:
        return None
    try:
        return acts.calibration_trial(user=user)
    except ValidationError:
        return None


@require_GET
def calibrations_json(request: HttpRequest) -> HttpResponse:
    """All that the user may see."""
    return json_twin([acts.calibration_facts(row) for row in acts.calibrations_visible(request.user)])


@require_GET
def calibrations_csv(request: HttpRequest) -> HttpResponse:
    """The same as rows, without cells."""
    rows = [acts.calibration_facts(row) for row in acts.calibrations_visible(request.user)]
    return csv_twin(rows, "calibrations", COLUMNS)


@require_GET
def calibration(request: HttpRequest, pk: int) -> HttpResponse:
    """One calibration with its cells."""
    row = _row(request, pk)
    return render(
        request,
        "benchmarks_ingest/calibration.html",
        {"row": row, "cells": acts.cells_shown(row), "mine": row.owner_id == request.user.pk},
    )


@require_POST
@login_required
def calibration_make(request: HttpRequest) -> HttpResponse:
    """Fit to the confirmed runs."""
    try:
        row = acts.calibration_fit(
            user=request.user, name=request.POST.get("name", ""), force=request.POST.get("force") == "on"
        )
    except ValidationError as error:
        for sentence in error.messages:
            messages.error(request, sentence)
        return HttpResponseRedirect(reverse("measured-calibrations"))
    if request.POST.get("activate") == "on":
        acts.calibration_activate(user=request.user, row=row)
        messages.success(request, _("Made and active: your predictions carry it from now on."))
    return HttpResponseRedirect(reverse("measured-calibration", args=[row.pk]))


@require_POST
@login_required
def calibration_switch(request: HttpRequest, pk: int) -> HttpResponse:
    """Activate (for oneself or, by staff, for everyone) or deactivate."""
    row = _row(request, pk)
    if request.POST.get("act") == "deactivate":
        acts.calibration_deactivate(user=request.user, row=row)
        messages.success(request, _("The shipped coefficients are back."))
    else:
        acts.calibration_activate(user=request.user, row=row, for_everyone=request.POST.get("act") == "everyone")
        messages.success(request, _("Active: predictions carry it from now on."))
    return HttpResponseRedirect(reverse("measured-calibrations"))


@require_POST
@login_required
def calibration_back(request: HttpRequest) -> HttpResponse:
    """Activate the one before the active one."""
    row = acts.calibration_rollback(user=request.user)
    said = _("%(name)s is active again.") % {"name": row.name} if row else _("The shipped coefficients are back.")
    messages.success(request, said)
    return HttpResponseRedirect(reverse("measured-calibrations"))


def _row(request: HttpRequest, pk: int) -> Calibration:
    row = acts.calibrations_visible(request.user).filter(pk=pk).first()
    if row is None:
        raise Http404
    return row
