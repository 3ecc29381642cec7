"""Audit: any claimed figure against the roofs, the record and the market."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_GET

from faces.twins import csv_twin, json_twin
from planner.audits import CLAIM_LABELS, claim_audit, verdict_class
from planner.forms import plan_form
from planner.names import gpu_names, model_names
from planner.queries import scenario_from_query
from planner.views.common import error_twin
from roofline.audit import CLAIMS
from roofline.errors import ScenarioError

SIDES = ("claim", "before")
SETUP = ("model", "gpu", "gpu_count", "training.precision", "training.method", "inference.weights")
EXAMPLES = (
    (
        "70B, 64 × H100: 1,923 tokens/s/GPU",
        "workload=training&model_size.params_b=70&gpu_count=64&claim.tokens_per_s_per_gpu=1923&claim.time_days=8&claim.usd_saved=240000&before.tokens_per_s_per_gpu=847&before.time_days=18",
    ),
    (
        "13B, 8 × A100: 47 ms, $0.28",
        "model_size.params_b=13&gpu=a100-sxm4-80gb&gpu_count=8&claim.tpot_s=0.047&claim.tokens_per_s=2140&claim.usd_per_million_tokens=0.28&before.tpot_s=0.142&before.tokens_per_s=820&before.usd_per_million_tokens=0.73",
    ),
    (
        "98 % against 43 % of the peak, $380,000 a year",
        "workload=training&model=llama-3.1-8b&gpu_count=8&claim.mfu=0.98&before.mfu=0.43&claim.usd_wasted_per_year=380000",
    ),
)


@require_GET
def audit_page(request: HttpRequest) -> HttpResponse:
    """The page: set-up and claim in, findings out."""
    context: dict[str, Any] = {"models": model_names(), "gpus": gpu_names(), "examples": EXAMPLES}
    errors: Mapping[str, list[str]] = {}
    scenario: dict[str, Any] = {}
    try:
        scenario, figures = read(request.GET)
        if any(figures.values()):
            context["audit"] = claim_audit(
                scenario=scenario, claim=figures["claim"], before=figures["before"], user=request.user
            )
            context["verdict_class"] = verdict_class(context["audit"]["verdict"])
    except ScenarioError as error:
        errors = error.fields
    context["form"] = plan_form(scenario, errors=errors)
    context["basic"] = [entry for entry in context["form"].first if entry.name in SETUP]
    context["basic"] += [
        entry for group in context["form"].groups for entry in group.inputs if entry.name.startswith("model_size.")
    ]
    context["claims"] = [_claim_row(name, request.GET, errors) for name in CLAIMS]
    context["loose"] = [
        message for path, found in errors.items() if path.partition(".")[0] not in SIDES for message in found
    ]
    return render(request, "planner/audit.html", context, status=400 if errors else 200)


@require_GET
def audit_json(request: HttpRequest) -> HttpResponse:
    """Findings and verdict."""
    try:
        return json_twin(_audited(request))
    except ScenarioError as error:
        return error_twin(error)


@require_GET
def audit_csv(request: HttpRequest) -> HttpResponse:
    """The findings as rows."""
    try:
        return csv_twin(_audited(request)["findings"], "audit", ["kind", "quantity", "value", "unit", "sentence"])
    except ScenarioError as error:
        return error_twin(error)


def read(query: QueryDict) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """The scenario and the claimed figures of an address."""
    rest = query.copy()
    figures: dict[str, dict[str, Any]] = {side: {} for side in SIDES}
    for key in list(query):
        side, _dot, name = key.partition(".")
        if side in SIDES and name:
            del rest[key]
            if text := str(query[key]).strip():
                figures[side][name] = _number(text)
    return scenario_from_query(rest), figures


def _audited(request: HttpRequest) -> dict[str, Any]:
    scenario, figures = read(request.GET)
    return claim_audit(scenario=scenario, claim=figures["claim"], before=figures["before"], user=request.user)


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def _claim_row(name: str, given: QueryDict, errors: Mapping[str, list[str]]) -> dict[str, Any]:
    _unit, sentence = CLAIMS[name]
    return {
        "name": name,
        "label": CLAIM_LABELS.get(name, name),
        "help": sentence,
        "sides": [
            {"side": side, "value": given.get(f"{side}.{name}", ""), "errors": errors.get(f"{side}.{name}", [])}
            for side in ("before", "claim")
        ],
    }
