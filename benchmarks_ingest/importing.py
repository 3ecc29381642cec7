"""Files from disk, read in the foreground and stored at once: what the command does."""

from __future__ import annotations

import hashlib
from typing import Any

from django.db import DatabaseError, connection, transaction

from benchmarks_ingest import storage
from benchmarks_ingest.models import MeasuredRun, RunStatus, Upload
from benchmarks_ingest.parsers import FileReport
from benchmarks_ingest.rows import with_runs
from benchmarks_ingest.selectors import known_fingerprints
from benchmarks_ingest.services import upload_parse, upload_reports, upload_store

REPEATED = "the same run, figure for figure, is already stored from another file"


def can_store() -> bool:
    """Whether the database answers and has the tables."""
    try:
        tables = connection.introspection.table_names()
    except DatabaseError:
        return False
    return MeasuredRun._meta.db_table in tables and Upload._meta.db_table in tables


def file_import(*, owner: Any, data: bytes, name: str, seen: set[str]) -> list[FileReport]:
    """Reports of one file, which is stored unless its bytes are already: then they are what they were the first time.

    `seen` holds the fingerprints that this call and those before it met.
    """
    upload = Upload.objects.filter(owner=owner, sha256=hashlib.sha256(data).hexdigest()).first()
    if upload:
        return _known(upload, data, name, seen)
    fresh = Upload(owner=owner, name=name[-300:], size=len(data))
    reports = upload_reports(fresh, data, name, seen)
    if with_runs(reports):
        _keep(fresh, data, reports)
    return reports


def _keep(upload: Upload, data: bytes, reports: list[FileReport]) -> None:
    upload.sha256 = storage.bytes_keep([data]).sha256
    parsed = upload_parse(upload, reports)
    for report, row in zip(with_runs(reports), parsed.runs, strict=True):
        if row.status == RunStatus.DUPLICATE and report.status != "duplicate":
            report.status, report.reason = "duplicate", REPEATED
    with transaction.atomic():
        upload.save(force_insert=True)
        upload_store(upload, parsed)


def _known(upload: Upload, data: bytes, name: str, seen: set[str]) -> list[FileReport]:
    """A file that is stored: only runs that an earlier upload, or this call, has in another file are duplicates."""
    reports = upload_reports(upload, data, name, seen)
    held = with_runs(reports)
    twins = known_fingerprints(upload, {report.run.fingerprint() for report in held if report.run})
    for report in held:
        if report.run and report.run.fingerprint() in twins and report.status != "duplicate":
            report.status, report.reason = "duplicate", REPEATED
    return reports
