"""A catalogue's page: filtered, sorted, in pages; the same rows as JSON and CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from rest_framework import serializers

from faces.errors import error_response
from faces.exceptions import field_errors, first_sentence
from faces.filters import CatalogueFilter
from faces.twins import csv_twin, json_twin

PAGE_SIZE = 50


@dataclass(frozen=True)
class Column:
    """One column of the page: an attribute (`gpu.name`), its heading, and how its values are written."""

    name: str
    label: Any
    number: bool = False
    write: Callable[[Any], str] = str
    link: Callable[[Any], str] | None = None
    sort: str = ""  # the filter's name for it, where that is not the attribute

    @property
    def sort_key(self) -> str:
        """What `?sort=` calls this column."""
        return self.sort or self.name.replace(".", "__")


@dataclass(frozen=True)
class Listing:
    """What the page of a catalogue needs to know."""

    title: Any
    about: Any
    columns: Sequence[Column]
    filters: type[CatalogueFilter]
    serializer: Any
    line_serializer: Any = None  # where a line of CSV differs from an object of JSON
    new_url: str = ""
    import_url: str = ""


def _attribute(row: Any, name: str) -> Any:
    for part in name.split("."):
        row = getattr(row, part)
    return row


def _cells(row: Model, columns: Sequence[Column]) -> Iterator[dict[str, Any]]:
    for column in columns:
        value = _attribute(row, column.name)
        yield {
            "text": "–" if value in (None, "") else column.write(value),
            "number": column.number,
            "url": column.link(row) if column.link else "",
        }


def _headings(columns: Sequence[Column], sorted_by: str, sortable: set[str]) -> Iterator[dict[str, Any]]:
    for column in columns:
        key = column.sort_key
        ascending, descending = sorted_by == key, sorted_by == f"-{key}"
        yield {
            "label": column.label,
            "number": column.number,
            "sort": (
                "" if key not in sortable else f"-{key}" if ascending or (column.number and not descending) else key
            ),
            "direction": "ascending" if ascending else "descending" if descending else "",
        }


def listing_response(request: HttpRequest, listing: Listing, rows: QuerySet[Any], form: str = "html") -> HttpResponse:
    """The page, or all matching rows as `form` json or csv. Wrong filters are refused with their names."""
    filters = listing.filters(request.GET, queryset=rows)
    if form != "html" and not filters.is_valid():
        fields = field_errors(filters.errors)
        return error_response(request, 400, "invalid", first_sentence(fields), fields)
    if form == "json":
        return json_twin({"count": filters.qs.count(), "results": listing.serializer(filters.qs, many=True).data})
    if form == "csv":
        lines = listing.line_serializer or listing.serializer
        rows = lines(filters.qs, many=True).data
        return csv_twin(rows, request.path.rpartition("/")[2].removesuffix(".csv"), _csv_columns(lines()))
    return _page(request, listing, filters)


def _page(request: HttpRequest, listing: Listing, filters: CatalogueFilter) -> HttpResponse:
    page = Paginator(filters.qs, PAGE_SIZE).get_page(request.GET.get("page"))
    sortable = set(filters.filters["sort"].param_map.values()) if "sort" in filters.filters else set()
    context = {
        "listing": listing,
        "filters": [field for field in filters.form if field.name != "sort"],
        "headings": list(_headings(listing.columns, request.GET.get("sort", ""), sortable)),
        "rows": [list(_cells(row, listing.columns)) for row in page],
        "page": page,
        "total": page.paginator.count,
        "filtered": any(value for key, value in request.GET.items() if key not in ("page", "sort")),
    }
    return render(request, "faces/list.html", context)


def _csv_columns(lines: Any) -> list[str]:
    """Fields of one value each."""
    return [name for name, field in lines.fields.items() if not isinstance(field, serializers.ManyRelatedField)]
