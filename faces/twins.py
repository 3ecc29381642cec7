"""A page's data as JSON and as CSV, and the addresses of a page with both beside it."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from django.http import HttpResponse, JsonResponse
from django.urls import URLPattern, path

# What a spreadsheet would compute; written with an apostrophe before it.
FORMULA = ("=", "+", "-", "@", "\t", "\r")
Row = Mapping[str, Any]
View = Callable[..., Any]


def json_twin(payload: Any) -> JsonResponse:
    """The page's data as JSON; non-ASCII as it is."""
    return JsonResponse(payload, safe=False, json_dumps_params={"ensure_ascii": False})


def csv_twin(rows: Iterable[Row], name: str, columns: Sequence[str] = ()) -> HttpResponse:
    """Rows as a CSV file; the columns are those named, else all keys in the order in which they come up."""
    if not columns:
        rows = list(rows)
        columns = list(dict.fromkeys(key for row in rows for key in row))
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows([csv_cell(row.get(column)) for column in columns] for row in rows)
    response = HttpResponse(text.getvalue(), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return response


def csv_cell(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula; unknown is blank, a list is joined."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        value = ";".join(str(entry) for entry in value)
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def page_with_twins(route: str, name: str, page: View, json: View, csv: View) -> list[URLPattern]:
    """A page with its twins: /plan/, /plan.json, /plan.csv."""
    return [
        path(f"{route}/", page, name=name),
        path(f"{route}.json", json, name=f"{name}-json"),
        path(f"{route}.csv", csv, name=f"{name}-csv"),
    ]
