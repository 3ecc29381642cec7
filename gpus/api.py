"""Accelerators over REST."""

from typing import Any

from django.db.models import QuerySet
from rest_framework import mixins, viewsets

from gpus.filters import GpuFilter
from gpus.models import Gpu
from gpus.selectors import gpus_visible
from gpus.serializers import GpuSerializer


class GpuViewSet(
    mixins.ListModelMixin,
    mixins.RetrieveModelMixin,
    mixins.CreateModelMixin,
    mixins.UpdateModelMixin,
    viewsets.GenericViewSet,
):
    """The catalogue of accelerators. Changing it needs a sign-in or a token with the scope `plan`."""

    serializer_class = GpuSerializer
    filterset_class = GpuFilter
    queryset = Gpu.objects.none()
    lookup_field = "slug"
    lookup_value_regex = "[^/]+"

    def get_queryset(self) -> QuerySet[Gpu]:
        return gpus_visible(self.request.user).prefetch_related("aliases")

    def perform_create(self, serializer: Any) -> None:
        serializer.save(owner=self.request.user)
