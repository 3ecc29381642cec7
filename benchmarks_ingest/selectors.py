"""Reads: uploads and runs that a user may see, and figures aggregated in the database."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from benchmarks_ingest.models import MeasuredRun, RunStatus, Upload

LOOKED_UP_AT_ONCE = 500  # values of one IN (…)


def owned_or_shared(user: Any) -> Q:
    """A user's own rows and those of nobody. What people upload is never seen by others."""
    mine = Q(owner=None)
    return mine | Q(owner_id=user.pk) if getattr(user, "is_authenticated", False) else mine


def uploads_visible(user: Any) -> QuerySet[Upload]:
    """Uploads, newest first."""
    return Upload.objects.filter(owned_or_shared(user)).select_related("owner", "job")


def upload_get(*, user: Any, upload_id: UUID) -> Upload:
    """One upload; Upload.DoesNotExist where it is not there or not theirs."""
    return uploads_visible(user).get(pk=upload_id)


def runs_visible(user: Any) -> QuerySet[MeasuredRun]:
    """Runs: one's own, those of nobody, and the public reference runs."""
    return MeasuredRun.objects.filter(owned_or_shared(user)).select_related("upload", "owner")


def runs_to_confirm(user: Any) -> QuerySet[MeasuredRun]:
    """Runs that wait for this user: one's own, and for staff those of nobody."""
    rows = MeasuredRun.objects.filter(status=RunStatus.TO_CONFIRM).select_related("upload")
    if not getattr(user, "is_authenticated", False):
        return rows.none()
    return rows.filter(owned_or_shared(user)) if user.is_staff else rows.filter(owner=user)


def may_change(user: Any, row: Upload | MeasuredRun) -> bool:
    """Whether a user may change a row: its owner; staff where nobody owns it. Reference runs stay as published."""
    if getattr(row, "reference", False) or not getattr(user, "is_authenticated", False):
        return False
    return bool(user.is_staff) if row.owner_id is None else row.owner_id == user.pk


def known_fingerprints(upload: Upload, wanted: Iterable[str]) -> set[str]:
    """Which of these runs an earlier upload of the same owner holds."""
    keys, found = sorted(set(wanted)), set[str]()
    rows = MeasuredRun.objects.filter(owner_id=upload.owner_id, reference=False).exclude(upload_id=upload.pk)
    rows = rows.exclude(status=RunStatus.DUPLICATE)
    if upload.created:
        rows = rows.filter(upload__created__lt=upload.created)
    for start in range(0, len(keys), LOOKED_UP_AT_ONCE):
        part = rows.filter(fingerprint__in=keys[start : start + LOOKED_UP_AT_ONCE])
        found.update(part.values_list("fingerprint", flat=True))
    return found
