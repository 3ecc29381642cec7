"""What people taught about the columns of hand-kept tables: found again by the header, applied to the next file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from benchmarks_ingest.models import ColumnMapping
from benchmarks_ingest.parsers import Document, FileReport, Run
from benchmarks_ingest.parsers.canonical import COUNT_FIELDS, FIELD_NAMES, RESULT_FIELDS, TEXT_FIELDS
from benchmarks_ingest.parsers.checks import check
from benchmarks_ingest.parsers.columns import Column, uses_decimal_comma
from benchmarks_ingest.parsers.decode import UnreadableError, read_document
from benchmarks_ingest.parsers.formats.hand_kept import HandKeptJson, row_run
from benchmarks_ingest.parsers.guess import guesses
from benchmarks_ingest.parsers.mapping import mapping, resolved, upright
from benchmarks_ingest.parsers.registry import registry
from benchmarks_ingest.parsers.tables import Table

PREFIX = "hand-kept"
UNITS = ("", "s", "ms", "tok/s", "req/s", "%", "GiB")
# What a column may be, in the order of the choice.
MEANINGS = (
    *(name for name in TEXT_FIELDS if name not in ("kind", "dataset")),
    *COUNT_FIELDS,
    *("input_tokens", "output_tokens", "concurrency", "request_rate_per_s", "duration_s"),
    *RESULT_FIELDS,
    "peak_memory_bytes",
)


def signature(header: Sequence[str]) -> str:
    """The same for headers that differ in case and blanks alone."""
    words = [" ".join(label.lower().split()) for label in header]
    return hashlib.sha256(json.dumps(words).encode()).hexdigest()


def tables_of(data: bytes, name: str) -> list[Table]:
    """The tables of a hand-kept file, each with its real header first; empty for any other format."""
    try:
        document = read_document(data, name, len(data) * 20 + 2**20)
        parser = registry().best(document)
    except (UnreadableError, ValueError):
        return []
    if parser is not None and not parser.format.startswith(PREFIX):
        return []
    return [upright(table) for table in _raw_tables(document, parser.format if parser else "")]


def _raw_tables(document: Document, format_name: str) -> list[Table]:
    if format_name == HandKeptJson.format or document.is_json:
        return []
    found = document.markdown if format_name == "hand-kept-md-table" else document.tables
    return [table for table in found if len(table.header) > 1 and table.rows]


def guessed(table: Table) -> dict[str, list[str]]:
    """label -> [field, unit] as it is guessed."""
    comma = uses_decimal_comma(table.rows, table.delimiter)
    return {column.label: [column.field, column.unit] for column in resolved(mapping(table), table, comma)}


def meaning_of(owner: Any, table: Table) -> ColumnMapping | None:
    """What the owner taught about this header."""
    return ColumnMapping.objects.filter(owner=owner, signature=signature(table.header)).first()


def mapping_keep(*, owner: Any, table: Table, columns: Mapping[str, Sequence[str]]) -> ColumnMapping:
    """Remember the meaning of a header's columns: label -> [field, unit]; unknown fields and units are left out."""
    known = {
        label: [field, unit if unit in UNITS else ""]
        for label, (field, unit) in columns.items()
        if label in table.header and field in FIELD_NAMES
    }
    kept, _made = ColumnMapping.objects.update_or_create(
        owner=owner, signature=signature(table.header), defaults={"header": list(table.header), "columns": known}
    )
    return kept


def columns_of(table: Table, meaning: Mapping[str, Sequence[str]]) -> list[Column]:
    """The columns of a table by their taught meaning."""
    return [
        Column(place, label, meaning[label][0], meaning[label][1], 1.0)
        for place, label in enumerate(table.header)
        if label in meaning
    ]


def mapped_runs(table: Table, meaning: Mapping[str, Sequence[str]]) -> Iterator[Run | str]:
    """Each row as a run, or why it holds none."""
    comma, columns = uses_decimal_comma(table.rows, table.delimiter), columns_of(table, meaning)
    for row in table.rows:
        yield row_run(row, columns, comma, table)


def remembered(owner: Any, data: bytes, name: str, ceiling: Callable[[Run], list[str]]) -> list[FileReport]:
    """Reports of a hand-kept file all of whose tables the owner taught; empty where one is not known."""
    if owner is None or not ColumnMapping.objects.filter(owner=owner).exists():
        return []
    tables = tables_of(data, name)
    taught = [meaning_of(owner, table) for table in tables]
    if not tables or not all(taught):
        return []
    return [
        _report(outcome, name, place, ceiling)
        for table, kept in zip(tables, taught, strict=True)
        for place, outcome in enumerate(mapped_runs(table, kept.meaning() if kept else {}), 1)
    ]


def _report(outcome: Run | str, name: str, place: int, ceiling: Callable[[Run], list[str]]) -> FileReport:
    if isinstance(outcome, str):
        return FileReport(name, "refused", f"{PREFIX}-csv", f"row {place}: {outcome}")
    report = FileReport(name, "stored", f"{PREFIX}-csv", "", check(outcome, ceiling), outcome)
    report.guesses = guesses(outcome, name, outcome.context)
    if not outcome.hardware_stated():
        report.status, report.reason = "to_confirm", "the table does not state the GPU and how many"
    return report
