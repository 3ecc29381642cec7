"""Read benchmark result files, folders and archives; print one JSON line a run or refusal."""

import json
import os
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from benchmarks_ingest.parsers import FileReport, Limits, read


class Command(BaseCommand):
    """`manage.py import_runs FILE …`"""

    help = (
        "Read benchmark result files (or folders, zip, tar) and print one JSON line for each run found or file refused."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The paths to read."""
        parser.add_argument(
            "paths", nargs="+", metavar="FILE", help="a result file, a folder of them, or a zip or tar archive"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Exit status 1 when a path does not exist; refused files are an answer, no failure."""
        limits = Limits()
        seen: set[str] = set()
        missing = False
        for given in options["paths"]:
            for report in path_reports(Path(given), limits, seen):
                missing = missing or report.reason == NO_SUCH_FILE
                self.stdout.write(json.dumps(report.to_json(), allow_nan=False))
        if missing:
            raise SystemExit(1)


NO_SUCH_FILE = "no such file"


def path_reports(path: Path, limits: Limits, seen: set[str]) -> Iterator[FileReport]:
    """Reports of a file, or of every file below a folder in the order of their names."""
    if path.is_dir():
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(names):
                yield from file_reports(Path(folder, name), limits, seen)
    elif path.exists():
        yield from file_reports(path, limits, seen)
    else:
        yield FileReport(str(path), "refused", None, NO_SUCH_FILE)


def file_reports(path: Path, limits: Limits, seen: set[str]) -> list[FileReport]:
    """Reports of one file; its size is looked at before its bytes."""
    try:
        if not path.is_file():
            return [FileReport(str(path), "refused", None, "not a regular file")]
        size = path.stat().st_size
        if size > limits.max_bytes:
            reason = f"the file has {size / 2**20:.0f} MB, more than the limit of {limits.max_bytes // 2**20} MB"
            return [FileReport(str(path), "refused", None, reason)]
        return read(path.read_bytes(), str(path), limits=limits, seen=seen)
    except OSError as error:
        return [FileReport(str(path), "refused", None, f"cannot be read: {error.strerror}")]
