"""Jobs over REST."""

from typing import Any
from uuid import UUID

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import Scope
from jobs.models import Job, JobStatus
from jobs.selectors import job_get, job_summary
from jobs.services import job_cancel


class JobSerializer(serializers.Serializer[Any]):
    """A job as it stands."""

    id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=JobStatus.choices)
    progress = serializers.FloatField(min_value=0, max_value=1)
    done = serializers.IntegerField()
    total = serializers.IntegerField()
    results = serializers.CharField(allow_null=True, help_text="Where the results are read.")
    front = serializers.ListField(child=serializers.JSONField(), help_text="The Pareto front so far.")
    error = serializers.JSONField(allow_null=True)


def _job(request: Request, job_id: UUID) -> Job:
    try:
        return job_get(job_id, request.user)
    except Job.DoesNotExist:
        raise Http404 from None


class JobView(APIView):
    """One job."""

    @extend_schema(responses=JobSerializer, operation_id="job_retrieve")
    def get(self, request: Request, job_id: UUID) -> Response:
        """How far the job is, and what it found so far."""
        return Response(job_summary(_job(request, job_id)))


class JobCancelView(APIView):
    """Stops one job."""

    # Who may see a job by its unguessable id may stop it; owned jobs are seen by their owner only.
    stateless = True
    scope = Scope.PLAN

    @extend_schema(request=None, responses=JobSerializer, operation_id="job_cancel")
    def post(self, request: Request, job_id: UUID) -> Response:
        """Cancel the job; what it stored stays. A finished job is left as it is."""
        return Response(job_summary(job_cancel(job=_job(request, job_id))))
