"""Acts on uploads and runs: keep the bytes, parse and store in one transaction, confirm."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from benchmarks_ingest import storage
from benchmarks_ingest.ceilings import ceiling_check
from benchmarks_ingest.mappings import remembered
from benchmarks_ingest.models import MeasuredRun, RunFigure, RunStatus, Upload
from benchmarks_ingest.parsers import FileReport, read
from benchmarks_ingest.resolving import Books
from benchmarks_ingest.rows import refusal_lines, row_settle, run_row, with_runs
from benchmarks_ingest.selectors import known_fingerprints, may_change
from jobs.services import job_create

PARSE, COMPARE = "upload", "compare"
BATCH = 500


def upload_create(*, owner: Any, chunks: Iterable[bytes], name: str, key: str = "") -> tuple[Upload, bool]:
    """Keep the bytes and start reading them; returns the upload and whether it is new.

    The same bytes, and the same idempotency key, give the upload of the first time. ValidationError for an empty
    file, one that is too large, and a key that was used for other bytes.
    """
    owner = person(owner)
    kept = storage.bytes_keep(chunks)
    try:
        known = _known(owner, kept.sha256, key)
    except ValidationError:
        _bytes_drop(kept.sha256)
        raise
    if known:
        return known, False
    try:
        with transaction.atomic():
            upload = Upload(
                owner=owner, sha256=kept.sha256, size=kept.size, name=_name(name), idempotency_key=key[:200]
            )
            upload.job = job_create(kind=PARSE, payload={"upload": str(upload.pk)}, total=1, owner=owner)
            upload.save(force_insert=True)
    except IntegrityError:  # another request kept the same bytes in this moment
        return Upload.objects.get(owner=owner, sha256=kept.sha256), False
    return upload, True


def upload_again(*, user: Any, upload: Upload) -> None:
    """Read the kept bytes anew, as after a change of the column mapping: runs that nobody confirmed are replaced."""
    _must_change(user, upload)
    with transaction.atomic():
        upload.job = job_create(kind=PARSE, payload={"upload": str(upload.pk)}, total=1, owner=upload.owner)
        upload.save(update_fields=["job"])


def person(user: Any) -> Any:
    """The user, or None for nobody."""
    return user if getattr(user, "is_authenticated", False) else None


def _known(owner: Any, sha256: str, key: str) -> Upload | None:
    if key:
        same_key = Upload.objects.filter(owner=owner, idempotency_key=key[:200]).first()
        if same_key and same_key.sha256 != sha256:
            reused = ValidationError(_("This key was used for another file."), code="key_reused")
            raise ValidationError({"Idempotency-Key": reused})
    return Upload.objects.filter(owner=owner, sha256=sha256).first()


def _name(name: str) -> str:
    """A file's own name without folders that climb out; never empty."""
    parts = [part for part in name.replace("\\", "/").split("/") if part not in ("", ".", "..")]
    return "/".join(parts)[-300:].replace("\0", "") or "upload"


def upload_reports(upload: Upload, data: bytes, name: str = "", seen: set[str] | None = None) -> list[FileReport]:
    """What the parsers say of an upload's bytes, with the column meanings that its owner taught."""
    check = ceiling_check(Books.now(upload.owner))
    found = remembered(upload.owner, data, name or upload.name, check)
    return found or read(data, name or upload.name, limits=storage.limits(), ceiling=check, seen=seen)


@dataclass(frozen=True)
class Parsed:
    """Rows to store, not yet in the database."""

    runs: list[MeasuredRun]
    refusals: list[dict[str, Any]]


def upload_parse(upload: Upload, reports: Sequence[FileReport]) -> Parsed:
    """Rows of the reports; a run that an earlier upload of the same owner holds is a duplicate."""
    books, held = Books.now(upload.owner), with_runs(reports)
    prints = [report.run.fingerprint() for report in held if report.run]
    twins = known_fingerprints(upload, prints)
    runs = [
        run_row(report, upload, place, books, prints[place], twin=prints[place] in twins)
        for place, report in enumerate(held)
    ]
    return Parsed(runs, refusal_lines(reports))


def upload_store(upload: Upload, parsed: Parsed) -> None:
    """Write all rows of an upload, in the caller's transaction; confirmed runs of an earlier reading stay."""
    kept = dict(
        upload.runs.filter(status=RunStatus.CONFIRMED, confirmed_by__isnull=False).values_list("fingerprint", "pk")
    )
    upload.runs.exclude(pk__in=kept.values()).delete()
    new = [run for run in parsed.runs if run.fingerprint not in kept]
    MeasuredRun.objects.bulk_create(new, batch_size=BATCH)
    upload.refusals, upload.run_count = parsed.refusals, len(new) + len(kept)
    upload.save(update_fields=["refusals", "run_count"])
    runs_compare_later([run.pk for run in new if run.status == RunStatus.CONFIRMED], owner=upload.owner)


def runs_compare_later(keys: Sequence[int], *, owner: Any) -> None:
    """Have runs predicted in the background."""
    if keys:
        job_create(kind=COMPARE, payload={"runs": list(keys)}, total=len(keys), owner=owner)


def runs_confirm(
    *, user: Any, runs: Sequence[MeasuredRun], given: Mapping[str, Any] | None = None
) -> list[MeasuredRun]:
    """Confirm runs as they are suggested, or with the model, GPU and count that are given; predictions follow.

    ValidationError names what is missing or in no catalogue, and then none is confirmed; PermissionDenied for runs
    of others.
    """
    books, values = Books.now(user), {key: value for key, value in (given or {}).items() if value not in (None, "")}
    for run in runs:
        _must_change(user, run)
    confirmed = [_confirmed(run, user, values, books) for run in runs]
    with transaction.atomic():
        MeasuredRun.objects.bulk_create(  # an upsert: a bulk update of ten thousand rows takes a minute
            confirmed, batch_size=BATCH, update_conflicts=True, unique_fields=["id"], update_fields=CONFIRMED_FIELDS
        )
        runs_compare_later([run.pk for run in confirmed], owner=person(user))
    return confirmed


CONFIRMED_FIELDS = [
    *(
        "model",
        "gpu",
        "gpu_count",
        "status",
        "reason",
        "confirmed_at",
        "confirmed_by",
        "warnings",
        "impossible",
        "data",
    ),
    *("workload", "engine", "architecture", "precision", "load", "compared_at", "problem"),
]
OVERRIDES = ("engine", "weights", "tp", "input_tokens", "output_tokens", "concurrency", "seq_len")


def _confirmed(run: MeasuredRun, user: Any, given: Mapping[str, Any], books: Books) -> MeasuredRun:
    from benchmarks_ingest.rows import suggestion

    if run.reference or run.status == RunStatus.DUPLICATE:
        raise ValidationError({"runs": [_("Run %(id)d is not one to confirm.") % {"id": run.pk}]})
    offered = suggestion(run, books)
    faults: dict[str, list[str]] = {}
    for name, find in (("model", books.model_name), ("gpu", books.gpu_slug)):
        value = find(str(given[name])) if name in given else offered[name]
        if not value:
            faults[name] = [_("Run %(id)d: choose a %(what)s of the catalogue.") % {"id": run.pk, "what": name}]
        setattr(run, name, value)
    run.gpu_count = _count(given.get("gpu_count", offered["gpu_count"]), faults, run)
    if faults:
        raise ValidationError(faults)
    run.data = run.data | {name: given[name] for name in OVERRIDES if name in given}
    row_settle(run, run.canonical(), books)
    run.status, run.reason, run.problem, run.compared_at = RunStatus.CONFIRMED, "", "", None
    run.confirmed_at, run.confirmed_by = timezone.now(), person(user)
    return run


def _count(value: Any, faults: dict[str, list[str]], run: MeasuredRun) -> int | None:
    try:
        count = int(value)
    except (TypeError, ValueError):
        count = 0
    if not 1 <= count <= 200_000:
        faults["gpu_count"] = [_("Run %(id)d: give the number of GPUs, 1 to 200,000.") % {"id": run.pk}]
        return None
    return count


def run_use(*, user: Any, run: MeasuredRun, usable: bool) -> None:
    """Let a run take part in calibrations, or leave it out."""
    _must_change(user, run)
    run.usable = usable
    run.save(update_fields=["usable"])


def upload_delete(*, user: Any, upload: Upload) -> None:
    """Remove an upload with its runs and figures; the bytes stay where another upload has the same."""
    _must_change(user, upload)
    upload.delete()
    _bytes_drop(upload.sha256)


def _bytes_drop(sha256: str) -> None:
    """Forget bytes that no upload holds."""
    if not Upload.objects.filter(sha256=sha256).exists():
        storage.path_of(sha256).unlink(missing_ok=True)


def figures_store(run_ids: Sequence[int], figures: Sequence[RunFigure], problems: Mapping[int, str]) -> None:
    """Write the figures of these runs anew, in the caller's transaction."""
    RunFigure.objects.filter(run_id__in=run_ids).delete()
    RunFigure.objects.bulk_create(figures, batch_size=BATCH)
    MeasuredRun.objects.filter(pk__in=run_ids).update(compared_at=timezone.now(), problem="")
    for key, problem in problems.items():
        MeasuredRun.objects.filter(pk=key).update(problem=problem[:500])


def _must_change(user: Any, row: Upload | MeasuredRun) -> None:
    if not may_change(user, row):
        raise PermissionDenied(_("Only its owner may change this."))
