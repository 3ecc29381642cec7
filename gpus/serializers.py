"""Accelerators as JSON and as lines of CSV."""

from typing import Any, ClassVar

from rest_framework import serializers

from gpus.models import COLUMNS, Gpu
from roofline import hardware


class GpuSerializer(serializers.ModelSerializer):
    """An accelerator with the columns of the specification table."""

    aliases: Any = serializers.SlugRelatedField(slug_field="name", many=True, read_only=True)

    class Meta:
        model = Gpu
        fields: ClassVar[list[str]] = [*COLUMNS, "aliases"]

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """What the engine needs must be there: memory, bandwidth, at least one peak. What is left as it is may stay."""
        if self.instance and all(getattr(self.instance, name) == value for name, value in attrs.items()):
            return attrs
        known = {column: getattr(self.instance, column) for column in COLUMNS} if self.instance else {}
        spec = {key: "" if value is None else value for key, value in {**known, **attrs}.items()}
        try:
            hardware.Gpu.from_spec(spec)
        except hardware.HardwareError as error:
            raise serializers.ValidationError(error.fields) from error
        return attrs
