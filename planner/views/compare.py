"""Compare: up to eight scenarios side by side, saved ones (`id=`) and addresses of the Plan page (`q=`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from faces.twins import csv_twin, json_twin
from planner.comparing import chart_figures, input_rows, result_rows
from planner.models import MOST_COMPARED, Comparison, Scenario
from planner.present import answer, title
from planner.queries import query_of, scenario_of
from planner.selectors import comparisons_visible, predictions_of, scenarios_by_id, scenarios_visible
from planner.services import comparison_create, comparison_delete
from roofline.errors import ScenarioError


@dataclass
class Column:
    """One scenario of the comparison."""

    key: tuple[str, str]  # how the address names it
    name: str
    scenario: dict[str, Any]
    row: Scenario | None = None
    error: str = ""
    result: dict[str, Any] | None = None

    @property
    def query(self) -> str:
        return query_of(self.scenario) if self.scenario else ""


@require_GET
def compare(request: HttpRequest) -> HttpResponse:
    """The page."""
    columns = _columns(request)
    baseline = _baseline(request, columns)
    good = [column for column in columns if column.result]
    results = [column.result for column in columns]
    figures = (
        chart_figures(
            [column.name for column in good],
            [column.result for column in good if column.result],
            _position(columns, good, baseline),
        )
        if good
        else []
    )
    taken = {column.row.pk for column in columns if column.row}
    return render(
        request,
        "planner/compare.html",
        {
            "columns": [
                {
                    "column": column,
                    "index": index,
                    "baseline": index == baseline,
                    "without": _address(columns, without=index),
                    "as_baseline": _address(columns, baseline=index),
                    "answer": answer(column.result) if column.result else column.error,
                }
                for index, column in enumerate(columns)
            ],
            "inputs": input_rows(results, baseline) if columns else [],
            "results": result_rows(results, baseline) if columns else [],
            "figures": [(f"figure-{number}", name, figure) for number, (name, figure) in enumerate(figures)],
            "others": [row for row in scenarios_visible(request.user)[:200] if row.pk not in taken],
            "keys": [column.key for column in columns],
            "full": len(columns) >= MOST_COMPARED,
            "most": MOST_COMPARED,
            "comparisons": comparisons_visible(request.user)[:20],
            "ids": [column.row.pk for column in columns if column.row],
            "saveable": len(columns) >= 2 and all(column.row for column in columns),
            "baseline_id": next((column.row.pk for column in columns[baseline : baseline + 1] if column.row), ""),
        },
    )


@require_GET
def compare_json(request: HttpRequest) -> HttpResponse:
    """The predictions, in order, with their names."""
    columns = _columns(request)
    return json_twin(
        {
            "baseline": _baseline(request, columns),
            "scenarios": [
                {"name": column.name, "prediction": column.result, "error": column.error or None} for column in columns
            ],
        }
    )


@require_GET
def compare_csv(request: HttpRequest) -> HttpResponse:
    """Inputs and figures as rows, one column a scenario."""
    columns = _columns(request)
    if not columns:
        return csv_twin([], "compare", ["field"])
    results, baseline = [column.result for column in columns], _baseline(request, columns)
    names = [f"{index + 1} {column.name}" for index, column in enumerate(columns)]
    rows = [
        {"field": row["path"], **{name: cell["text"] for name, cell in zip(names, row["cells"], strict=True)}}
        for row in input_rows(results, baseline)
    ]
    rows += [
        {"field": row["path"], **{name: cell["value"] for name, cell in zip(names, row["cells"], strict=True)}}
        for row in result_rows(results, baseline)
    ]
    return csv_twin(rows, "compare", ["field", *names])


@require_GET
def comparison(request: HttpRequest, pk: int) -> HttpResponse:
    """A saved comparison: its address."""
    row = _comparison(request, pk)
    rows = [column.scenario for column in row.columns.all()]
    baseline = next(
        (index for index, scenario in enumerate(rows) if row.baseline and scenario.pk == row.baseline.pk), 0
    )
    pairs = [*(("id", str(scenario.pk)) for scenario in rows), ("baseline", str(baseline))]
    return HttpResponseRedirect(f"{reverse('compare')}?{urlencode(pairs)}")


@require_POST
@login_required
def comparison_save(request: HttpRequest) -> HttpResponse:
    """Keep the scenarios that are shown as a comparison."""
    rows = scenarios_by_id(user=request.user, ids=_numbers(request.POST.getlist("id")))
    baseline = next((row for row in rows if str(row.pk) == request.POST.get("baseline")), None)
    try:
        kept = comparison_create(
            owner=request.user, name=request.POST.get("name") or _("Comparison"), scenarios=rows, baseline=baseline
        )
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return HttpResponseRedirect(reverse("compare"))
    messages.success(request, _("Saved."))
    return HttpResponseRedirect(reverse("comparison", args=[kept.pk]))


@require_POST
@login_required
def comparison_remove(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete a comparison; its scenarios stay."""
    comparison_delete(user=request.user, row=_comparison(request, pk))
    return HttpResponseRedirect(reverse("compare"))


def _comparison(request: HttpRequest, pk: int) -> Comparison:
    row = comparisons_visible(request.user).filter(pk=pk).first()
    if row is None:
        raise Http404
    return row


def _columns(request: HttpRequest) -> list[Column]:
    rows = scenarios_by_id(user=request.user, ids=_numbers(request.GET.getlist("id")))
    columns = [Column(("id", str(row.pk)), row.name, row.scenario, row) for row in rows]
    columns += [_unsaved(text) for text in request.GET.getlist("q")]
    columns = columns[:MOST_COMPARED]
    asked = [column for column in columns if not column.error]
    for column, found in zip(
        asked, predictions_of([column.scenario for column in asked], user=request.user), strict=True
    ):
        if "error" in found:
            column.error = found["error"]["message"]
        else:
            column.result = found
            column.name = column.name or title(found)
    return columns


def _unsaved(text: str) -> Column:
    try:
        return Column(("q", text), "", scenario_of(text))
    except ScenarioError as error:
        return Column(("q", text), _("unreadable"), {}, error=str(error))


def _numbers(texts: list[str]) -> list[int]:
    return [int(text) for text in texts if text.isdecimal() and len(text) < 18]


def _baseline(request: HttpRequest, columns: list[Column]) -> int:
    text = request.GET.get("baseline", "0")
    index = int(text) if text.isdecimal() and len(text) < 4 else 0
    return index if index < len(columns) else 0


def _position(columns: list[Column], good: list[Column], baseline: int) -> int:
    return next((index for index, column in enumerate(good) if column is columns[baseline]), 0)


def _address(columns: list[Column], *, without: int | None = None, baseline: int | None = None) -> str:
    pairs = [column.key for index, column in enumerate(columns) if index != without]
    if baseline:
        pairs.append(("baseline", str(baseline)))
    return f"{reverse('compare')}?{urlencode(pairs)}"
