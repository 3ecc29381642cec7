"""What the columns of a hand-kept table mean: guessed, shown on its rows, corrected, remembered for the next file."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from benchmarks_ingest.mappings import MEANINGS, UNITS, mapped_runs, mapping_keep
from benchmarks_ingest.models import Upload
from benchmarks_ingest.parsers import Run
from benchmarks_ingest.selectors import may_change
from benchmarks_ingest.services import upload_again
from benchmarks_ingest.views.common import upload_or_404
from benchmarks_ingest.views.uploads import tables_kept, taught_or_guessed

PREVIEW = 8
MOST_COLUMNS = 60


@require_http_methods(["GET", "POST"])
@login_required
def columns(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Choose, preview, keep. A file of several tables has them one below the other."""
    row = upload_or_404(request, pk)
    if not may_change(request.user, row):
        raise PermissionDenied(_("Only its owner may change this."))
    tables = tables_kept(row)
    if not tables:
        raise Http404
    meanings = [
        _chosen(request, place, table) if request.method == "POST" else taught_or_guessed(row, table)
        for place, table in enumerate(tables)
    ]
    if "keep" in request.POST:
        return _keep(request, row, tables, meanings)
    shown = [_shown(place, table, meaning) for place, (table, meaning) in enumerate(zip(tables, meanings, strict=True))]
    context = {"upload": row, "tables": shown, "meanings": MEANINGS, "units": UNITS}
    return render(request, "benchmarks_ingest/columns.html", context)


def _keep(request: HttpRequest, row: Upload, tables: list[Any], meanings: list[dict[str, list[str]]]) -> HttpResponse:
    for table, meaning in zip(tables, meanings, strict=True):
        mapping_keep(owner=row.owner, table=table, columns=meaning)
    upload_again(user=request.user, upload=row)
    messages.success(request, _("Remembered for every file with this header; the file is read again."))
    return HttpResponseRedirect(reverse("measured-upload", args=[row.pk]))


def _chosen(request: HttpRequest, table_number: int, table: Any) -> dict[str, list[str]]:
    found = {}
    for place, label in enumerate(table.header[:MOST_COLUMNS]):
        field = request.POST.get(f"field-{table_number}-{place}", "")
        unit = request.POST.get(f"unit-{table_number}-{place}", "")
        if field in MEANINGS:
            found[label] = [field, unit if unit in UNITS else ""]
    return found


def _shown(number: int, table: Any, meaning: dict[str, list[str]]) -> dict[str, Any]:
    outcomes = list(mapped_runs(table, meaning))
    return {
        "number": number,
        "title": table.title,
        "columns": [
            {
                "place": place,
                "label": label,
                "field": meaning.get(label, ["", ""])[0],
                "unit": meaning.get(label, ["", ""])[1],
                "cells": [row[place] for row in table.rows[:3] if place < len(row)],
            }
            for place, label in enumerate(table.header[:MOST_COLUMNS])
        ],
        "preview": [_preview(outcome) for outcome in outcomes[:PREVIEW]],
        "readable": sum(isinstance(outcome, Run) for outcome in outcomes),
        "rows": len(outcomes),
    }


def _preview(outcome: Run | str) -> str:
    if isinstance(outcome, str):
        return outcome
    figures = {
        key: value
        for key, value in outcome.to_json().items()
        if value not in (None, [], {}) and key not in ("source", "kind")
    }
    return ", ".join(
        f"{key} {value:.6g}" if isinstance(value, float) else f"{key} {value}" for key, value in figures.items()
    )
