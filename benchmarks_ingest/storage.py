"""Raw bytes of uploads, kept under their SHA-256 in the data folder."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from benchmarks_ingest.parsers import Limits


@dataclass(frozen=True)
class Kept:
    """Bytes that are kept."""

    sha256: str
    size: int


def limits() -> Limits:
    """What one upload may hold, by the settings."""
    return Limits(
        max_bytes=settings.ROOFTREE_MAX_FILE_BYTES,
        max_unpacked_bytes=settings.ROOFTREE_MAX_UNPACKED_BYTES,
        max_runs=settings.ROOFTREE_MAX_RUNS,
    )


def path_of(sha256: str) -> Path:
    """Where these bytes lie."""
    return Path(settings.MEDIA_ROOT) / sha256[:2] / sha256


def bytes_keep(chunks: Iterable[bytes]) -> Kept:
    """Write chunk by chunk and hash on the way; the file appears whole. ValidationError over the limit, or when empty."""
    root = Path(settings.MEDIA_ROOT)
    root.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=root, prefix=".part-")
    try:
        with os.fdopen(handle, "wb") as file:
            kept = _copy(chunks, file)
        target = path_of(kept.sha256)
        target.parent.mkdir(exist_ok=True)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return kept


def bytes_read(sha256: str) -> bytes:
    """The bytes with this hash."""
    return path_of(sha256).read_bytes()


def _copy(chunks: Iterable[bytes], file: object) -> Kept:
    digest, size, most = hashlib.sha256(), 0, settings.ROOFTREE_MAX_FILE_BYTES
    for chunk in chunks:
        size += len(chunk)
        if size > most:
            message = _("The file is larger than %(most)d MB, the most that is read.") % {"most": most // 2**20}
            raise ValidationError({"file": ValidationError(message, code="too_large")})
        digest.update(chunk)
        file.write(chunk)  # type: ignore[attr-defined]
    if not size:
        raise ValidationError({"file": ValidationError(_("The file is empty: it has 0 bytes."), code="empty")})
    return Kept(digest.hexdigest(), size)
