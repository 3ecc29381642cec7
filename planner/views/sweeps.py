"""Sweep: ranges in, a job with live progress, fronts and a table out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from faces.twins import csv_twin, json_twin
from planner import charts
from planner.forms import plan_form
from planner.models import Sweep
from planner.names import gpu_names, model_names
from planner.present import metrics_of
from planner.queries import LONGEST_ADDRESS, query_of, scenario_from_query
from planner.selectors import sweep_get, sweep_rows, sweeps_visible
from planner.space import space_axes
from planner.sweeps import FRONTS, point_url, sweep_cancel, sweep_create, sweep_estimate, values_said
from planner.views.common import error_twin, is_sent_form
from roofline.errors import ScenarioError

PAGE = 50
MOST_DRAWN = 1500
LATEST = 20


@require_http_methods(["GET", "POST"])
def sweep(request: HttpRequest) -> HttpResponse:
    """The form with ranges, the number of combinations and the time that they take; POST starts it."""
    given = request.POST if request.method == "POST" else request.GET
    context: dict[str, Any] = {
        "models": model_names(),
        "gpus": gpu_names(),
        "sweeps": sweeps_visible(request.user)[:LATEST],
    }
    try:
        space = scenario_from_query(given, ranges=True)
        if request.method == "POST":
            made = sweep_create(owner=request.user, space=space, name=request.POST.get("sweep_name", ""))
            return HttpResponseRedirect(reverse("sweep-detail", args=[made.pk]))
        if is_sent_form(request):
            return HttpResponseRedirect(f"{reverse('sweep')}?{query_of(space)}")
        context |= {"form": plan_form(space, ranges=True), "query": query_of(space), "space": space}
        context["estimate"] = sweep_estimate(space=space, user=request.user) if space_axes(space) else None
    except ScenarioError as error:
        context["form"] = plan_form(_shown(given), errors=error.fields, ranges=True)
        return render(request, "planner/sweep.html", context, status=400)
    return render(request, "planner/sweep.html", context)


@require_POST
def sweep_count(request: HttpRequest) -> HttpResponse:
    """Combinations and time for a form as it stands; 422 with the errors by field."""
    try:
        space = scenario_from_query(request.POST, ranges=True)
        estimate = sweep_estimate(space=space, user=request.user)
    except ScenarioError as error:
        return error_twin(error, status=422)
    response = render(request, "planner/sweep_estimate.html", {"estimate": estimate})
    query = query_of(space)
    if len(query) <= LONGEST_ADDRESS:
        response["HX-Replace-Url"] = f"{reverse('sweep')}?{query}"
    return response


@require_GET
def sweep_detail(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Progress while it runs; fronts, table and filters."""
    row = _sweep(request, pk)
    return render(request, "planner/sweep_detail.html", _detail(request, row))


@require_GET
def sweep_status(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The part of the page that changes while the job runs; asks for the whole page once it is over."""
    row = _sweep(request, pk)
    response = render(request, "planner/sweep_status.html", _status(row))
    if row.job and row.job.finished:
        response["HX-Refresh"] = "true"
    return response


@require_POST
def sweep_stop(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Cancel; what is stored stays."""
    sweep_cancel(sweep=_sweep(request, pk))
    return HttpResponseRedirect(reverse("sweep-detail", args=[pk]))


@require_GET
def sweep_json(request: HttpRequest, pk: UUID) -> HttpResponse:
    """All stored points that the filters leave."""
    return json_twin(_filtered(request, _sweep(request, pk)))


@require_GET
def sweep_csv(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The same as rows: the point's values, then its figures."""
    rows = _filtered(request, _sweep(request, pk))
    return csv_twin(
        [{**row["values"], **{key: value for key, value in row.items() if key != "values"}} for row in rows], "sweep"
    )


@require_GET
def sweeps_json(request: HttpRequest) -> HttpResponse:
    """The sweeps that are listed."""
    return json_twin(_listed(request))


@require_GET
def sweeps_csv(request: HttpRequest) -> HttpResponse:
    """The same as rows."""
    return csv_twin(_listed(request), "sweeps", ["id", "name", "total", "status", "created"])


def _listed(request: HttpRequest) -> list[dict[str, Any]]:
    return [
        {
            "id": str(row.pk),
            "name": row.name,
            "total": row.total,
            "status": row.job.status if row.job else None,
            "created": row.created.isoformat(),
        }
        for row in sweeps_visible(request.user)
    ]


def _sweep(request: HttpRequest, pk: UUID) -> Sweep:
    try:
        return sweep_get(user=request.user, sweep_id=pk)
    except Sweep.DoesNotExist:
        raise Http404 from None


def _detail(request: HttpRequest, row: Sweep) -> dict[str, Any]:
    rows = _filtered(request, row)
    page = Paginator(rows, PAGE).get_page(request.GET.get("page"))
    axes = space_axes(row.space)
    metrics = [
        metric for metric in metrics_of(row.workload) if any(entry.get(metric.key) is not None for entry in rows[:PAGE])
    ]
    return _status(row, rows) | {
        "page": page,
        "axes": axes,
        "metrics": metrics,
        "rows": [
            {"row": entry, "said": values_said(entry["values"]), "query": point_url(row, axes, entry["n"])}
            for entry in page
        ],
        "bounds": sorted({entry["bound"] for entry in rows if entry.get("bound")}),
        "filters": request.GET,
        "found": len(rows),
    }


def _status(row: Sweep, rows: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    job = row.job
    front = job.front if job else []
    axes = space_axes(row.space)

    def drawn(points: Sequence[dict[str, Any]], x: str, y: str) -> list[dict[str, Any]]:
        known = [point for point in points if point.get(x) is not None and point.get(y) is not None]
        stride = max(1, len(known) // MOST_DRAWN)
        return [
            {
                x: point[x],
                y: point[y],
                "label": values_said(point["values"]),
                "url": f"{reverse('plan')}?{point_url(row, axes, point['n'])}",
            }
            for point in known[::stride]
        ]

    figures = []
    for kind in FRONTS[row.workload]:
        on_front = [point for point in front if point["front"] == kind.key]
        if on_front:
            figure = charts.pareto(
                drawn(rows, kind.x, kind.y),
                drawn(on_front, kind.x, kind.y),
                kind.x,
                kind.y,
                (str(kind.titles[0]), str(kind.titles[1])),
            )
            figures.append((f"front-{kind.key}", kind.title, figure))
    return {"sweep": row, "job": job, "figures": figures, "rate": _rate(row), "query": query_of(row.space)}


def _rate(row: Sweep) -> dict[str, float] | None:
    """Points a second since the job started, and the seconds left at that rate."""
    from django.utils import timezone

    job = row.job
    if job is None or job.started_at is None or not job.done:
        return None
    seconds = ((job.finished_at or timezone.now()) - job.started_at).total_seconds()
    rate = job.done / max(seconds, 1e-3)
    return {"rate": rate, "left": (job.total - job.done) / rate}


def _filtered(request: HttpRequest, row: Sweep) -> list[dict[str, Any]]:
    """Points after the page's filters, sorted by the column that is asked for."""
    given = request.GET
    rows = sweep_rows(row)
    if given.get("bound"):
        rows = [entry for entry in rows if entry.get("bound") == given["bound"]]
    if "fits" in given:
        rows = [entry for entry in rows if entry.get("fits")]
    key = given.get("sort", "").lstrip("-")
    if key:
        known = [entry for entry in rows if isinstance(entry.get(key), int | float)]
        rest = [entry for entry in rows if not isinstance(entry.get(key), int | float)]
        rows = sorted(known, key=lambda entry: entry[key], reverse=given["sort"].startswith("-")) + rest
    return rows


def _shown(given: Any) -> dict[str, Any]:
    try:
        return scenario_from_query(given, ranges=True)
    except ScenarioError:
        return {key: given[key] for key in ("workload", "model", "gpu") if given.get(key)}
