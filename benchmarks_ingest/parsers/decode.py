"""From bytes to a readable document: gzip, BOM, CRLF, ANSI, spreadsheets, broken JSON, tables. Tolerant here,
strict in the parsers.
"""

import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from .tables import Table, csv_tables, markdown_tables, xlsx_tables

HEAD_CHARS = 65_536
MAX_LINE_CHARS = 30_000_000
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\n]*\x07")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_HTML = re.compile(r"\s*(?:<!--.*?-->\s*)*<(?:!doctype html|html)\b", re.IGNORECASE | re.DOTALL)
_RANK = re.compile(r"^(?:\[(?:default|rank)?\d+\]:?|\d{1,5}:)\s?", re.MULTILINE)
_JSON_TEXT = re.compile(r'\{\s*["}]|\[\s*[\[{\]]')
_JSON_START = re.compile(r"^[ \t]*[{\[]", re.MULTILINE)
_MAX_RESYNCS = 50

MAGIC = (
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3", "an SQLite database"),
    (b"PAR1", "a Parquet file"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"BZh", "a bzip2 file"),
    (b"\xfd7zXZ", "an xz file"),
    (b"(\xb5/\xfd", "a zstd file"),
    (b"\xd0\xcf\x11\xe0", "an old Office file"),
)


class UnreadableError(ValueError):
    """The bytes are no text that a benchmark tool writes; the message says what they are."""


@dataclass
class Document:
    """One file, decoded once and shared by all parsers. `name` is its path as given, folders included."""

    name: str
    data: bytes
    text: str = ""
    is_xlsx: bool = False
    notes: list[str] = field(default_factory=list)

    @cached_property
    def head(self) -> str:
        """The first characters: enough to recognise a format."""
        return self.text[:HEAD_CHARS]

    @property
    def basename(self) -> str:
        """The file's own name without folders."""
        return self.name.replace("\\", "/").rsplit("/", 1)[-1]

    @cached_property
    def is_json(self) -> bool:
        """Whether the text begins as JSON does."""
        return _JSON_TEXT.match(self.head.lstrip()) is not None and bool(self.values)

    @cached_property
    def values(self) -> list[Any]:
        """All top-level JSON objects and lists in the text, in order; broken pieces are skipped and noted."""
        values, broken = json_values(self.text)
        if broken and values and _JSON_TEXT.match(self.head.lstrip()):
            self.notes.append(f"{broken} piece(s) of broken or truncated JSON skipped")
        return values

    @cached_property
    def is_broken_json(self) -> bool:
        """Whether the text begins as JSON, but holds no whole object."""
        return not self.values and _JSON_TEXT.match(self.head.lstrip()) is not None

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """The top-level JSON objects, those inside top-level lists included."""
        return [
            item
            for value in self.values
            for item in (value if isinstance(value, list) else [value])
            if isinstance(item, dict)
        ]

    @cached_property
    def first(self) -> dict[str, Any]:
        """The first JSON object, or an empty one."""
        return self.records[0] if self.records else {}

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the text, without rank prefixes such as "[default0]:" or "0: "."""
        return _RANK.sub("", self.text).split("\n")

    @cached_property
    def tables(self) -> list[Table]:
        """CSV tables (several where blank lines separate them) or the sheets of a workbook."""
        return xlsx_tables(self.data) if self.is_xlsx else csv_tables(self.text)

    @cached_property
    def markdown(self) -> list[Table]:
        """Pipe tables of a Markdown text."""
        return markdown_tables(self.text)

    @cached_property
    def header(self) -> list[str]:
        """The first CSV table's header cells, lower-cased; empty for other text."""
        return [cell.strip().lower() for cell in self.tables[0].header] if self.tables else []

    def search(self, pattern: str) -> "re.Match[str] | None":
        """A regular expression searched in the whole text, line starts matching ^."""
        return re.search(pattern, self.text, re.MULTILINE)


def read_document(data: bytes, name: str, max_unpacked: int = 200 * 2**20) -> Document:
    """Decode bytes to a Document. Raises UnreadableError with a sentence that says why it cannot be."""
    if not data:
        raise UnreadableError("the file is empty (0 bytes)")
    notes: list[str] = []
    if data[:2] == b"\x1f\x8b":
        data = gunzip(data, max_unpacked, notes)
    if data[:4] == b"PK\x03\x04" and b"xl/workbook" in data:
        return Document(name, data, is_xlsx=True, notes=notes)
    if data[:2] == b"PK":
        raise UnreadableError("a zip archive inside another one is not opened")
    for magic, what in MAGIC:
        if data.startswith(magic):
            raise UnreadableError(f"binary file: {what}, not a benchmark result")
    text = _checked(_decoded(data, notes))
    return Document(name, data, _notebook_text(text) or text, notes=notes)


def _notebook_text(text: str) -> str:
    """The sources and outputs of a Jupyter notebook as plain text; empty for anything else."""
    if '"nbformat"' not in text or '"cells"' not in text:
        return ""
    try:
        cells = json.loads(text)["cells"]
        parts = [
            part
            for cell in cells
            for part in (cell.get("source"), *(output.get("text") for output in cell.get("outputs", [])))
            if part
        ]
        return "\n".join("".join(part) for part in parts)
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return ""


def gunzip(data: bytes, max_unpacked: int, notes: list[str]) -> bytes:
    """Unpacked gzip members; a truncated one is read as far as it goes and noted. Raises UnreadableError on a bomb or
    rubbish.
    """
    out: list[bytes] = []
    size = 0
    while data[:2] == b"\x1f\x8b":
        unpacker = zlib.decompressobj(wbits=31)
        try:
            piece = unpacker.decompress(data, max_unpacked - size + 1)
        except zlib.error as error:
            raise UnreadableError(f"damaged gzip file: {error}") from error
        out.append(piece)
        size += len(piece)
        if size > max_unpacked:
            raise UnreadableError(f"the gzip file unpacks to more than {max_unpacked // 2**20} MB")
        if not unpacker.eof:
            notes.append("the gzip file is truncated; its beginning was read")
        data = unpacker.unused_data
    if not size:
        raise UnreadableError("the gzip file is empty")
    return b"".join(out)


def _decoded(data: bytes, notes: list[str]) -> str:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", errors="replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return _not_utf8(data, notes)


def _not_utf8(data: bytes, notes: list[str]) -> str:
    readable = data.decode("utf-8", errors="replace")
    if readable.count("\ufffd") > max(3, len(data) // 200):
        if _CONTROL.search(data[:8192].decode("latin-1")):
            raise UnreadableError("binary file: not text of any known encoding")
        readable = data.decode("cp1252", errors="replace")
        notes.append("not UTF-8; read as Windows-1252")
    return readable.removeprefix("\ufeff")


def _checked(text: str) -> str:
    """Clean text. Raises UnreadableError on binaries, web pages, blank files and endless lines."""
    if not text.strip("\x00 \t\r\n\ufeff"):
        raise UnreadableError("the file holds only white space")
    if len(_CONTROL.findall(text[:8192].replace("\x1b", ""))) > 8:
        raise UnreadableError("binary file: control characters instead of text")
    if _HTML.match(text[:4096]):
        raise UnreadableError("a web page (HTML), not a result file: upload the JSON or CSV that it shows")
    text = _ANSI.sub("", text) if "\x1b" in text else text
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
    if "\n" not in text[:MAX_LINE_CHARS] and len(text) > MAX_LINE_CHARS and text.lstrip()[:1] not in "{[":
        raise UnreadableError(
            f"one line of more than {MAX_LINE_CHARS // 1_000_000} million characters is no result file"
        )
    return text


def json_values(text: str) -> tuple[list[Any], int]:
    """Every JSON object or list of a text that may be concatenated, torn, truncated or mixed with other lines; and
    how many pieces broke.
    """
    try:
        whole = json.loads(text)
        return ([whole] if isinstance(whole, dict | list) else []), 0
    except (ValueError, RecursionError):
        return _scan(text)


def _scan(text: str) -> tuple[list[Any], int]:
    decoder = json.JSONDecoder()
    values: list[Any] = []
    broken = position = 0
    while (start := _next_start(text, position)) is not None:
        if not _JSON_TEXT.match(text, start, start + 200):  # "[default0]: …" and "[2024-01-01 …" are log lines
            position = _line_end(text, start)
            continue
        try:
            value, position = decoder.raw_decode(text, start)
            values.append(value)
        except (ValueError, RecursionError):
            broken += 1
            position = _after_broken(text, start)
        if broken > _MAX_RESYNCS:
            values.extend(_line_values(text[position:]))
            break
    return values, broken


def _next_start(text: str, position: int) -> int | None:
    while position < len(text) and text[position] in " \t\r\n,":
        position += 1
    if text[position : position + 1] in ("{", "["):
        return position
    match = _JSON_START.search(text, position)
    return match.end() - 1 if match else None


def _after_broken(text: str, start: int) -> int:
    """Where to go on: inside a list that was never closed, else at the next line."""
    if re.match(r"\[\s*\{", text[start : start + 200]):
        return start + 1
    return _line_end(text, start)


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end + 1


def _line_values(text: str) -> Iterator[Any]:
    for line in text.split("\n"):
        stripped = line.strip().rstrip(",")
        if stripped[:1] == "{":
            try:
                yield json.loads(stripped)
            except (ValueError, RecursionError):
                continue


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],]', re.DOTALL)


def closed_early(text: str) -> list[Any]:
    """The value of a truncated JSON text up to its last whole member; empty where that is no JSON either.

    Good enough to name the format of an incomplete download, never to read figures from.
    """
    text = text[:HEAD_CHARS]
    stack: list[str] = []
    cut, closers = 0, ""
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark in "{[":
            stack.append("}" if mark == "{" else "]")
        elif mark in "}]" and stack:
            stack.pop()
        elif mark == "," and stack:
            cut, closers = token.start(), "".join(reversed(stack))
    return json_values(text[:cut] + closers)[0] if cut else []
