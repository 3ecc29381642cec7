"""Every page has its data: `.json` and `.csv` beside the page, with the same query."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.http import HttpResponse, JsonResponse

from predictions.services import error_json
from roofline.errors import ScenarioError

Row = Mapping[str, Any]
# Spreadsheets run a cell that begins with one of these as a formula.
FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")


def json_twin(payload: Any) -> JsonResponse:
    """The page's data as JSON; non-ASCII as it is."""
    return JsonResponse(payload, safe=False, json_dumps_params={"ensure_ascii": False})


def csv_twin(rows: Iterable[Row], name: str, columns: Sequence[str] = ()) -> HttpResponse:
    """Rows as CSV; the columns are those named, else all keys in the order in which they come up."""
    kept = list(rows)
    names = list(columns) or list(dict.fromkeys(key for row in kept for key in row))
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(names)
    writer.writerows([_cell(row.get(key)) for key in names] for row in kept)
    response = HttpResponse(text.getvalue(), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return response


def error_twin(error: ScenarioError, status: int = 400) -> JsonResponse:
    """A refused scenario in the one shape of errors."""
    return JsonResponse(error_json(error), status=status)


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ";".join(str(entry) for entry in value)
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_SIGNS) else value
