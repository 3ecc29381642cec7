"""Tables out of CSV text, Markdown and workbooks, with their oddities: comments, tabs, ragged rows, stacked tables."""

import csv
import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

csv.field_size_limit(2**24)
MAX_ROWS = 200_000
MAX_COLUMNS = 2_000
MAX_XLSX_BYTES = 200 * 2**20
# What the zip and XML layers below a workbook raise on damaged bytes.
WORKBOOK_FAULTS: tuple[type[Exception], ...] = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, OSError, EOFError, SyntaxError),
    *(KeyError, TypeError, AttributeError, IndexError, AssertionError, RuntimeError),
)


@dataclass
class Table:
    """A header and its rows, all text. `title` is a sheet's name or the heading above; `bad_rows` counts rows of
    another length.
    """

    header: list[str]
    rows: list[list[str]]
    title: str = ""
    delimiter: str = ","
    bad_rows: int = 0
    first_line: int = 1
    notes: list[str] = field(default_factory=list)

    def records(self) -> Iterator[dict[str, str]]:
        """Each row of the header's length as a dict; blank header cells are left out."""
        for row in self.rows:
            yield {name.strip(): cell.strip() for name, cell in zip(self.header, row, strict=False) if name.strip()}


def csv_tables(text: str) -> list[Table]:
    """The CSV tables of a text; blank lines separate stacked ones. Empty where the text is no CSV."""
    lines = [line for line in text.split("\n") if not line.lstrip().startswith("#")]
    sample = [line for line in lines if line.strip()][:30]
    delimiter = _delimiter(sample)
    if delimiter is None:
        return []
    try:
        rows = list(csv.reader(io.StringIO("\n".join(lines[:MAX_ROWS])), delimiter=delimiter))
    except csv.Error:
        return []
    return [_table(block, delimiter) for block in _blocks(rows) if len(block[0]) <= MAX_COLUMNS]


def _delimiter(sample: list[str]) -> str | None:
    """The separator of the header line, confirmed by the next line."""
    if not sample:
        return None
    head = sample[0]
    counts = {mark: head.count(mark) for mark in ("\t", ";", ",")}
    best = max(counts, key=lambda mark: counts[mark])
    return best if counts[best] else None


def _blocks(rows: list[list[str]]) -> Iterator[list[list[str]]]:
    block: list[list[str]] = []
    for row in rows:
        if any(cell.strip() for cell in row):
            block.append(row)
        elif len(block) == 1 and len(block[0]) > 2:
            continue  # a blank line below the header
        elif block:
            yield block
            block = []
    if block:
        yield block


def _table(block: list[list[str]], delimiter: str) -> Table:
    header, *rows = block
    good = [row for row in rows if len(row) == len(header) or _padded(row, header)]
    return Table(header, good, delimiter=delimiter, bad_rows=len(rows) - len(good))


def _padded(row: list[str], header: list[str]) -> bool:
    """Whether the difference in length is only empty cells at the end."""
    longer, shorter = (row, len(header)) if len(row) > len(header) else (header, len(row))
    return not any(cell.strip() for cell in longer[shorter:])


def markdown_tables(text: str) -> list[Table]:
    """The pipe tables of a text, each with the nearest heading and the line above it as title."""
    lines = text.split("\n")
    tables: list[Table] = []
    title = caption = ""
    index = 0
    while index < len(lines):
        line = lines[index]
        if line.lstrip().startswith(("#", "**")):
            title = line.strip(" #*")
        elif line.strip() and "|" not in line:
            caption = line.strip()[:200]
        if "|" in line and index + 1 < len(lines) and _is_separator(lines[index + 1]):
            end = _table_end(lines, index + 2)
            header = split_pipes(line)
            rows = [split_pipes(row) for row in lines[index + 2 : end]]
            good = [row for row in rows if len(row) == len(header)]
            heading = f"{title[:100]}: {caption}" if caption else title[:100]
            tables.append(Table(header, good, heading, "|", len(rows) - len(good), index + 1))
            caption = ""
            index = end
        else:
            index += 1
    return tables


def _is_separator(line: str) -> bool:
    return "|" in line and "-" in line and set(line) <= set("|-: \t")


def _table_end(lines: list[str], index: int) -> int:
    while index < len(lines) and "|" in lines[index] and lines[index].strip():
        index += 1
    return index


def split_pipes(line: str) -> list[str]:
    """Cells of a Markdown table line."""
    return [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]


def xlsx_tables(data: bytes) -> list[Table]:
    """Each sheet of a workbook as one table. Raises ValueError on a damaged or oversized workbook."""
    from openpyxl import load_workbook  # imported late: it is slow to import and rarely needed

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(item.file_size for item in archive.infolist()) > MAX_XLSX_BYTES:
                raise ValueError("the workbook unpacks to more than 200 MB")
        book = load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        return [table for sheet in book.worksheets for table in _sheet(sheet)]
    except WORKBOOK_FAULTS as error:
        raise ValueError(f"damaged workbook: {error}") from error


def _sheet(sheet: Any) -> Iterator[Table]:
    rows = []
    for row in sheet.iter_rows(values_only=True):
        rows.append(["" if cell is None else str(cell) for cell in row[:200]])
        if len(rows) >= MAX_ROWS:
            break
    for block in _blocks(rows):
        yield Table(block[0], block[1:], title=sheet.title, delimiter="xlsx")
