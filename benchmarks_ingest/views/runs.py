"""One run: what was measured, what is predicted, what explains and costs the difference."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from benchmarks_ingest.assessment import Assessment, Line, assess
from benchmarks_ingest.models import MeasuredRun, RunStatus
from benchmarks_ingest.residuals import QUANTITIES, figure_facts, nearest
from benchmarks_ingest.resolving import Books
from benchmarks_ingest.rows import suggestion
from benchmarks_ingest.scenarios import lengths_missing, plan_query, run_scenario
from benchmarks_ingest.selectors import may_change
from benchmarks_ingest.services import run_use
from benchmarks_ingest.views.common import name_choices, run_or_404
from faces.twins import csv_twin, json_twin

MOST_USD = 1e6


@require_GET
def run_page(request: HttpRequest, pk: int) -> HttpResponse:
    """The page."""
    run = run_or_404(request, pk)
    found = _assessed(request, run)
    main = found.lines[0].figure if found.lines else None
    return render(
        request,
        "benchmarks_ingest/run.html",
        {
            "run": run,
            "lines": [(QUANTITIES.get(line.figure.quantity, line.figure.quantity), line) for line in found.lines],
            "reasons": list(dict.fromkeys(reason for line in found.lines for reason in line.reasons)),
            "waste": found.waste,
            "answer": found.answer,
            "calibration": (found.answer.get("versions") or {}).get("calibration"),
            "others": next((line for line in found.lines if line.others), None),
            "nearest": list(nearest(main)) if main else [],
            "mine": may_change(request.user, run),
            "waits": run.status == RunStatus.TO_CONFIRM,
            "missing": lengths_missing(run.data),
            "only": {"pk": run.pk, "offered": suggestion(run, Books.now(request.user))},
            "query": plan_query(run_scenario(run)) if run.model and run.gpu else "",
            "usd": request.GET.get("usd", ""),
            "stated": sorted((key, _short(value)) for key, value in run.data.items() if _is_plain(value)),
            "sources": run.data.get("source") or [],
            **name_choices(request.user),
        },
    )


@require_GET
def run_json(request: HttpRequest, pk: int) -> HttpResponse:
    """Everything that the page shows."""
    run = run_or_404(request, pk)
    found = _assessed(request, run)
    return json_twin(
        {
            "id": run.pk,
            "status": run.status,
            "reference": run.reference,
            "source": run.source or run.file,
            "run": run.data,
            "warnings": run.warnings,
            "impossible": run.impossible,
            "figures": [_line_facts(line) for line in found.lines],
            "waste": asdict(found.waste) if found.waste else None,
            "problem": run.problem or None,
        }
    )


@require_GET
def run_csv(request: HttpRequest, pk: int) -> HttpResponse:
    """Its figures as rows."""
    run = run_or_404(request, pk)
    rows = [_line_facts(line) for line in _assessed(request, run).lines]
    return csv_twin(rows, f"run-{pk}", ("quantity", "measured", "predicted", "low", "high", "ratio", "calibrated"))


@require_POST
@login_required
def run_toggle(request: HttpRequest, pk: int) -> HttpResponse:
    """Let the run take part in calibrations, or leave it out."""
    usable = request.POST.get("usable") == "on"
    run_use(user=request.user, run=run_or_404(request, pk), usable=usable)
    messages.success(request, _("It takes part in calibrations.") if usable else _("It is left out of calibrations."))
    return HttpResponseRedirect(reverse("measured-run", args=[pk]))


def _assessed(request: HttpRequest, run: MeasuredRun) -> Assessment:
    return assess(run, user=request.user, usd=_usd(request.GET.get("usd")))


def _usd(text: str | None) -> float | None:
    try:
        value = float(text or "nan")
    except ValueError:
        return None
    return value if 0 <= value <= MOST_USD else None


def _line_facts(line: Line) -> dict[str, Any]:
    return figure_facts(line.figure) | {
        "calibrated": line.calibrated,
        "others": asdict(line.others) if line.others else None,
        "reasons": line.reasons,
    }


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _is_plain(value: Any) -> bool:
    return value is not None and not isinstance(value, list | dict)
