"""Offers as JSON and as lines of CSV."""

from typing import Any, ClassVar

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from costs.dates import first_day, past_day
from costs.models import Offer
from gpus.models import Gpu
from gpus.selectors import gpu_resolve
from roofline.errors import ScenarioError


@extend_schema_field(OpenApiTypes.STR)
class GpuNameField(serializers.RelatedField):
    """An accelerator by any of its names; written as its id."""

    queryset = Gpu.objects.all()

    def to_representation(self, value: Any) -> str:
        return str(value.slug)

    def to_internal_value(self, data: Any) -> Gpu:
        try:
            return Gpu.objects.get(slug=gpu_resolve(str(data)).slug)
        except ScenarioError as error:
            raise serializers.ValidationError([text for texts in error.fields.values() for text in texts]) from error


class OfferSerializer(serializers.ModelSerializer):
    """An offer. `date` is a day, a month or a year, as the source states it."""

    gpu = GpuNameField()
    instance_type = serializers.CharField(source="machine", max_length=60)
    date = serializers.CharField(source="date_stated", max_length=10)
    price_per_hour_usd = serializers.SerializerMethodField(help_text="Of the whole instance.")

    class Meta:
        model = Offer
        fields: ClassVar[list[str]] = [
            "id", "provider", "instance_type", "gpu", "gpus_per_instance", "region", "price_per_gpu_hour_usd",
            "price_per_hour_usd", "purchase_model", "date", "source", "notes",
        ]  # fmt: skip

    def get_price_per_hour_usd(self, offer: Offer) -> float:
        """The price of the instance."""
        return round(offer.price_per_gpu_hour_usd * offer.gpus_per_instance, 6)

    def validate_date(self, value: str) -> str:
        """A date that exists and is not to come."""
        try:
            past_day(value, timezone.now().date())
        except ValueError as error:
            raise serializers.ValidationError(str(error)) from error
        return value.strip()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Keep the first day of the stated date for comparisons."""
        if "date_stated" in attrs:
            attrs["date"] = first_day(attrs["date_stated"])
        return attrs
