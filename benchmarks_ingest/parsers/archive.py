"""Zip and tar archives of result files, unpacked in memory under limits."""

import io
import lzma
import posixpath
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator

MAX_RATIO = 1000
# What the layers below raise on damaged bytes.
ARCHIVE_FAULTS = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
    LookupError,
)


class ArchiveError(ValueError):
    """An archive that is refused whole; the message says why."""


def is_archive(data: bytes, name: str) -> bool:
    """Whether the bytes are a zip (no spreadsheet) or a tar, plain or gzipped."""
    if data[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return b"xl/workbook" not in data
    return data[257:262] == b"ustar" or (data[:2] == b"\x1f\x8b" and _holds_tar(data))


def _holds_tar(data: bytes) -> bool:
    try:
        return zlib.decompressobj(wbits=31).decompress(data, 512)[257:262] == b"ustar"
    except zlib.error:
        return False


def members(data: bytes, *, max_bytes: int, max_members: int) -> Iterator[tuple[str, bytes]]:
    """Each file's name and content, in order. Raises ArchiveError on a bomb, a path that climbs out, encryption or
    damage.
    """
    try:
        yield from (
            _zip_members(data, max_bytes, max_members)
            if data[:2] == b"PK"
            else _tar_members(data, max_bytes, max_members)
        )
    except ArchiveError:
        raise
    except ARCHIVE_FAULTS as error:
        raise ArchiveError(f"damaged archive: {error}") from error


def _zip_members(data: bytes, max_bytes: int, max_members: int) -> Iterator[tuple[str, bytes]]:
    budget = max_bytes
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        entries = [item for item in opened.infolist() if not item.is_dir()]
        _check_count(len(entries), max_members)
        for item in entries:
            name = safe_name(item.filename)
            if item.flag_bits & 1:
                raise ArchiveError(f"{name} is encrypted")
            if item.file_size > max(item.compress_size, 100) * MAX_RATIO:
                raise ArchiveError(
                    f"archive bomb: {name} unpacks to {item.file_size:,} bytes from {item.compress_size:,}"
                )
            if _is_junk(name):
                continue
            with opened.open(item) as handle:
                content = handle.read(budget + 1)
            budget = _spend(budget, content, max_bytes)
            yield name, content


def _tar_members(data: bytes, max_bytes: int, max_members: int) -> Iterator[tuple[str, bytes]]:
    budget = max_bytes
    count = 0
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz" if data[:2] == b"\x1f\x8b" else "r:") as opened:
        for item in opened:
            count += 1
            _check_count(count, max_members)
            name = safe_name(item.name)
            if not item.isfile() or _is_junk(name):
                continue
            if item.size > budget:
                raise ArchiveError(f"the archive unpacks to more than {max_bytes // 2**20} MB")
            handle = opened.extractfile(item)
            content = handle.read(budget + 1) if handle else b""
            budget = _spend(budget, content, max_bytes)
            yield name, content


def _check_count(count: int, limit: int) -> None:
    if count > limit:
        raise ArchiveError(f"more than {limit:,} files in one archive")


def _spend(budget: int, content: bytes, max_bytes: int) -> int:
    if len(content) > budget:
        raise ArchiveError(f"the archive unpacks to more than {max_bytes // 2**20} MB")
    return budget - len(content)


def _is_junk(name: str) -> bool:
    """What operating systems add: resource forks and folder settings."""
    return (
        name.startswith("__MACOSX/")
        or posixpath.basename(name) in {".DS_Store", "Thumbs.db"}
        or posixpath.basename(name).startswith("._")
    )


def safe_name(name: str) -> str:
    """The member's name. Raises ArchiveError where it is absolute or climbs out of the archive."""
    unified = name.replace("\\", "/")
    if unified.startswith("/") or ".." in unified.split("/") or (len(unified) > 1 and unified[1] == ":"):
        raise ArchiveError(f"unsafe path in the archive: {name[:100]}")
    return posixpath.normpath(unified)
