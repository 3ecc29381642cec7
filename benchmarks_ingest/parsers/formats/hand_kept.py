"""Tables that people keep by hand: CSV, TSV, XLSX, Markdown and lists of flat JSON objects. What a column means is
guessed and stays to be confirmed.
"""

import re
from collections.abc import Iterable

from ..canonical import TEXT_FIELDS, Run
from ..columns import (
    AMBIGUOUS_RATE,
    ASKED,
    BOTH_LENGTHS,
    TOTAL_INPUT,
    TOTAL_OUTPUT,
    Column,
    cell_number,
    cell_text,
    cell_unit,
    guess_column,
    normal,
    split_count,
    uses_decimal_comma,
)
from ..decode import Document
from ..mapping import mapping, resolved, results_in, upright
from ..protocol import ParseResult, Refusal
from ..tables import Table

REQUEST_LABELS = {"request id", "req id", "request index", "prompt id", "trace id"}
HELPERS = {TOTAL_INPUT, TOTAL_OUTPUT, ASKED, BOTH_LENGTHS}
IMPLAUSIBLE_RATE = 300_000
_MODEL_COLUMN = re.compile(r"(?i)(.*\b\d+(?:\.\d+)?B\b.*?)\s*(Q\d\w*|F16|FP16|BF16|FP8|INT[48]|MXFP4)?")


def table_result(table: Table) -> ParseResult:
    """Runs of one table with its column mapping as a note."""
    table = upright(table)
    columns = mapping(table)
    if not results_in(columns):
        return pivot_result(table)
    if any(normal(label) in REQUEST_LABELS for label in table.header):
        return ParseResult.refused("one row a request: give the statistics of the whole run instead")
    comma = uses_decimal_comma(table.rows, table.delimiter)
    bare = [column.label.strip() for column in columns if column.field == AMBIGUOUS_RATE]
    columns = resolved(columns, table, comma)
    result = ParseResult(needs_confirmation=True, notes=[*table.notes, mapping_note(table, columns)])
    if bare and any(column.field == "output_tokens_per_s" for column in columns):
        result.notes.append(f"{bare[0]!r} does not say which tokens: taken as output tokens of the whole system")
    if comma:
        result.notes.append("numbers are written with a decimal comma")
    above = None
    for number_, row in enumerate(table.rows, 1):
        outcome = row_run(row, columns, comma, table)
        if isinstance(outcome, Run):
            above = outcome = _same_gpu(outcome, row, above)
        if isinstance(outcome, Run):
            result.runs.append(outcome)
        else:
            result.refusals.append(Refusal(outcome, f"row {number_}"))
    _note_blank_header(table, columns, result)
    if table.bad_rows:
        result.refusals.append(
            Refusal(f"{table.bad_rows} row(s) have another number of cells than the header: values could be shifted")
        )
    return result


def _same_gpu(run: Run, row: list[str], above: Run | None) -> Run:
    """A blank first cell means "as above" in tables that group rows by GPU."""
    if run.gpu is None and above is not None and above.gpu and row and not row[0].strip():
        run.put("gpu", above.gpu, "cell left blank: as in the row above")
        run.put("gpu_count", above.gpu_count, "cell left blank: as in the row above")
    return run


def mapping_note(table: Table, columns: list[Column]) -> str:
    """One sentence on what was read as what."""
    read = "; ".join(
        f"{column.label.strip()} as {column.field}{f' in {column.unit}' if column.unit else ''}" for column in columns
    )
    taken = {column.index for column in columns}
    left = [label.strip() for index, label in enumerate(table.header) if index not in taken and label.strip()]
    return f"columns read: {read}" + (f"; not read: {', '.join(left)[:300]}" if left else "")


def _note_blank_header(table: Table, columns: list[Column], result: ParseResult) -> None:
    """A nameless column with numbers beside a named one without any: the name probably slipped."""
    blank = [
        index
        for index, label in enumerate(table.header)
        if not label.strip() and any(cell_number(row[index]) is not None for row in table.rows if index < len(row))
    ]
    empty = [
        column.label
        for column in columns
        if not any(row[column.index].strip() for row in table.rows if column.index < len(row))
    ]
    if blank and empty:
        result.notes.append(
            f"column {blank[0] + 1} has no name but holds numbers, while {', '.join(empty)} holds "
            "nothing: a name probably slipped; the nameless column was not read"
        )


def row_run(row: list[str], columns: list[Column], comma: bool, table: Table) -> Run | str:
    """One row as a run, or why it holds none."""
    run = Run(kind="serving")
    extra: dict[str, float] = {}
    for column in columns:
        cell = row[column.index] if column.index < len(row) else ""
        _put_cell(run, extra, column, cell, comma)
    if table.header[0] == "label":
        run.put("label", cell_text(row[0]), "column header")
    _finish(run, extra, table)
    if run.completed == 0:
        return "no request completed"
    if not run.has_result():
        out_of_memory = any(cell.strip().upper() == "OOM" for cell in row)
        return "out of memory (OOM)" if out_of_memory else "no measured figure in this row"
    return run


def _put_cell(run: Run, extra: dict[str, float], column: Column, cell: str, comma: bool) -> None:
    text = cell_text(cell)
    if column.field == "gpu" and text:
        name, count = split_count(text)
        run.put("gpu", name, column.label)
        if count:
            run.put("gpu_count", count, column.label)
    elif column.field in TEXT_FIELDS:
        if text and text not in {"-", "N/A", "n/a", "None"}:
            run.put(column.field, text, column.label)
    elif (figure := cell_number(cell, comma)) is not None:
        if column.field in HELPERS:
            extra[column.field] = figure
        elif column.field == "mfu_reported":
            run.put(column.field, figure / 100 if figure > 1.5 or cell.strip().endswith("%") else figure, column.label)
        else:
            own = cell_unit(cell) if column.unit in {"s", "ms", "us", "ns"} else ""
            run.put(column.field, figure, column.label, own or column.unit)


def _finish(run: Run, extra: dict[str, float], table: Table) -> None:
    """Lengths from totals, failures from requests asked, engine names of single-stream tools."""
    if BOTH_LENGTHS in extra:
        run.derive("input_tokens", extra[BOTH_LENGTHS], "input output length")
        run.derive("output_tokens", extra[BOTH_LENGTHS], "input output length")
    for field, key in (("input_tokens", TOTAL_INPUT), ("output_tokens", TOTAL_OUTPUT)):
        if key in extra and run.completed:
            run.derive(field, extra[key] / run.completed, f"{key} tokens / completed")
    asked = extra.get(ASKED)
    if asked and run.completed is None:
        run.derive("completed", asked - (run.failed or 0), "requests asked - failed")
    elif asked and run.completed is not None and run.failed is None and asked >= run.completed:
        run.derive("failed", asked - run.completed, "requests asked - completed")
    if run.batch_size:
        run.derive("concurrency", float(run.batch_size), "batch size")
    if run.tokens_per_s_per_gpu or run.global_batch or run.mfu_reported:
        run.kind = "training"
    elif run.decode_tokens_per_s or run.prefill_tokens_per_s:
        run.kind = "single_stream"
    if table.title:
        run.context = table.title
    fastest = max(run.total_tokens_per_s or 0, run.output_tokens_per_s or 0)
    if fastest > IMPLAUSIBLE_RATE and (run.gpu_count or 1) < 64:
        run.warnings.append(
            f"{fastest:.6g} tokens/s on so few GPUs is implausible: wrong unit, cached prompts or an aborted run"
        )


def pivot_result(table: Table) -> ParseResult:
    """GPUs as rows, models as columns, speeds in the cells: one run a cell."""
    models = {
        index: match
        for index, label in enumerate(table.header)
        if index and (match := _MODEL_COLUMN.fullmatch(cell_text(label))) and match[1].strip()
    }
    first = guess_column(table.header[0]) if table.header else None
    if len(models) < 2 or first is None or first.field != "gpu":
        return ParseResult()
    field = (
        "prefill_tokens_per_s" if re.search(r"(?i)prompt|prefill|processing", table.title) else "decode_tokens_per_s"
    )
    if not re.search(r"(?i)generat|prompt|prefill|decod|eval|tok", table.title):
        return ParseResult()
    result = ParseResult(
        needs_confirmation=True,
        notes=[f"GPUs are rows and models are columns; cells read as {field} by the heading {table.title[:60]!r}"],
    )
    for row in table.rows:
        gpu, count = split_count(cell_text(row[0]))
        for index, match in models.items():
            speed = cell_number(row[index]) if index < len(row) else None
            if speed:
                run = Run(
                    kind="single_stream",
                    model=match[1].strip(),
                    weights=(match[2] or "").lower() or None,
                    gpu=gpu,
                    gpu_count=count or 1,
                )
                run.put(field, speed, f"{row[0].strip()} / {table.header[index].strip()}", "tok/s")
                result.runs.append(run)
            elif "OOM" in row[index].upper():
                result.refusals.append(Refusal("out of memory (OOM)", f"{gpu}, {table.header[index].strip()}"))
    return result


def gather(tables: Iterable[Table]) -> ParseResult:
    """All tables of a file together."""
    result = ParseResult(needs_confirmation=True)
    for table in tables:
        found = table_result(table)
        where = f"{table.title[:60]}: " if table.title and found.refusals else ""
        result.runs.extend(found.runs)
        result.refusals.extend(
            Refusal(refusal.reason, f"{where}{refusal.where}".rstrip(": ")) for refusal in found.refusals
        )
        result.notes.extend(found.notes)
    return result


def usefulness(tables: Iterable[Table]) -> float:
    """0 to 0.6: how much of the best table is understood."""
    best = 0.0
    for table in tables:
        standing = upright(table)
        columns = mapping(standing)
        if len(columns) >= 2 and _measured(standing, columns):
            best = max(best, min(0.25 + 0.03 * len(columns), 0.6))
        elif pivot_result(standing).runs:
            best = max(best, 0.3)
    return best


def _measured(table: Table, columns: list[Column]) -> bool:
    """Whether a column of results holds a number at all."""
    wanted = [column.index for column in columns if results_in([column])]
    return any(cell_number(row[index]) is not None for row in table.rows[:50] for index in wanted if index < len(row))


class HandKeptCsv:
    """CSV and TSV."""

    format = "hand-kept-csv"

    def score(self, document: Document) -> float:
        return 0.0 if document.is_json or document.is_xlsx else usefulness(document.tables[:3])

    def parse(self, document: Document) -> ParseResult:
        return _or_refused(gather(document.tables))


class HandKeptXlsx:
    """Workbooks: each sheet is a table."""

    format = "hand-kept-xlsx"

    def score(self, document: Document) -> float:
        return 0.5 if document.is_xlsx else 0.0

    def parse(self, document: Document) -> ParseResult:
        return _or_refused(gather(document.tables))


class HandKeptMarkdown:
    """Pipe tables in a text."""

    format = "hand-kept-md-table"

    def score(self, document: Document) -> float:
        return 0.0 if document.is_json or document.is_xlsx else usefulness(document.markdown[:20]) * 0.9

    def parse(self, document: Document) -> ParseResult:
        return _or_refused(gather(document.markdown))


class HandKeptJson:
    """A list of flat objects with labels as keys."""

    format = "hand-kept-json"

    def score(self, document: Document) -> float:
        return usefulness([_json_table(document)]) * 0.8 if document.is_json and len(document.first) > 2 else 0.0

    def parse(self, document: Document) -> ParseResult:
        return _or_refused(gather([_json_table(document)]))


def _json_table(document: Document) -> Table:
    header = list(document.first)[:200]
    rows = [["" if record.get(key) is None else str(record.get(key)) for key in header] for record in document.records]
    return Table(header, rows, delimiter="json")


def _or_refused(result: ParseResult) -> ParseResult:
    """A table without a usable row is refused with its first reason."""
    if not result.runs and not result.refusals:
        result.refusals.append(
            Refusal("no column of this table is a measurement that is known: map its columns by hand")
        )
    return result
