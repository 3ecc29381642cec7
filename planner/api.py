"""REST of saved scenarios, comparisons, sweeps and audits."""

from __future__ import annotations

from typing import Any, cast
from uuid import UUID

from django.db.models import QuerySet
from django.http import Http404
from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import mixins, serializers, status, viewsets
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from jobs.api import JobSerializer
from jobs.selectors import job_summary
from planner.audits import claim_audit
from planner.models import Comparison, Scenario, Sweep
from planner.selectors import (
    comparisons_visible,
    predictions_of,
    scenarios_by_id,
    scenarios_found,
    scenarios_visible,
    sweep_get,
    sweep_rows,
    sweeps_visible,
)
from planner.serializers import ComparisonSerializer, PointSerializer, ScenarioSerializer, SweepSerializer
from planner.services import comparison_create, comparison_delete, scenario_create, scenario_delete, scenario_update
from planner.sweeps import sweep_create
from roofline.errors import ScenarioError

MOST_POINTS = 10_000  # of one answer


@extend_schema(
    parameters=[
        OpenApiParameter("q", str, description="Words of name or notes."),
        OpenApiParameter("tag", str),
        OpenApiParameter("workload", str),
    ]
)
class ScenarioViewSet(viewsets.ModelViewSet[Scenario]):
    """Saved scenarios."""

    serializer_class = ScenarioSerializer
    queryset = Scenario.objects.none()

    def get_queryset(self) -> QuerySet[Scenario]:
        """What the user may see, after the filters of the address."""
        if self.action != "list":
            return scenarios_visible(self.request.user)
        given = self.request.query_params
        return scenarios_found(
            user=self.request.user,
            words=given.get("q", ""),
            tag=given.get("tag", ""),
            workload=given.get("workload", ""),
        )

    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Keep a scenario."""
        checked = self._checked(request)
        row = scenario_create(owner=request.user, **checked)
        return Response(self.get_serializer(row).data, status=status.HTTP_201_CREATED)

    def update(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Change one's own."""
        row = scenario_update(
            user=request.user, row=self.get_object(), **self._checked(request, partial=bool(kwargs.get("partial")))
        )
        return Response(self.get_serializer(scenarios_visible(request.user).get(pk=row.pk)).data)

    def perform_destroy(self, instance: Scenario) -> None:
        scenario_delete(user=self.request.user, row=instance)

    def _checked(self, request: Request, *, partial: bool = False) -> dict[str, Any]:
        serializer = self.get_serializer(data=request.data, partial=partial)
        serializer.is_valid(raise_exception=True)
        return dict(serializer.validated_data)


class ComparisonViewSet(
    mixins.ListModelMixin, mixins.RetrieveModelMixin, mixins.DestroyModelMixin, viewsets.GenericViewSet[Comparison]
):
    """Saved comparisons; one of them is answered with its predictions."""

    serializer_class = ComparisonSerializer
    queryset = Comparison.objects.none()

    def get_queryset(self) -> QuerySet[Comparison]:
        """What the user may see."""
        return comparisons_visible(self.request.user)

    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """The comparison with a prediction for each scenario."""
        row = self.get_object()
        scenarios = [column.scenario.scenario for column in row.columns.all()]
        return Response(
            self.get_serializer(row).data | {"predictions": predictions_of(scenarios, user=request.user, detail=True)}
        )

    def create(self, request: Request) -> Response:
        """Keep a comparison."""
        serializer = self.get_serializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        given = serializer.validated_data
        rows = scenarios_by_id(user=request.user, ids=given["scenarios"])
        unknown = sorted(set(given["scenarios"]) - {row.pk for row in rows})
        if unknown:
            raise serializers.ValidationError({"scenarios": [f"There is no scenario {number}." for number in unknown]})
        baseline = next((row for row in rows if row.pk == given.get("baseline")), None)
        if given.get("baseline") and baseline is None:
            raise serializers.ValidationError({"baseline": ["The baseline must be one of the scenarios."]})
        kept = comparison_create(owner=request.user, name=given["name"], scenarios=rows, baseline=baseline)
        return Response(self.get_serializer(kept).data, status=status.HTTP_201_CREATED)

    def perform_destroy(self, instance: Comparison) -> None:
        comparison_delete(user=self.request.user, row=instance)


class SweepsView(APIView):
    """Sweeps: a scenario with ranges starts a job."""

    stateless = True  # it changes no shared data, and its results lie at an address that cannot be guessed

    @extend_schema(responses=SweepSerializer(many=True), operation_id="sweeps_list")
    def get(self, request: Request) -> Response:
        """Sweeps that the user may see, newest first."""
        return Response(SweepSerializer(sweeps_visible(request.user)[:100], many=True).data)

    @extend_schema(
        request={
            "application/json": {
                "type": "object",
                "description": 'A scenario; any value may be {"values": […]} or {"from", "to", "factor" | "step"}.',
            }
        },
        responses={202: JobSerializer},
        operation_id="sweep_create",
    )
    def post(self, request: Request) -> Response:
        """Start a sweep: 202, the job, and its address in Location."""
        if not isinstance(request.data, dict):
            raise ScenarioError({"": ["A sweep is a JSON object: a scenario with ranges."]})
        space = dict(request.data)
        made = sweep_create(
            owner=request.user, space=space, name=space["name"] if isinstance(space.get("name"), str) else ""
        )
        job = made.job
        assert job is not None
        location = request.build_absolute_uri(reverse("api-job", args=[job.pk]))
        return Response(job_summary(job), status=status.HTTP_202_ACCEPTED, headers={"Location": location})


class SweepResultsView(APIView):
    """The stored points of a sweep."""

    @extend_schema(
        responses=PointSerializer(many=True),
        operation_id="sweep_results",
        parameters=[
            OpenApiParameter("start", int, description="Number of the first point."),
            OpenApiParameter("limit", int, description=f"At most {MOST_POINTS:,}."),
        ],
    )
    def get(self, request: Request, pk: UUID) -> Response:
        """Points by their number, from `start`; those not computed yet are missing."""
        try:
            row = sweep_get(user=request.user, sweep_id=pk)
        except Sweep.DoesNotExist:
            raise Http404 from None
        start = _whole(request.query_params.get("start"), 0)
        limit = min(_whole(request.query_params.get("limit"), MOST_POINTS), MOST_POINTS)
        return Response(
            {
                "sweep": str(row.pk),
                "total": row.total,
                "status": row.job.status if row.job else None,
                "results": sweep_rows(row, start=start, stop=start + limit),
            }
        )


class AuditSerializer(serializers.Serializer[Any]):
    """A claim about a scenario, and the state that it is compared with."""

    scenario = serializers.JSONField()
    claim = serializers.DictField(child=serializers.FloatField())
    before = serializers.DictField(child=serializers.FloatField(), required=False)


class AuditsView(APIView):
    """Claims against roofs, records and prices."""

    stateless = True

    @extend_schema(request=AuditSerializer, responses={200: {"type": "object"}}, operation_id="audit")
    def post(self, request: Request) -> Response:
        """What the claimed figures imply, and a verdict."""
        serializer = AuditSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        given = cast(dict[str, Any], serializer.validated_data)
        return Response(
            claim_audit(
                scenario=given["scenario"], claim=given["claim"], before=given.get("before") or {}, user=request.user
            )
        )


def _whole(text: str | None, fallback: int) -> int:
    return int(text) if text and text.isdecimal() and len(text) < 10 else fallback
