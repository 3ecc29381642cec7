"""Plan: the what-if page, its answer fragment, its twins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from faces.twins import csv_twin, json_twin
from planner import charts
from planner.forms import chosen_values, plan_form
from planner.names import gpu_names, model_names
from planner.present import headline, metrics_of, value_at
from planner.queries import LONGEST_ADDRESS, flat_values, query_of, scenario_from_query
from planner.views.common import answer_context, error_twin
from planner.whatif import Around, around
from predictions.services import predict
from roofline.errors import ScenarioError


@require_GET
def plan(request: HttpRequest) -> HttpResponse:
    """The page: the form with what the address states, the answer beside it."""
    context: dict[str, Any] = {"models": model_names(), "gpus": gpu_names()}
    try:
        scenario = scenario_from_query(request.GET)
        context["form"] = plan_form(scenario)
        context["query"] = query_of(scenario)
        result = predict(scenario, user=request.user)
    except ScenarioError as error:
        context["form"] = plan_form(_raw(request), errors=error.fields)
        return render(request, "planner/plan.html", context, status=400)
    context |= _answer(request, scenario, result)
    context["form"] = plan_form(scenario, result=result)
    return render(request, "planner/plan.html", context)


@require_POST
def plan_answer(request: HttpRequest) -> HttpResponse:
    """The answer for a form as it stands; 422 with the errors by field where it cannot be answered."""
    try:
        scenario = scenario_from_query(request.POST)
        if request.POST.get("form_workload") != scenario["workload"]:
            return _elsewhere(f"{reverse('plan')}?{query_of(scenario)}")
        result = predict(scenario, user=request.user)
    except ScenarioError as error:
        return error_twin(error, status=422)
    context = _answer(request, scenario, result) | {"form_state": chosen_values(result)}
    response = render(request, "planner/answer.html", context)
    if len(context["query"]) <= LONGEST_ADDRESS:
        response["HX-Replace-Url"] = f"{reverse('plan')}?{context['query']}".removesuffix("?")
    return response


@require_GET
def plan_json(request: HttpRequest) -> HttpResponse:
    """The prediction itself."""
    try:
        return json_twin(predict(scenario_from_query(request.GET), user=request.user))
    except ScenarioError as error:
        return error_twin(error)


@require_GET
def plan_csv(request: HttpRequest) -> HttpResponse:
    """The prediction as rows of field, value and, where known, interval."""
    try:
        result = predict(scenario_from_query(request.GET), user=request.user)
    except ScenarioError as error:
        return error_twin(error)
    return csv_twin(result_rows(result), "plan", ["field", "value", "low", "high"])


def result_rows(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A prediction as rows: its scenario, then its figures."""
    rows: list[dict[str, Any]] = [
        {"field": f"scenario.{path}", "value": value} for path, value in flat_values(result["scenario"])
    ]
    rows.append({"field": "memory.fits", "value": result["memory"]["fits"]})
    rows += [{"field": f"memory.per_gpu.{key}", "value": value} for key, value in result["memory"]["per_gpu"].items()]
    for metric in metrics_of(result["scenario"]["workload"]):
        low, high = charts.interval_of(result, metric.key) or (None, None)
        rows.append({"field": metric.path, "value": value_at(result, metric.path), "low": low, "high": high})
    return rows


def _answer(request: HttpRequest, scenario: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
    near = around(scenario, result, user=request.user)
    context = answer_context(scenario, result)
    context["figures"]["curve"] = _curve(result, near)
    context |= {"helps": near.helps, "curve_rows": [_curve_row(point) for point in near.curve]}
    return context


def _curve(result: Mapping[str, Any], near: Around) -> charts.Figure:
    if result["scenario"]["workload"] == "training":
        return charts.scaling_curve(near.curve, result)
    slo = (result["scenario"].get("inference") or {}).get("slo") or {}
    return charts.speed_curve(near.curve, result, slo.get("tpot_s"))


def _curve_row(point: Mapping[str, Any]) -> dict[str, Any]:
    scenario = point["scenario"]
    load = (scenario.get("inference") or {}).get("concurrency")
    return {"at": load or scenario["gpu_count"], "figures": {row["key"]: row["text"] for row in headline(point)}}


def _raw(request: HttpRequest) -> dict[str, Any]:
    """What was typed, as far as it can be shown again."""
    try:
        return scenario_from_query(request.GET)
    except ScenarioError:
        return {key: request.GET[key] for key in ("workload", "model", "gpu") if key in request.GET}


def _elsewhere(url: str) -> HttpResponse:
    """Tells htmx to open another page."""
    return HttpResponse(status=204, headers={"HX-Redirect": url})
