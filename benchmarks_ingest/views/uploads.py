"""Uploading by page: files in, progress, what was found and refused, confirmation of several runs at once."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from benchmarks_ingest import storage
from benchmarks_ingest.mappings import guessed, meaning_of, tables_of
from benchmarks_ingest.models import MeasuredRun, RunStatus, Upload
from benchmarks_ingest.resolving import Books
from benchmarks_ingest.rows import suggestion
from benchmarks_ingest.selectors import may_change, runs_to_confirm, runs_visible, uploads_visible
from benchmarks_ingest.services import runs_confirm, upload_create, upload_delete
from benchmarks_ingest.views.common import name_choices, upload_or_404
from faces.twins import csv_twin, json_twin

PAGE = 25
MOST_FILES = 100
MOST_REFUSALS = 200


@require_POST
@login_required
def upload(request: HttpRequest) -> HttpResponse:
    """Keep the files and start reading them."""
    files = request.FILES.getlist("files")[:MOST_FILES]
    made = [found for file in files if (found := _kept(request, file))]
    if not files:
        messages.error(request, _("Choose a result file first."))
    if len(made) == 1:
        return HttpResponseRedirect(reverse("measured-upload", args=[made[0].pk]))
    return HttpResponseRedirect(reverse("measured-uploads" if made else "measured"))


def _kept(request: HttpRequest, file: Any) -> Upload | None:
    try:
        row, new = upload_create(owner=request.user, chunks=file.chunks(), name=file.name or "")
    except ValidationError as error:
        messages.error(request, f"{file.name}: {' '.join(error.messages)}")
        return None
    if not new:
        messages.info(request, _("%(name)s was uploaded before: here is that upload.") % {"name": file.name})
    return row


@require_GET
def uploads(request: HttpRequest) -> HttpResponse:
    """All uploads, newest first."""
    page = Paginator(uploads_visible(request.user), PAGE).get_page(request.GET.get("page"))
    return render(request, "benchmarks_ingest/uploads.html", {"page": page})


@require_GET
def uploads_json(request: HttpRequest) -> HttpResponse:
    """The same as data."""
    return json_twin([upload_facts(row) for row in uploads_visible(request.user)])


@require_GET
def uploads_csv(request: HttpRequest) -> HttpResponse:
    """The same as rows."""
    rows = (upload_facts(row) for row in uploads_visible(request.user))
    return csv_twin(rows, "uploads", ("id", "name", "size", "sha256", "created", "owner", "status", "runs", "refused"))


def upload_facts(row: Upload) -> dict[str, Any]:
    """One upload as a row."""
    return {
        "id": str(row.pk),
        "name": row.name,
        "size": row.size,
        "sha256": row.sha256,
        "created": row.created.isoformat(),
        "owner": str(row.owner or ""),
        "status": row.job.status if row.job else "done",
        "runs": row.run_count,
        "refused": len(row.refusals),
    }


@require_GET
def upload_page(request: HttpRequest, pk: UUID) -> HttpResponse:
    """What one upload held."""
    row = upload_or_404(request, pk)
    return render(request, "benchmarks_ingest/upload.html", _context(request, row))


@require_GET
def upload_status(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The part that changes while the file is read; asks for the whole page once that is over."""
    row = upload_or_404(request, pk)
    response = render(request, "benchmarks_ingest/upload_status.html", {"upload": row, "job": row.job})
    if row.job is None or row.job.finished:
        response["HX-Refresh"] = "true"
    return response


@require_GET
def upload_json(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The upload, its runs and what was refused."""
    row = upload_or_404(request, pk)
    runs = row.runs.order_by("position")
    return json_twin(upload_facts(row) | {"refusals": row.refusals, "results": [run_facts(run) for run in runs]})


@require_GET
def upload_csv(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Its runs as rows."""
    row = upload_or_404(request, pk)
    columns = ("id", "file", "status", "format", "model", "gpu", "gpu_count", "engine", "precision", "load", "reason")
    return csv_twin((run_facts(run) for run in row.runs.order_by("position")), "runs", columns)


def run_facts(run: MeasuredRun) -> dict[str, Any]:
    """One run as a row."""
    return {
        "id": run.pk,
        "file": run.file,
        "status": run.status,
        "format": run.format,
        "model": run.model or run.label,
        "gpu": run.gpu,
        "gpu_count": run.gpu_count,
        "engine": run.engine,
        "precision": run.precision,
        "load": run.load,
        "reason": run.reason,
        "warnings": run.warnings,
        "guesses": run.guesses,
        "run": run.data,
    }


@require_POST
@login_required
def upload_remove(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Delete an upload with its runs."""
    upload_delete(user=request.user, upload=upload_or_404(request, pk))
    messages.success(request, _("Deleted."))
    return HttpResponseRedirect(reverse("measured-uploads"))


@require_GET
@login_required
def waiting(request: HttpRequest) -> HttpResponse:
    """All runs that wait for a person, of whatever upload."""
    page = Paginator(runs_to_confirm(request.user).order_by("-pk"), PAGE).get_page(request.GET.get("page"))
    return render(request, "benchmarks_ingest/waiting.html", _cards(request, page))


@require_POST
@login_required
def confirm(request: HttpRequest) -> HttpResponse:
    """Confirm the ticked runs with what the form says, or as suggested where it says nothing."""
    keys = [int(key) for key in request.POST.getlist("run") if key.isdecimal() and len(key) < 19]
    runs = list(runs_visible(request.user).filter(pk__in=keys).exclude(status=RunStatus.DUPLICATE))
    given = {name: request.POST.get(name, "").strip() for name in CONFIRMABLE}
    numbers, faults = _numbers(given)
    try:
        if faults or not runs:
            raise ValidationError(faults or {"run": [_("Tick at least one run.")]})
        runs_confirm(user=request.user, runs=runs, given=numbers)
    except ValidationError as error:
        for sentence in error.messages:
            messages.error(request, sentence)
    else:
        messages.success(request, _("%(count)d confirmed; their predictions follow.") % {"count": len(runs)})
    return HttpResponseRedirect(_back(request, runs))


CONFIRMABLE = ("model", "gpu", "gpu_count", "input_tokens", "output_tokens", "seq_len")
WHOLE = CONFIRMABLE[2:]


def _numbers(given: dict[str, str]) -> tuple[dict[str, Any], dict[str, list[str]]]:
    faults = {
        name: [_("%(name)s: give a whole number.") % {"name": name}]
        for name in WHOLE
        if given[name] and not (given[name].isdecimal() and 0 < int(given[name][:10]) <= 10_000_000)
    }
    return {
        name: int(value) if name in WHOLE and name not in faults else value for name, value in given.items() if value
    }, faults


def _back(request: HttpRequest, runs: list[MeasuredRun]) -> str:
    if len(runs) == 1 and request.POST.get("from") == "run":
        return reverse("measured-run", args=[runs[0].pk])
    uploads = {run.upload_id for run in runs}
    if len(uploads) == 1 and None not in uploads and request.POST.get("from") != "waiting":
        return reverse("measured-upload", args=[uploads.pop()])
    return reverse("measured-waiting")


def _context(request: HttpRequest, row: Upload) -> dict[str, Any]:
    runs = row.runs.order_by("position").defer("evidence").prefetch_related("figures")
    page = Paginator(runs, PAGE).get_page(request.GET.get("page"))
    mine = may_change(request.user, row)
    return _cards(request, page) | {
        "upload": row,
        "job": row.job,
        "mine": mine,
        "refusals": row.refusals[:MOST_REFUSALS],
        "mappable": mine and _is_mappable(row, page.object_list),
    }


def _is_mappable(row: Upload, runs: Any) -> bool:
    formats = {run.format for run in runs} | {line["format"] or "" for line in row.refusals}
    return any(name.startswith("hand-kept") or not name for name in formats) and bool(tables_kept(row))


def tables_kept(row: Upload) -> list[Any]:
    """The hand-kept tables of an upload; none where the bytes are gone or hold none."""
    path = storage.path_of(row.sha256)
    return tables_of(path.read_bytes(), row.name) if path.exists() else []


def taught_or_guessed(row: Upload, table: Any) -> dict[str, list[str]]:
    """What the columns of a table mean, as taught, else as guessed."""
    kept = meaning_of(row.owner, table)
    return kept.meaning() if kept else guessed(table)


def _cards(request: HttpRequest, page: Any) -> dict[str, Any]:
    books = Books.now(request.user)
    cards = [
        {
            "run": run,
            "offered": suggestion(run, books),
            "waits": run.status == RunStatus.TO_CONFIRM and may_change(request.user, run),
        }
        for run in page
    ]
    return {"page": page, "cards": cards, "any_waits": any(card["waits"] for card in cards)} | name_choices(
        request.user
    )
