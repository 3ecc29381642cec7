"""Reports of the parsers as rows: what of a run is known in the catalogues, and what stays to be confirmed."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from benchmarks_ingest.ceilings import ceiling_warnings, is_ceiling
from benchmarks_ingest.models import MeasuredRun, RunStatus, Upload
from benchmarks_ingest.parsers import FileReport, Run
from benchmarks_ingest.precisions import weight_format
from benchmarks_ingest.resolving import Books
from benchmarks_ingest.scenarios import load_words, software_of, workload_of

MOST_GPUS = 200_000
MOST_EVIDENCE = 50  # keys of what a monitor saw


ODD_CHARACTERS = re.compile(r"\\u(?:0000|d[89ab])")  # as json.dumps writes NUL and surrogates


def storable(value: Any) -> Any:
    """JSON that every database keeps: no NUL, no half surrogate pair, no number that is not finite."""
    try:
        is_odd = ODD_CHARACTERS.search(json.dumps(value, allow_nan=False))
    except ValueError:
        is_odd = True  # type: ignore[assignment]
    return _cleaned(value) if is_odd else value


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("\0", "").encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_cleaned(str(key)): _cleaned(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def run_row(
    report: FileReport, upload: Upload, position: int, books: Books, fingerprint: str, *, twin: bool = False
) -> MeasuredRun:
    """The row of one report that holds a run; `twin` says that another file held the same run before."""
    run = report.run
    assert run is not None
    data = storable({key: value for key, value in run.to_json().items() if value is not None})
    row = MeasuredRun(
        upload=upload,
        owner_id=upload.owner_id,
        file=storable(report.file)[-500:],
        position=position,
        format=(report.format or "")[:60],
        fingerprint=fingerprint,
        data=data,
        label=(data.get("model") or "")[:300],
        warnings=storable(report.warnings),
        guesses=storable([guess.to_json() for guess in report.guesses]),
        evidence=storable(dict(list(report.evidence.items())[:MOST_EVIDENCE])),
        model=books.model_name(run.model),
        gpu=books.gpu_slug(run.gpu),
        gpu_count=run.gpu_count if run.gpu_count and run.gpu_count <= MOST_GPUS else None,
    )
    row_settle(row, run, books)
    _set_status(row, report, twin)
    return row


def row_settle(row: MeasuredRun, run: Run, books: Books) -> None:
    """Everything that follows from the data, the model and the hardware of a row."""
    row.workload = workload_of(row.data)
    row.engine = software_of(row.data, row.format)
    row.architecture = books.kind(row.model)
    row.precision = weight_format(run.weights, row.model or row.label)
    row.load = load_words(row.data)
    others = [warning for warning in row.warnings if not is_ceiling(warning)]
    ceilings = ceiling_warnings(run, books, row.gpu, row.model, row.gpu_count)
    row.warnings = [*others, *ceilings]
    row.impossible = bool(ceilings)


def _set_status(row: MeasuredRun, report: FileReport, twin: bool) -> None:
    if report.status == "duplicate" or twin:
        row.status = RunStatus.DUPLICATE
        row.reason = report.reason or _("The same run, figure for figure, is already stored from another file.")
    elif report.status == "to_confirm" or not (row.gpu and row.gpu_count and row.model):
        row.status = RunStatus.TO_CONFIRM
        row.reason = (report.reason or unknown_words(row))[:500]
        _suggest(row)
    else:
        row.status, row.confirmed_at = RunStatus.CONFIRMED, timezone.now()


def unknown_words(row: MeasuredRun) -> str:
    """What of a row is in no catalogue, as a sentence."""
    lacks = [
        words
        for missing, words in (
            (not row.model, _('the model "%(name)s"') % {"name": row.label or "?"}),
            (not row.gpu, _('the GPU "%(name)s"') % {"name": row.data.get("gpu") or "?"}),
            (not row.gpu_count, _("the number of GPUs")),
        )
        if missing
    ]
    return _("The catalogue does not tell: %(what)s.") % {"what": ", ".join(lacks)} if lacks else ""


def _suggest(row: MeasuredRun) -> None:
    """A guess for the number of GPUs where nothing else tells: one."""
    guessed = {guess["field"] for guess in row.guesses}
    if row.gpu_count is None and "gpu_count" not in guessed and row.data.get("kind") == "single_stream":
        row.guesses.append(
            {
                "field": "gpu_count",
                "value": 1,
                "reason": "single-stream tools run on one GPU as a rule",
                "confidence": 0.4,
            }
        )


def suggestion(row: MeasuredRun, books: Books) -> dict[str, Any]:
    """Model, GPU and count to offer for confirmation: what is known, else what was guessed."""
    guessed = {guess["field"]: guess["value"] for guess in row.guesses}
    return {
        "model": row.model or books.model_name(str(guessed.get("model") or "")),
        "gpu": row.gpu or books.gpu_slug(str(guessed.get("gpu") or "")),
        "gpu_count": row.gpu_count or guessed.get("gpu_count") or "",
    }


def refusal_lines(reports: Iterable[FileReport]) -> list[dict[str, Any]]:
    """What was refused, as it is kept with the upload."""
    return [
        storable({"file": report.file, "format": report.format, "reason": report.reason, "warnings": report.warnings})
        for report in reports
        if report.run is None
    ]


def with_runs(reports: Sequence[FileReport]) -> list[FileReport]:
    """The reports that hold a run."""
    return [report for report in reports if report.run is not None]
