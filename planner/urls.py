"""Addresses of planner: pages with their twins, and REST."""

from django.urls import path
from rest_framework.routers import SimpleRouter

from faces.twins import page_with_twins
from planner import api
from planner.views import accuracy, audit, cases, compare, home, plan, rank, scenarios, sweeps

urlpatterns = [
    path("", home.home, name="home"),
    path("home.json", home.home_json, name="home-json"),
    path("home.csv", home.home_csv, name="home-csv"),
    *page_with_twins("plan", "plan", plan.plan, plan.plan_json, plan.plan_csv),
    path("plan/answer/", plan.plan_answer, name="plan-answer"),
    *page_with_twins("rank", "rank", rank.rank, rank.rank_json, rank.rank_csv),
    *page_with_twins("scenarios", "scenarios", scenarios.scenarios, scenarios.scenarios_json, scenarios.scenarios_csv),
    path("scenarios/new/", scenarios.scenario_new, name="scenario-new"),
    path("scenarios/<int:pk>/", scenarios.scenario_edit, name="scenario-edit"),
    path("scenarios/<int:pk>/clone/", scenarios.scenario_copy, name="scenario-copy"),
    path("scenarios/<int:pk>/delete/", scenarios.scenario_remove, name="scenario-remove"),
    *page_with_twins("compare", "compare", compare.compare, compare.compare_json, compare.compare_csv),
    path("compare/save/", compare.comparison_save, name="comparison-save"),
    path("compare/<int:pk>/", compare.comparison, name="comparison"),
    path("compare/<int:pk>/delete/", compare.comparison_remove, name="comparison-remove"),
    *page_with_twins("case-studies", "case-studies", cases.cases, cases.cases_json, cases.cases_csv),
    *page_with_twins("sweep", "sweep", sweeps.sweep, sweeps.sweeps_json, sweeps.sweeps_csv),
    path("sweep/count/", sweeps.sweep_count, name="sweep-count"),
    *page_with_twins("sweep/<uuid:pk>", "sweep-detail", sweeps.sweep_detail, sweeps.sweep_json, sweeps.sweep_csv),
    path("sweep/<uuid:pk>/status/", sweeps.sweep_status, name="sweep-status"),
    path("sweep/<uuid:pk>/cancel/", sweeps.sweep_stop, name="sweep-stop"),
    *page_with_twins("audit", "audit", audit.audit_page, audit.audit_json, audit.audit_csv),
    *page_with_twins("accuracy", "accuracy", accuracy.accuracy, accuracy.accuracy_json, accuracy.accuracy_csv),
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
