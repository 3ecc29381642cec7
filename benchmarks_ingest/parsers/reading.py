"""Bytes in, one report a run out: the pure function that every face uses."""

import logging
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from . import archive
from .canonical import Run
from .checks import CeilingCheck, check
from .decode import Document, UnreadableError, closed_early, read_document
from .guess import Guess, conflicts, guesses
from .protocol import Parser, ParseResult
from .registry import registry

log = logging.getLogger(__name__)
WRAPPER_DEPTH = 3
MAX_WRAPPED = 20_000
UNKNOWN_REASON = "no known benchmark format: neither its keys, its first lines nor its column names match any"
PARSER_FAULTS = (
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    RuntimeError,
    re.error,
)


@dataclass(frozen=True)
class Limits:
    """What one upload may hold."""

    max_bytes: int = 50 * 2**20
    max_unpacked_bytes: int = 200 * 2**20
    max_runs: int = 10_000
    max_members: int = 10_000


@dataclass
class FileReport:
    """One line of the import: a run that was read, or a file or record that was refused and why."""

    file: str
    status: str  # stored, to_confirm, duplicate, refused
    format: str | None
    reason: str = ""
    warnings: list[str] = field(default_factory=list)
    run: Run | None = None
    guesses: list[Guess] = field(default_factory=list)
    evidence: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The line that `import_runs` prints."""
        line: dict[str, Any] = {
            "file": self.file,
            "status": self.status,
            "format": self.format,
            "reason": self.reason,
            "warnings": self.warnings,
        }
        line["run"] = self.run.to_json() if self.run else None
        if self.guesses:
            line["guesses"] = [guess.to_json() for guess in self.guesses]
        if self.evidence:
            line["evidence"] = self.evidence
        return line


def read(
    data: bytes,
    name: str,
    *,
    limits: Limits | None = None,
    ceiling: CeilingCheck | None = None,
    seen: set[str] | None = None,
) -> list[FileReport]:
    """Reports of one file or archive: runs first, then refusals. Never raises on any content.

    `seen` holds fingerprints of runs already known and is added to; a run found in it is a duplicate.
    """
    limits = limits or Limits()
    seen = set() if seen is None else seen
    if len(data) > limits.max_bytes:
        return [
            _refused(
                name,
                None,
                f"the file has {len(data) / 2**20:.0f} MB, more than the limit of {limits.max_bytes // 2**20} MB",
            )
        ]
    if archive.is_archive(data, name):
        return _read_archive(data, name, limits, ceiling, seen)
    return _read_file(data, name, limits, ceiling, seen)


def _read_archive(
    data: bytes, name: str, limits: Limits, ceiling: CeilingCheck | None, seen: set[str]
) -> list[FileReport]:
    reports: list[FileReport] = []
    runs = 0
    try:
        for member, content in archive.members(
            data, max_bytes=limits.max_unpacked_bytes, max_members=limits.max_members
        ):
            found = _read_file(content, f"{name}/{member}", limits, ceiling, seen)
            runs += sum(report.run is not None for report in found)
            if runs > limits.max_runs:
                raise archive.ArchiveError(f"more than {limits.max_runs:,} runs in one archive")
            reports.extend(found)
    except archive.ArchiveError as error:
        return [_refused(name, "archive", str(error))]
    return reports or [_refused(name, "archive", "the archive holds no files")]


def _read_file(
    data: bytes, name: str, limits: Limits, ceiling: CeilingCheck | None, seen: set[str]
) -> list[FileReport]:
    try:
        document = read_document(data, name, limits.max_unpacked_bytes)
        parser = registry().best(document)
    except UnreadableError as error:
        return [_refused(name, None, str(error))]
    except PARSER_FAULTS as error:
        log.info("could not recognise %s: %s", name, error)
        return [_refused(name, None, f"damaged file: {error}")]
    if parser is None:
        document, parser = _unwrapped(document)
    if parser is None:
        return [_unknown(document)]
    result = _parsed(parser, document)
    if len(result.runs) > limits.max_runs:
        return [
            _refused(
                name,
                parser.format,
                f"{len(result.runs):,} runs in one file, more than the limit of {limits.max_runs:,}",
            )
        ]
    return _reports(document, parser.format, result, ceiling, seen)


def _unwrapped(document: Document) -> tuple[Document, Parser | None]:
    """Results that somebody put into an object or list of their own: the objects one to three levels down."""
    layer = list(document.values) if document.is_json else []
    for _ in range(WRAPPER_DEPTH):
        children = [value.values() if isinstance(value, dict) else value for value in layer]
        layer = [item for child in children for item in child if isinstance(item, dict | list)][:MAX_WRAPPED]
        if not layer:
            break
        inner = Document(document.name, document.data, document.head[:1] or "{", notes=document.notes)
        inner.__dict__.update(values=layer, is_json=True)
        parser = registry().best(inner)
        if parser and not parser.format.startswith("hand-kept"):
            inner.notes.append("results found inside an object of somebody's own")
            return inner, parser
    return document, None


def _unknown(document: Document) -> FileReport:
    """Nobody's format: an incomplete JSON file is called so, with the format that its beginning shows."""
    if document.text.strip() in {"{}", "[]", "null"}:
        return _refused(document.name, None, "an empty JSON value: nothing was written")
    if not document.is_broken_json:
        return _refused(document.name, None, UNKNOWN_REASON)
    beginning = Document(document.name, b"")
    beginning.__dict__["values"] = closed_early(document.text)
    parser = registry().best(beginning)
    return _refused(
        document.name, parser.format if parser else None, "truncated or broken JSON: the download or copy is incomplete"
    )


def _parsed(parser: Parser, document: Document) -> ParseResult:
    """The parser's result; content that breaks it is refused, the cause is logged."""
    try:
        return parser.parse(document)
    except PARSER_FAULTS as error:
        log.info("%s could not read %s: %r", parser.format, document.name, error)
        reason = (
            str(error)
            if type(error) is ValueError
            else f"not laid out as a {parser.format} file ({type(error).__name__}: {error})"
        )
        return ParseResult.refused(reason[:300])


def _reports(
    document: Document, format_name: str, result: ParseResult, ceiling: CeilingCheck | None, seen: set[str]
) -> list[FileReport]:
    common = list(dict.fromkeys([*document.notes, *result.notes]))
    reports = [_run_report(document, format_name, run, result, common, ceiling, seen) for run in result.runs]
    for refusal in result.refusals:
        reason = f"{refusal.where}: {refusal.reason}" if refusal.where else refusal.reason
        reports.append(
            FileReport(document.name, "refused", format_name, reason, list(common), evidence=result.evidence)
        )
    return reports or [FileReport(document.name, "refused", format_name, "no measurement in this file", common)]


def _run_report(
    document: Document,
    format_name: str,
    run: Run,
    result: ParseResult,
    common: list[str],
    ceiling: CeilingCheck | None,
    seen: set[str],
) -> FileReport:
    if not run.has_result():
        return FileReport(
            document.name,
            "refused",
            format_name,
            "no measured figure: every value is zero, empty or not a number",
            common,
        )
    report = FileReport(
        document.name,
        "stored",
        format_name,
        "",
        [*run.warnings, *check(run, ceiling), *conflicts(run, document.name), *common],
        run,
    )
    fingerprint = run.fingerprint()
    is_prose = not document.is_xlsx and document.text.lstrip()[:1] not in ("{", "[")
    report.guesses = guesses(run, document.name, run.context or (document.head if is_prose else ""))
    report.evidence = result.evidence
    if fingerprint in seen:
        report.status, report.reason = "duplicate", "the same run, figure for figure, was already read"
    elif result.needs_confirmation or not run.hardware_stated():
        report.status, report.reason = "to_confirm", _missing(run, result)
    seen.add(fingerprint)
    return report


def _missing(run: Run, result: ParseResult) -> str:
    lacks = [
        words
        for field_name, words in (("gpu", "the GPU"), ("gpu_count", "the number of GPUs"))
        if getattr(run, field_name) is None
    ]
    said = f"the file does not state {' or '.join(lacks)}" if lacks else ""
    mapped = "the meaning of the columns was guessed" if result.needs_confirmation else ""
    return "; ".join(part for part in (said, mapped) if part)


def _refused(name: str, format_name: str | None, reason: str) -> FileReport:
    return FileReport(name, "refused", format_name, reason)


def summary(
    reports: Iterable[FileReport], key: Callable[[FileReport], str] = lambda report: report.status
) -> dict[str, int]:
    """How many reports there are of each status."""
    counts: dict[str, int] = {}
    for report in reports:
        counts[key(report)] = counts.get(key(report), 0) + 1
    return counts
