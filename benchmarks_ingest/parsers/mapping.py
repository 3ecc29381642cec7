"""Which column of a table is what: header row, orientation, units and bare rates, settled from the values."""

import re
from collections.abc import Iterable

from .canonical import RESULT_FIELDS
from .columns import AMBIGUOUS_RATE, BOTH_LENGTHS, Column, cell_number, cell_unit, guess_column
from .tables import Table
from .values import median

MAX_METRIC_ROWS = 200
FASTEST_TOKEN_S = 5e-4  # no system decodes a token faster


def mapping(table: Table) -> list[Column]:
    """The columns that are understood, each field once: the surer guess wins."""
    found: dict[str, Column] = {}
    for index, label in enumerate(table.header):
        column = guess_column(label, index)
        if column and (column.field not in found or column.confidence > found[column.field].confidence):
            found[column.field] = column
    return sorted(found.values(), key=lambda column: column.index)


def results_in(columns: Iterable[Column]) -> int:
    """How many columns hold measured figures."""
    return sum(
        column.field in RESULT_FIELDS
        or column.field == AMBIGUOUS_RATE
        or bool(re.fullmatch(r"(?:ttft|tpot|itl|e2e)_p[\d.]+_s", column.field))
        for column in columns
    )


def upright(table: Table) -> Table:
    """The table with its real header row first, transposed where metrics are its rows."""
    firsts = [guess_column(row[0]) for row in table.rows[:MAX_METRIC_ROWS] if row]
    known = [column for column in firsts if column]
    if results_in(known) >= 2 and len(known) * 2 >= len(firsts) and results_in(mapping(table)) == 0:
        return transposed(table)
    rows = [table.header, *table.rows]
    candidates = [index for index in range(min(5, len(rows))) if not _is_numeric(rows[index])]
    best = max(candidates, key=lambda index: (len(mapping(Table(rows[index], []))), -index), default=0)
    return Table(rows[best], rows[best + 1 :], table.title, table.delimiter, table.bad_rows) if best else table


def _is_numeric(row: list[str]) -> bool:
    """Whether a third of a row's cells are numbers: no header then."""
    filled = [cell for cell in row if cell.strip()]
    return sum(cell_number(cell) is not None for cell in filled) * 3 > len(filled)


def transposed(table: Table) -> Table:
    """Rows become columns; the old header becomes the label of each row."""
    width = len(table.header)
    rows = [
        [table.header[index], *(row[index] if index < len(row) else "" for row in table.rows)]
        for index in range(1, width)
    ]
    return Table(
        ["label", *(row[0] for row in table.rows)],
        rows,
        table.title,
        table.delimiter,
        notes=["metrics are rows in this table: it was transposed"],
    )


def resolved(columns: list[Column], table: Table, comma: bool) -> list[Column]:
    """Units and ambiguous rates settled from the values; a time whose unit stays unknown is left out."""
    values = {
        column.field: [cell_number(row[column.index], comma) if column.index < len(row) else None for row in table.rows]
        for column in columns
    }
    shared = shared_unit(columns, values)
    settled: list[Column] = []
    for column in columns:
        unit = (_cell_unit(table, column) or shared) if column.unit == "?" else column.unit
        field = _rate_field(values) if column.field == AMBIGUOUS_RATE else column.field
        if (unit or column.unit != "?") and field not in {other.field for other in settled}:
            settled.append(Column(column.index, column.label, field, unit, column.confidence))
    return settled


def _cell_unit(table: Table, column: Column) -> str:
    """The unit that the cells of a column state themselves."""
    cells = (row[column.index] for row in table.rows if column.index < len(row))
    return next((unit for cell in cells if (unit := cell_unit(cell))), "")


def shared_unit(columns: list[Column], values: dict[str, list[float | None]]) -> str:
    """The unit of all times without one: that of the times with one, else what the values of one of them allow
    only; empty if neither tells.
    """
    stated = {
        column.unit
        for column in columns
        if column.field.endswith("_s")
        and column.unit in {"s", "ms"}
        and column.field[:3] in {"ttf", "tpo", "itl", "e2e"}
    }
    if len(stated) == 1:
        return stated.pop()
    open_fields = [column.field for column in columns if column.unit == "?"]
    return next((unit for field in open_fields if (unit := guess_time_unit(field, values))), "")


def guess_time_unit(field: str, values: dict[str, list[float | None]]) -> str:
    """Seconds where milliseconds would mean impossibly fast tokens; empty where both are possible."""
    times = [value for value in values[field] if value]
    if not times:
        return ""
    middle = median(times)
    outputs = [value for value in values.get("output_tokens", []) or values.get(BOTH_LENGTHS, []) if value]
    if field.startswith("e2e") and outputs and median(outputs) > 16:
        return "s" if middle * 1e-3 / median(outputs) < FASTEST_TOKEN_S else "ms"
    if field.startswith("ttft"):
        return "s" if middle < 10 else ("ms" if middle > 500 else "")
    if field.startswith(("tpot", "itl")):
        return "s" if middle < 0.5 else "ms"
    return ""


def _rate_field(values: dict[str, list[float | None]]) -> str:
    """Whether a bare "throughput" counts input too: batch x lengths / latency tells, or the totals beside it."""
    rates = values.get(AMBIGUOUS_RATE, [])
    for index, rate in enumerate(rates):
        get = {name: column[index] for name, column in values.items()}
        latency, batch = (
            get.get("e2e_mean_s") or get.get("duration_s"),
            get.get("batch_size") or get.get("completed") or 1,
        )
        both = get.get(BOTH_LENGTHS)
        output, total_in = (get.get("output_tokens") or both), (get.get("input_tokens") or both)
        if rate and latency and output:
            for field, tokens in (("total_tokens_per_s", output + (total_in or 0)), ("output_tokens_per_s", output)):
                if abs(tokens * batch / latency / rate - 1) < 0.03:
                    return field
    return "output_tokens_per_s"
