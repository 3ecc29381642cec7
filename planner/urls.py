"""Addresses of planner: pages with their twins, and REST."""

from collections.abc import Callable
from typing import Any

from django.urls import URLPattern, path
from rest_framework.routers import SimpleRouter

from planner import api
from planner.views import accuracy, audit, cases, compare, home, plan, rank, scenarios, sweeps

View = Callable[..., Any]


def _page(route: str, name: str, page: View, json: View, csv: View) -> list[URLPattern]:
    """A page with its twins: /plan/, /plan.json, /plan.csv."""
    return [
        path(f"{route}/", page, name=name),
        path(f"{route}.json", json, name=f"{name}-json"),
        path(f"{route}.csv", csv, name=f"{name}-csv"),
    ]


urlpatterns = [
    path("", home.home, name="home"),
    path("home.json", home.home_json, name="home-json"),
    path("home.csv", home.home_csv, name="home-csv"),
    *_page("plan", "plan", plan.plan, plan.plan_json, plan.plan_csv),
    path("plan/answer/", plan.plan_answer, name="plan-answer"),
    *_page("rank", "rank", rank.rank, rank.rank_json, rank.rank_csv),
    *_page("scenarios", "scenarios", scenarios.scenarios, scenarios.scenarios_json, scenarios.scenarios_csv),
    path("scenarios/new/", scenarios.scenario_new, name="scenario-new"),
    path("scenarios/<int:pk>/", scenarios.scenario_edit, name="scenario-edit"),
    path("scenarios/<int:pk>/clone/", scenarios.scenario_copy, name="scenario-copy"),
    path("scenarios/<int:pk>/delete/", scenarios.scenario_remove, name="scenario-remove"),
    *_page("compare", "compare", compare.compare, compare.compare_json, compare.compare_csv),
    path("compare/save/", compare.comparison_save, name="comparison-save"),
    path("compare/<int:pk>/", compare.comparison, name="comparison"),
    path("compare/<int:pk>/delete/", compare.comparison_remove, name="comparison-remove"),
    *_page("case-studies", "case-studies", cases.cases, cases.cases_json, cases.cases_csv),
    *_page("sweep", "sweep", sweeps.sweep, sweeps.sweeps_json, sweeps.sweeps_csv),
    path("sweep/count/", sweeps.sweep_count, name="sweep-count"),
    *_page("sweep/<uuid:pk>", "sweep-detail", sweeps.sweep_detail, sweeps.sweep_json, sweeps.sweep_csv),
    path("sweep/<uuid:pk>/status/", sweeps.sweep_status, name="sweep-status"),
    path("sweep/<uuid:pk>/cancel/", sweeps.sweep_stop, name="sweep-stop"),
    *_page("audit", "audit", audit.audit_page, audit.audit_json, audit.audit_csv),
    *_page("accuracy", "accuracy", accuracy.accuracy, accuracy.accuracy_json, accuracy.accuracy_csv),
]

router = SimpleRouter()
router.register("scenarios", api.ScenarioViewSet, basename="api-scenario")
router.register("comparisons", api.ComparisonViewSet, basename="api-comparison")

api_urlpatterns = [
    *router.urls,
    path("sweeps/", api.SweepsView.as_view(), name="api-sweeps"),
    path("sweeps/<uuid:pk>/results/", api.SweepResultsView.as_view(), name="api-sweep-results"),
    path("audits/", api.AuditsView.as_view(), name="api-audits"),
]
