"""Uploads, measured runs and calibrations over REST."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar, cast

import django_filters
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import Http404
from django.urls import reverse
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import exceptions, mixins, status, viewsets
from rest_framework.decorators import action
from rest_framework.parsers import BaseParser, MultiPartParser
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import Scope
from accounts.permissions import ScopedAccess
from benchmarks_ingest import calibrations as acts
from benchmarks_ingest.models import MeasuredRun, RunStatus, Upload
from benchmarks_ingest.selectors import runs_visible, uploads_visible
from benchmarks_ingest.serializers import (
    ActivationSerializer,
    CalibrationSerializer,
    ConfirmationSerializer,
    ConfirmationsSerializer,
    FitSerializer,
    RunSerializer,
    UploadSerializer,
)
from benchmarks_ingest.services import runs_confirm, upload_create
from faces.parsers import BoundedJSONParser
from predictions.models import Calibration

PIECE = 2**16
FILE_NAME = re.compile(r'filename="?([^";]+)"?')


class RawParser(BaseParser):
    """Any other body is the file itself; it stays a stream."""

    media_type = "*/*"

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        return stream


def pieces(stream: Any) -> Iterator[bytes]:
    """A body piece by piece."""
    while piece := stream.read(PIECE):
        yield piece


class UploadViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[Upload]):
    """Result files. The same bytes give the same upload again."""

    serializer_class = UploadSerializer
    queryset = Upload.objects.none()
    parser_classes = (MultiPartParser, RawParser)
    scope = Scope.UPLOAD

    def get_queryset(self) -> QuerySet[Upload]:
        """One's own, and those of nobody."""
        return uploads_visible(self.request.user)

    @extend_schema(
        parameters=[
            OpenApiParameter("name", str, description="Name of the file, where the body is the file itself."),
            OpenApiParameter(
                "Idempotency-Key", str, OpenApiParameter.HEADER, description="The same key gives the same upload."
            ),
        ],
        request={
            "multipart/form-data": {"type": "object", "properties": {"file": {"type": "string", "format": "binary"}}},
            "application/octet-stream": {"type": "string", "format": "binary"},
        },
        responses={202: UploadSerializer, 200: UploadSerializer},
    )
    def create(self, request: Request) -> Response:
        """Keep a file and read it in the background: 202 and the upload; 200 where it was there already."""
        name, chunks = _file_of(request)
        row, new = upload_create(
            owner=request.user, chunks=chunks, name=name, key=request.headers.get("Idempotency-Key", "")
        )
        where = request.build_absolute_uri(reverse("api-upload-detail", args=[row.pk]))
        code = status.HTTP_202_ACCEPTED if new else status.HTTP_200_OK
        return Response(self.get_serializer(row).data, status=code, headers={"Location": where})

    def handle_exception(self, exc: Exception) -> Response:
        """A file over the limit is 413, a key used twice 409; all else as everywhere."""
        response = super().handle_exception(exc)
        codes = {"too_large": status.HTTP_413_REQUEST_ENTITY_TOO_LARGE, "key_reused": status.HTTP_409_CONFLICT}
        code = _code_of(exc)
        if code in codes:
            response.status_code = codes[code]
            response.data["error"]["code"] = code
        return response


def _code_of(error: Exception) -> str:
    if not isinstance(error, ValidationError) or not hasattr(error, "error_dict"):
        return ""
    return next((str(one.code) for found in error.error_dict.values() for one in found if one.code), "")


def _file_of(request: Request) -> tuple[str, Iterator[bytes]]:
    """Name and bytes of what was sent."""
    if (request.content_type or "").startswith("multipart/"):
        files = list(request.FILES.values())
        if len(files) != 1:
            raise exceptions.ValidationError({"file": [_("Send one file; several belong into a zip or tar archive.")]})
        return files[0].name or "upload", iter(files[0].chunks())
    stated = FILE_NAME.search(request.headers.get("Content-Disposition", ""))
    name = request.query_params.get("name") or (stated[1] if stated else "upload")
    stream = request.stream
    return name, pieces(stream) if stream is not None else iter(())


class RunFilter(django_filters.FilterSet):
    """By what a run ran on and where it stands."""

    upload = django_filters.UUIDFilter(field_name="upload_id")
    status = django_filters.ChoiceFilter(choices=RunStatus.choices)
    workload = django_filters.ChoiceFilter(choices=(("training", "training"), ("inference", "inference")))
    reference = django_filters.BooleanFilter()
    impossible = django_filters.BooleanFilter()
    model = django_filters.CharFilter(max_length=200)
    gpu = django_filters.CharFilter(max_length=80)
    engine = django_filters.CharFilter(max_length=40)
    precision = django_filters.CharFilter(max_length=20)
    format = django_filters.CharFilter(max_length=60)

    class Meta:
        model = MeasuredRun
        fields: ClassVar[list[str]] = []


class RunViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[MeasuredRun]):
    """Measured runs: one's own, those of nobody, and the public reference runs."""

    serializer_class = RunSerializer
    filterset_class = RunFilter
    queryset = MeasuredRun.objects.none()
    scope = Scope.UPLOAD
    lookup_value_regex = r"\d{1,18}"

    def get_queryset(self) -> QuerySet[MeasuredRun]:
        """With their figures, newest first."""
        return runs_visible(self.request.user).prefetch_related("figures")

    @extend_schema(request=ConfirmationSerializer, responses=RunSerializer, operation_id="run_confirm")
    @action(detail=True, methods=["post"], url_path="confirm", parser_classes=[BoundedJSONParser])
    def confirm(self, request: Request, pk: str | None = None) -> Response:
        """Confirm what a run ran on; its prediction follows in the background."""
        serializer = ConfirmationSerializer(data=request.data or {})
        serializer.is_valid(raise_exception=True)
        (run,) = runs_confirm(user=request.user, runs=[self.get_object()], given=serializer.validated_data)
        return Response(self.get_serializer(self.get_queryset().get(pk=run.pk)).data)

    @extend_schema(
        request=ConfirmationsSerializer,
        responses=RunSerializer(many=True),
        filters=False,
        operation_id="runs_confirm",
    )
    @action(detail=False, methods=["post"], url_path="confirm", parser_classes=[BoundedJSONParser])
    def confirm_several(self, request: Request) -> Response:
        """Confirm several runs at once, all or none."""
        serializer = ConfirmationsSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        given = cast(dict[str, Any], dict(serializer.validated_data))
        keys = sorted(set(given.pop("runs")))
        runs = list(self.get_queryset().filter(pk__in=keys))
        missing = sorted(set(keys) - {run.pk for run in runs})
        if missing:
            raise exceptions.ValidationError(
                {"runs": [_("There is no run %(id)d.") % {"id": key} for key in missing[:20]]}
            )
        runs_confirm(user=request.user, runs=runs, given=given)
        return Response(self.get_serializer(self.get_queryset().filter(pk__in=keys), many=True).data)


class CalibrationViewSet(viewsets.GenericViewSet[Calibration]):
    """Calibrations: one's own and those for everyone."""

    serializer_class = CalibrationSerializer
    queryset = Calibration.objects.none()
    lookup_value_regex = r"\d{1,18}"

    def get_queryset(self) -> QuerySet[Calibration]:
        """Newest first."""
        return acts.calibrations_visible(self.request.user)

    def get_permissions(self) -> Any:
        """Reading is as open as everything; making and switching needs a person."""
        return (
            [ScopedAccess()]
            if self.request.method in ("GET", "HEAD", "OPTIONS")
            else [IsAuthenticated(), ScopedAccess()]
        )

    @extend_schema(responses=CalibrationSerializer(many=True))
    def list(self, request: Request) -> Response:
        """All, in pages."""
        page = self.paginate_queryset(self.get_queryset())
        return self.get_paginated_response([acts.calibration_facts(row) for row in page or []])

    @extend_schema(responses=CalibrationSerializer)
    def retrieve(self, request: Request, pk: str | None = None) -> Response:
        """One with its cells."""
        return Response(acts.calibration_facts(self._row()))

    @extend_schema(request=FitSerializer, responses={201: CalibrationSerializer})
    def create(self, request: Request) -> Response:
        """Fit to the confirmed runs; refused where a median error grows by more than a point, unless forced."""
        serializer = FitSerializer(data=request.data or {})
        serializer.is_valid(raise_exception=True)
        row = acts.calibration_fit(user=request.user, **serializer.validated_data)
        return Response(acts.calibration_facts(row), status=status.HTTP_201_CREATED)

    @extend_schema(request=ActivationSerializer, responses=CalibrationSerializer)
    @action(detail=True, methods=["post"])
    def activate(self, request: Request, pk: str | None = None) -> Response:
        """Let predictions carry it."""
        serializer = ActivationSerializer(data=request.data or {})
        serializer.is_valid(raise_exception=True)
        row = acts.calibration_activate(user=request.user, row=self._row(), **serializer.validated_data)
        return Response(acts.calibration_facts(row))

    @extend_schema(request=None, responses=CalibrationSerializer)
    @action(detail=True, methods=["post"])
    def deactivate(self, request: Request, pk: str | None = None) -> Response:
        """Back to the shipped coefficients."""
        return Response(acts.calibration_facts(acts.calibration_deactivate(user=request.user, row=self._row())))

    def _row(self) -> Calibration:
        row = self.get_queryset().filter(pk=self.kwargs["pk"]).first()
        if row is None:
            raise Http404
        return row
