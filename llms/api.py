"""Language models over REST."""

from typing import Any

from django.db.models import QuerySet
from rest_framework import mixins, viewsets

from llms.filters import LanguageModelFilter
from llms.models import LanguageModel
from llms.selectors import models_visible
from llms.serializers import LanguageModelDetailSerializer, LanguageModelSerializer


class LanguageModelViewSet(
    mixins.ListModelMixin,
    mixins.RetrieveModelMixin,
    mixins.CreateModelMixin,
    mixins.UpdateModelMixin,
    viewsets.GenericViewSet,
):
    """The catalogue of language models. Changing it needs a sign-in or a token with the scope `plan`."""

    filterset_class = LanguageModelFilter
    queryset = LanguageModel.objects.none()
    lookup_field = "name"
    lookup_value_regex = r"[\w.-]+(?:/[\w.-]+)?"

    def get_queryset(self) -> QuerySet[LanguageModel]:
        return models_visible(self.request.user).prefetch_related("aliases")

    def get_serializer_class(self) -> type[LanguageModelSerializer]:
        return LanguageModelSerializer if self.action == "list" else LanguageModelDetailSerializer

    def perform_create(self, serializer: Any) -> None:
        serializer.save(owner=self.request.user)
