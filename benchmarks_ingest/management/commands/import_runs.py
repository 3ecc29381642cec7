"""Read and store benchmark result files, folders and archives; print one JSON line a run or refusal."""

import json
import os
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from benchmarks_ingest.importing import can_store, file_import
from benchmarks_ingest.parsers import FileReport, read
from benchmarks_ingest.storage import limits

NO_SUCH_FILE = "no such file"
Reader = Callable[..., list[FileReport]]


class Command(BaseCommand):
    """`manage.py import_runs [--dry-run] [--user NAME] FILE …`"""

    help = (
        "Read benchmark result files (or folders, zip, tar), store their runs and print one JSON line for each run found "
        "or file refused. The same files again change nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The paths to read, and whose the runs become."""
        parser.add_argument(
            "paths", nargs="+", metavar="FILE", help="a result file, a folder of them, or a zip or tar archive"
        )
        parser.add_argument("--dry-run", action="store_true", help="only read and print")
        parser.add_argument("--user", help="whose runs they become; left out: everyone's")

    def handle(self, *args: Any, **options: Any) -> None:
        """Exit status 1 when a path does not exist; refused files are an answer, no failure."""
        store = not options["dry_run"] and self._can_store()
        reader: Reader = partial(self._stored, owner=_owner(options["user"])) if store else _read_only
        seen: set[str] = set()
        missing = False
        for given in options["paths"]:
            for report in path_reports(Path(given), reader, seen):
                missing = missing or report.reason == NO_SUCH_FILE
                self.stdout.write(json.dumps(report.to_json(), allow_nan=False))
        if missing:
            raise SystemExit(1)

    def _stored(self, *, owner: Any, data: bytes, name: str, seen: set[str]) -> list[FileReport]:
        """The reports of a file that is stored; what cannot be stored is still read and printed."""
        before = set(seen)
        try:
            return file_import(owner=owner, data=data, name=name, seen=seen)
        except (DatabaseError, OSError) as error:
            self.stderr.write(f"{name} could not be stored: {error}")
            seen.clear()
            seen.update(before)
            return _read_only(data=data, name=name, seen=seen)

    def _can_store(self) -> bool:
        if can_store():
            return True
        self.stderr.write(
            "The database does not answer or has no tables yet (manage.py migrate makes them): nothing is stored."
        )
        return False


def _owner(name: str | None) -> Any:
    if not name:
        return None
    from accounts.models import User

    owner = User.objects.filter(username=name).first()
    if owner is None:
        raise CommandError(f"There is no user {name}.")
    return owner


def _read_only(*, data: bytes, name: str, seen: set[str]) -> list[FileReport]:
    return read(data, name, limits=limits(), seen=seen)


def path_reports(path: Path, reader: Reader, seen: set[str]) -> Iterator[FileReport]:
    """Reports of a file, or of every file below a folder in the order of their names."""
    if path.is_dir():
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(names):
                yield from file_reports(Path(folder, name), reader, seen)
    elif path.exists():
        yield from file_reports(path, reader, seen)
    else:
        yield FileReport(str(path), "refused", None, NO_SUCH_FILE)


def file_reports(path: Path, reader: Reader, seen: set[str]) -> list[FileReport]:
    """Reports of one file; its size is looked at before its bytes."""
    try:
        if not path.is_file():
            return [FileReport(str(path), "refused", None, "not a regular file")]
        size, most = path.stat().st_size, limits().max_bytes
        if size > most:
            reason = f"the file has {size / 2**20:.0f} MB, more than the limit of {most // 2**20} MB"
            return [FileReport(str(path), "refused", None, reason)]
        return reader(data=path.read_bytes(), name=str(path), seen=seen)
    except OSError as error:
        return [FileReport(str(path), "refused", None, f"cannot be read: {error.strerror}")]
