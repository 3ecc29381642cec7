"""What several pages share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, JsonResponse

from planner import charts
from planner.hardware import roofs_of
from planner.present import (
    answer,
    assumptions,
    change_words,
    headline,
    origin_counts,
    parts_table,
    price_words,
    shares,
    title,
    workload_of,
)
from planner.queries import changed, query_of
from predictions.services import error_json
from roofline.errors import ScenarioError

Result = Mapping[str, Any]


def answer_context(scenario: Mapping[str, Any], result: Result) -> dict[str, Any]:
    """Everything that the answer template shows of one prediction."""
    used = assumptions(result)
    return {
        "result": result,
        "query": query_of(scenario),
        "title": title(result),
        "answer": answer(result),
        "fits": result["memory"]["fits"],
        "parts": parts_table(result),
        "bar": charts.memory_parts(result),
        "capacity_mark": charts.capacity_mark(result),
        "headline": headline(result),
        "shares": shares(result),
        "assumptions": used,
        "counts": origin_counts(used),
        "operators": charts.operator_rows(result),
        "workload": workload_of(result),
        "price": price_words(result),
        "figures": {"roofline": charts.roofline(result, roofs_of(result)), "operators": charts.operator_bars(result)},
        "fitting": [_fitting(scenario, entry) for entry in result["memory"].get("would_fit") or []],
    }


def _fitting(scenario: Mapping[str, Any], entry: Mapping[str, Any]) -> dict[str, Any]:
    return {**entry, "words": change_words(entry["change"]), "query": query_of(changed(scenario, entry["change"]))}


def error_twin(error: ScenarioError, status: int = 400) -> JsonResponse:
    """A refused scenario in the one shape of errors."""
    return JsonResponse(error_json(error), status=status)


def is_sent_form(request: HttpRequest) -> bool:
    """Whether the address comes from a form without scripts: it names empty fields, and has a shorter one."""
    return "form_workload" in request.GET
