"""Saved scenarios: list, keep, change, clone, delete."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from faces.twins import csv_twin, json_twin
from planner.forms import ScenarioForm
from planner.models import MOST_COMPARED, Scenario
from planner.present import answer, title
from planner.queries import query_of, scenario_of
from planner.selectors import may_change, predictions_of, scenarios_found, scenarios_visible, tags_in_use
from planner.services import scenario_clone, scenario_create, scenario_delete, scenario_update
from predictions.services import predict
from roofline.errors import ScenarioError

PAGE = 25


@require_GET
def scenarios(request: HttpRequest) -> HttpResponse:
    """The list."""
    page = Paginator(_found(request), PAGE).get_page(request.GET.get("page"))
    answers = predictions_of([row.scenario for row in page], user=request.user)
    rows = [
        {
            "row": row,
            "query": query_of(row.scenario),
            "mine": may_change(request.user, row),
            "answer": found["error"]["message"] if "error" in found else answer(found),
        }
        for row, found in zip(page, answers, strict=True)
    ]
    return render(
        request,
        "planner/scenarios.html",
        {
            "rows": rows,
            "page": page,
            "tags": tags_in_use(),
            "tag": request.GET.get("tag", ""),
            "words": request.GET.get("q", ""),
            "workload": request.GET.get("workload", ""),
            "mine": "mine" in request.GET,
            "most": MOST_COMPARED,
        },
    )


@require_GET
def scenarios_json(request: HttpRequest) -> HttpResponse:
    """Everything that the filters leave, with the scenarios themselves."""
    return json_twin([_facts(row) | {"scenario": row.scenario} for row in _found(request)])


@require_GET
def scenarios_csv(request: HttpRequest) -> HttpResponse:
    """The same as rows; the scenario is its Plan address."""
    return csv_twin(
        [_facts(row) | {"plan": f"{reverse('plan')}?{query_of(row.scenario)}"} for row in _found(request)],
        "scenarios",
        ["id", "name", "owner", "tags", "workload", "changed", "plan"],
    )


@require_http_methods(["GET", "POST"])
@login_required
def scenario_new(request: HttpRequest) -> HttpResponse:
    """Keep the what-if that the address states."""
    query = request.META.get("QUERY_STRING", "")
    try:
        scenario = scenario_of(query)
        result = predict(scenario, user=request.user)
    except ScenarioError as error:
        messages.error(request, str(error))
        return HttpResponseRedirect(f"{reverse('plan')}?{query}")
    form = ScenarioForm(request.POST or None, initial={"name": title(result)})
    if request.method == "POST" and form.is_valid():
        scenario_create(owner=request.user, scenario=scenario, **form.cleaned_data)
        messages.success(request, _("Saved."))
        return HttpResponseRedirect(reverse("scenarios"))
    return render(
        request,
        "planner/scenario_form.html",
        {"form": form, "answer": answer(result), "query": query, "heading": _("Save this scenario")},
    )


@require_http_methods(["GET", "POST"])
@login_required
def scenario_edit(request: HttpRequest, pk: int) -> HttpResponse:
    """Change name, tags and notes."""
    row = _row(request, pk)
    form = ScenarioForm(request.POST) if request.method == "POST" else ScenarioForm.of(row)
    if request.method == "POST" and form.is_valid():
        scenario_update(user=request.user, row=row, **form.cleaned_data)
        messages.success(request, _("Saved."))
        return HttpResponseRedirect(reverse("scenarios"))
    return render(
        request,
        "planner/scenario_form.html",
        {"form": form, "row": row, "query": query_of(row.scenario), "heading": row.name},
    )


@require_POST
@login_required
def scenario_copy(request: HttpRequest, pk: int) -> HttpResponse:
    """A copy of one's own."""
    row = scenario_clone(owner=request.user, row=_row(request, pk))
    messages.success(request, _("%(name)s was made.") % {"name": row.name})
    return HttpResponseRedirect(reverse("scenario-edit", args=[row.pk]))


@require_POST
@login_required
def scenario_remove(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete one's own."""
    scenario_delete(user=request.user, row=_row(request, pk))
    messages.success(request, _("Deleted."))
    return HttpResponseRedirect(reverse("scenarios"))


def _found(request: HttpRequest) -> Any:
    given = request.GET
    return scenarios_found(
        user=request.user,
        words=given.get("q", "")[:200],
        tag=given.get("tag", ""),
        mine="mine" in given,
        workload=given.get("workload", ""),
    )


def _row(request: HttpRequest, pk: int) -> Scenario:
    row = scenarios_visible(request.user).filter(pk=pk).first()
    if row is None:
        raise Http404
    return row


def _facts(row: Scenario) -> dict[str, Any]:
    return {
        "id": row.pk,
        "name": row.name,
        "owner": str(row.owner or ""),
        "tags": [tag.name for tag in row.tags.all()],
        "workload": row.workload,
        "notes": row.notes,
        "seeded": row.seeded,
        "changed": row.changed.isoformat(),
    }
