"""Brings shipped rows up to date without touching what people changed."""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from django.db import models
from simple_history.utils import bulk_create_with_history, bulk_update_with_history

REASON = "shipped"


def csv_rows(path: Path) -> Iterator[dict[str, str]]:
    """The rows of a shipped table."""
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def cell(model: type[models.Model], column: str, text: str) -> Any:
    """A cell as its column's type; a blank number or date is unknown, a blank text is empty."""
    field: Any = model._meta.get_field(column)
    return None if text == "" and field.null else field.to_python(text.strip())


def _edited_by_people(model: Any, key: str) -> set[Any]:
    return set(model.history.exclude(history_user=None).values_list(key, flat=True))


def _differs(old: models.Model, new: models.Model, columns: Sequence[str]) -> bool:
    return any(getattr(old, column) != getattr(new, column) for column in columns)


def shipped_rows_update(model: Any, key: str, rows: Sequence[models.Model], columns: Sequence[str]) -> None:
    """Add new rows and update changed ones (found by `key`), each with a line in its history; people's edits stay."""
    known = {getattr(row, key): row for row in model.objects.all()}
    kept = _edited_by_people(model, key)
    changed = []
    for row in rows:
        old = known.get(getattr(row, key))
        if old and getattr(row, key) not in kept and _differs(old, row, columns):
            row.pk = old.pk
            changed.append(row)
    new = [row for row in rows if getattr(row, key) not in known]
    bulk_create_with_history(new, model, default_change_reason=REASON)
    bulk_update_with_history(changed, model, [*columns], default_change_reason=REASON)
