"""Offers over REST."""

from typing import Any

from django.db.models import QuerySet
from rest_framework import mixins, viewsets

from costs.filters import OfferFilter
from costs.models import Offer
from costs.selectors import offers_visible
from costs.serializers import OfferSerializer


class OfferViewSet(
    mixins.ListModelMixin,
    mixins.RetrieveModelMixin,
    mixins.CreateModelMixin,
    mixins.UpdateModelMixin,
    viewsets.GenericViewSet,
):
    """Offers. Changing them needs a sign-in or a token with the scope `plan`."""

    serializer_class = OfferSerializer
    filterset_class = OfferFilter
    queryset = Offer.objects.none()
    lookup_value_regex = r"\d{1,18}"

    def get_queryset(self) -> QuerySet[Offer]:
        return offers_visible(self.request.user)

    def perform_create(self, serializer: Any) -> None:
        serializer.save(owner=self.request.user)
