"""Write docs/accuracy.json and the tables of docs/accuracy.md: the engine held against every shipped measurement."""

import csv
import gzip
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from roofline.validation.accuracy import as_markdown, record
from roofline.validation.report import COLUMNS
from roofline.validation.residuals import Residual

START, END = "<!-- tables: begin -->", "<!-- tables: end -->"


def write_compared(path: Path, compared: Mapping[str, Sequence[Residual]]) -> None:
    """The compared figures of training and serving runs, gzipped without a date so that the file is reproducible."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("kind", *COLUMNS))
    for kind in ("training", "inference"):
        for residual in compared[kind]:
            figures = (f"{getattr(residual, name):.6g}" for name in COLUMNS[2:])
            writer.writerow((kind, residual.id, residual.quantity, *figures))
    path.write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))


def replace_tables(text: str, tables: str) -> str:
    """`text` with new tables between its two marks."""
    head, _, rest = text.partition(START)
    return f"{head}{START}\n\n{tables}\n{END}{rest.partition(END)[2]}"


class Command(BaseCommand):
    """`manage.py accuracy`"""

    help = "Validates on all shipped tables and writes docs/accuracy.json, docs/accuracy.md and the compared figures."

    def handle(self, *args: Any, **options: Any) -> None:
        docs = Path(settings.BASE_DIR) / "docs"
        body, compared = record()
        (docs / "accuracy.json").write_text(json.dumps(body, indent=1, allow_nan=False) + "\n", encoding="utf-8")
        page = docs / "accuracy.md"
        page.write_text(replace_tables(page.read_text(encoding="utf-8"), as_markdown(body)), encoding="utf-8")
        write_compared(Path(settings.BASE_DIR) / "roofline" / "data" / "compared.csv.gz", compared)
        self.stdout.write(as_markdown(body))
