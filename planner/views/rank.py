"""Rank: one workload on every GPU, the table that procurement opens first."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from faces.twins import csv_twin, json_twin
from gpus.selectors import gpu_book
from planner import charts
from planner.forms import plan_form
from planner.names import model_names
from planner.present import COST, SERVING, TRAINING, figure, model_name, value_at
from planner.queries import query_of, scenario_from_query
from planner.ranking import SPEED, Ranked, Ranking, ranking, row_facts
from planner.views.common import error_twin, is_sent_form
from roofline.errors import ScenarioError


@require_GET
def rank(request: HttpRequest) -> HttpResponse:
    """The page."""
    context: dict[str, Any] = {"models": model_names()}
    try:
        scenario = scenario_from_query(request.GET)
        if is_sent_form(request):
            return HttpResponseRedirect(f"{reverse('rank')}?{query_of(scenario)}")
        found = _ranking(request, scenario)
    except ScenarioError as error:
        context["form"] = plan_form(request.GET.dict(), errors=error.fields, short=True)
        return render(request, "planner/rank.html", context, status=400)
    context |= {
        "form": plan_form(scenario, short=True),
        "ranking": found,
        "query": query_of(scenario),
        "model": model_name(scenario),
        "columns": _columns(found),
        "figures": {"bubbles": _bubbles(found)},
        "answer": _answer(found),
        "folds": [
            ("meeting", "", [_row(row, found) for row in found.meeting]),
            ("others", _("The same GPUs at other counts"), [_row(row, found) for row in found.others]),
            ("missing", _("Too slow for the service level"), [_row(row, found) for row in found.missing]),
            ("too-small", _("Does not fit"), [_row(row, found) for row in found.too_small]),
        ],
    }
    return render(request, "planner/rank.html", context)


@require_GET
def rank_json(request: HttpRequest) -> HttpResponse:
    """All rows, cheapest first."""
    try:
        return json_twin(_facts(request))
    except ScenarioError as error:
        return error_twin(error)


@require_GET
def rank_csv(request: HttpRequest) -> HttpResponse:
    """The same as CSV."""
    try:
        return csv_twin(_facts(request), "rank")
    except ScenarioError as error:
        return error_twin(error)


def _ranking(request: HttpRequest, scenario: dict[str, Any]) -> Ranking:
    return ranking(scenario, gpu_book(request.user).values.values(), user=request.user)


def _facts(request: HttpRequest) -> list[dict[str, Any]]:
    found = _ranking(request, scenario_from_query(request.GET))
    return [row_facts(row, found) for row in (*found.meeting, *found.others, *found.missing, *found.too_small)]


def _metrics(found: Ranking) -> list[Any]:
    """What the table is sorted by first, then what one gets for it."""
    costs: tuple[str, ...]
    speeds: tuple[str, ...]
    if found.workload == "inference":
        costs = ("usd_per_million_output_tokens", "usd_per_hour")
        speeds = ("output_tokens_per_s", "output_tokens_per_s_per_gpu", "ttft_s", "tpot_s")
    else:
        costs = ("usd_per_run", "usd_per_hour")
        speeds = ("tokens_per_s_per_gpu", "mfu", "time_to_train_s")
    table = {metric.key: metric for metric in (*(SERVING if found.workload == "inference" else TRAINING), *COST)}
    return [table[key] for key in (*costs, *speeds, "energy_kwh")]


def _columns(found: Ranking) -> list[str]:
    return [str(metric.label) for metric in _metrics(found)]


def _row(row: Ranked, found: Ranking) -> dict[str, Any]:
    price = value_at(row.result, "cost.price") or {}
    return {
        "gpu": row.gpu,
        "count": row.count,
        "layout": row.layout,
        "query": row.query,
        "fits": row.fits,
        "cells": [figure(row.result, metric) for metric in _metrics(found)] if row.fits else [],
        "missing_bytes": value_at(row.result, "memory.per_gpu.total_bytes"),
        "price_date": price.get("date"),
        "basis": value_at(row.result, "interval.basis"),
    }


def _bubbles(found: Ranking) -> charts.Figure:
    rows = [
        {
            "x": value_at(row.result, SPEED[found.workload]),
            "y": row.cost,
            "size": row.count,
            "meets": row.meets,
            "label": f"{row.count} × {row.gpu.name}",
            "url": f"{reverse('plan')}?{row.query}",
        }
        for row in (*found.meeting, *found.others, *found.missing)
    ]
    unit = {
        "usd_per_million_output_tokens": _("$ per million output tokens"),
        "usd_per_run": _("$ per run"),
        "usd_per_million_total_tokens": _("$ per million tokens"),
    }
    return charts.bubbles(
        rows, str(_("tokens/s per GPU")), str(unit.get(found.cost_path.rpartition(".")[2], _("$ per hour")))
    )


def _answer(found: Ranking) -> str:
    if not found.meeting:
        return str(_("No accelerator meets this: see below what misses the service level and what does not fit."))
    best = found.meeting[0]
    label = {metric.path: metric for metric in COST}[found.cost_path]
    return _("%(count)d × %(gpu)s is the cheapest: %(cost)s (%(label)s).") % {
        "count": best.count,
        "gpu": best.gpu.name,
        "cost": figure(best.result, label),
        "label": str(label.label).lower(),
    }
