"""Measured: everything that was measured, against what the planner predicts of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from benchmarks_ingest.charts import scatter
from benchmarks_ingest.residuals import (
    MOST_DRAWN,
    QUANTITIES,
    Group,
    Wanted,
    choices,
    figure_facts,
    figures_found,
    groups,
    quantities_in_use,
    sample,
    together,
)
from benchmarks_ingest.selectors import runs_to_confirm
from benchmarks_ingest.views.common import MOST_ROWS
from faces.twins import csv_twin, json_twin

PAGE = 50
COLUMNS = (
    *("run", "reference", "source", "model", "gpu", "gpu_count", "engine", "precision", "load"),
    *("quantity", "measured", "predicted", "low", "high", "ratio"),
)


class CountedPaginator(Paginator):
    """Pages of rows whose number is known already."""

    def __init__(self, rows: Any, size: int, total: int) -> None:
        super().__init__(rows, size)
        self.count = total


def wanted_of(request: HttpRequest, quantities: list[str]) -> Wanted:
    """The filters of the address; the likeliest quantity where none is named."""
    wanted = Wanted.of(request.GET)
    return wanted if wanted.quantity or not quantities else replace(wanted, quantity=quantities[0])


@require_GET
def measured(request: HttpRequest) -> HttpResponse:
    """Drop zone, what waits, scatter, errors by GPU, and the figures."""
    quantities = quantities_in_use(request.user)
    wanted = wanted_of(request, quantities)
    figures = figures_found(request.user, wanted)
    by_gpu = groups(figures)
    whole = together(by_gpu)
    page = CountedPaginator(figures.select_related("run"), PAGE, whole.n).get_page(request.GET.get("page"))
    points = sample(figures, whole.n)
    context = {
        "wanted": wanted,
        "quantities": [(name, QUANTITIES[name]) for name in quantities],
        "title": QUANTITIES.get(wanted.quantity, ""),
        "choices": choices(request.user, wanted),
        "groups": by_gpu,
        "whole": whole if whole.n else None,
        "page": page,
        "chart": scatter(points, [group.name for group in by_gpu], QUANTITIES.get(wanted.quantity, "")),
        "drawn_all": whole.n <= MOST_DRAWN,
        "waiting": runs_to_confirm(request.user).count(),
    }
    return render(request, "benchmarks_ingest/measured.html", context)


@require_GET
def measured_json(request: HttpRequest) -> HttpResponse:
    """Errors by GPU and the figures that the filters leave."""
    wanted, by_gpu, rows = _found(request)
    return json_twin(
        {
            "quantity": wanted.quantity,
            "summary": [_summary(group) for group in (together(by_gpu), *by_gpu) if group.n],
            "results": [figure_facts(row) for row in rows],
        }
    )


@require_GET
def measured_csv(request: HttpRequest) -> HttpResponse:
    """The figures as rows."""
    _wanted, _groups, rows = _found(request)
    return csv_twin((figure_facts(row) for row in rows), "measured", COLUMNS)


def _found(request: HttpRequest) -> tuple[Wanted, list[Group], Any]:
    wanted = wanted_of(request, quantities_in_use(request.user))
    figures = figures_found(request.user, wanted)
    return wanted, groups(figures), figures.select_related("run").defer("run__data")[:MOST_ROWS]


def _summary(group: Group) -> dict[str, Any]:
    return {
        "gpu": group.name,
        "n": group.n,
        "median_ape_pct": round(group.median_error * 100, 2),
        "bias_pct": round(group.bias * 100, 2),
        "within_10_pct": round(group.within_tenth * 100, 1),
        "within_25_pct": round(group.within_quarter * 100, 1),
    }
