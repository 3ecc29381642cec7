"""A CSV file in, with a preview first: what each line would do, or what is wrong with it. All lines, or none."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _
from rest_framework import serializers

from faces.exceptions import field_errors
from faces.twins import FORMULA

MOST_LINES = 5000
MOST_CHARACTERS = 5_000_000
DELIMITERS = ",;\t"


@dataclass(frozen=True)
class Importer:
    """How lines become rows: `serializer` checks and writes one, `find(line)` is the row that it changes, if any."""

    serializer: type[serializers.ModelSerializer]
    find: Callable[[Mapping[str, str]], Any]
    key: Sequence[str]  # columns that together name a row


@dataclass
class Line:
    """One line of the file: what it would do, or what is wrong with it."""

    number: int
    cells: dict[str, str]
    action: str = ""
    errors: dict[str, list[str]] = field(default_factory=dict)
    changes: list[tuple[str, Any, Any]] = field(default_factory=list)
    serializer: Any = None

    @property
    def complaints(self) -> list[tuple[str, str]]:
        """(column, sentence)."""
        return [(column, message) for column, messages in self.errors.items() for message in messages]


def read_table(text: str) -> list[tuple[int, dict[str, str]]]:
    """(line number, cells by column). Raises ValidationError for what is no table."""
    if len(text) > MOST_CHARACTERS or "\0" in text:
        raise ValidationError(_("This is no CSV text of at most 5 MB."))
    head = text.lstrip("\ufeff").lstrip()
    if head.startswith("<"):
        raise ValidationError(_("This is a web page, not a CSV file."))
    delimiter = max(DELIMITERS, key=head.partition("\n")[0].count)
    reader = csv.DictReader(io.StringIO(head), delimiter=delimiter, restkey="", strict=True)
    try:
        lines = [(reader.line_num, row) for row in reader if any(row.values())]
    except csv.Error as error:
        raise ValidationError(_("Line %(line)d: %(why)s") % {"line": reader.line_num, "why": error}) from error
    if not lines:
        raise ValidationError(_("The file needs a line of column names and at least one row."))
    if len(lines) > MOST_LINES:
        raise ValidationError(_("At most %(most)d rows at a time.") % {"most": MOST_LINES})
    return [(number, {str(key).strip(): value or "" for key, value in row.items()}) for number, row in lines]


def _check_columns(importer: Importer, columns: Sequence[str]) -> None:
    known = {name for name, made in importer.serializer().fields.items() if not made.read_only}
    tolerated = set(importer.serializer().fields)
    missing = [name for name in importer.key if name not in columns]
    unknown = [name for name in columns if name and name not in tolerated]
    if missing or unknown:
        raise ValidationError(
            [_("The column %(name)s is missing.") % {"name": name} for name in missing]
            + [_("There is no column %(name)s.") % {"name": name[:60]} for name in unknown]
            + [_("Columns: %(names)s.") % {"names": ", ".join(sorted(known))}]
        )


def _value(made: serializers.Field, text: str) -> Any:
    """A blank cell is "not known" where that can be said, else an empty text."""
    if text.startswith("'") and text[1:].startswith(FORMULA):
        return text[1:]
    return None if text == "" and made.allow_null else text


def _plan(importer: Importer, number: int, cells: dict[str, str], user: Any) -> Line:
    line = Line(number, cells)
    if "" in cells:
        line.errors["__all__"] = [_("There are more cells than columns.")]
        return line
    row = importer.find(cells)
    fields = importer.serializer().fields
    data = {name: _value(fields[name], text) for name, text in cells.items() if not fields[name].read_only}
    if row is None:
        data = {name: value for name, value in data.items() if value not in (None, "")}
    line.serializer = importer.serializer(row, data=data, partial=row is not None, context={"user": user})
    if line.serializer.is_valid():
        _describe(line, row)
    else:
        line.errors = field_errors(line.serializer.errors)
    return line


def _describe(line: Line, row: Any) -> None:
    if row is None:
        line.action = "new"
        return
    for name, value in line.serializer.validated_data.items():
        old = getattr(row, name)  # validated data are by attribute
        if old != value:
            line.changes.append((name, old, value))
    line.action = "change" if line.changes else "same"


def _twice(importer: Importer, lines: Sequence[Line]) -> Iterator[Line]:
    seen: set[tuple[str, ...]] = set()
    for line in lines:
        key = tuple(line.cells.get(name, "").strip().casefold() for name in importer.key)
        if key in seen:
            yield line
        seen.add(key)


def table_preview(importer: Importer, text: str, user: Any) -> list[Line]:
    """What the file would do, line by line. Raises ValidationError when it is no table of this catalogue."""
    table = read_table(text)
    _check_columns(importer, list(table[0][1]))
    lines = [_plan(importer, number, cells, user) for number, cells in table]
    for line in _twice(importer, lines):
        line.errors.setdefault(importer.key[0], []).append(_("An earlier line names the same row."))
    return lines


@transaction.atomic
def table_import(importer: Importer, text: str, user: Any) -> list[Line]:
    """Write the file, all lines or none. Raises ValidationError when any line is wrong."""
    lines = table_preview(importer, text, user)
    if any(line.errors for line in lines):
        raise ValidationError(_("Nothing was imported: some lines are wrong."))
    for line in lines:
        if line.action == "new":
            line.serializer.save(owner=user)
        elif line.action == "change":
            line.serializer.save()
    return lines
