"""Language models as JSON and as lines of CSV."""

import json
from typing import Any, ClassVar

from django.core.exceptions import ValidationError
from rest_framework import serializers

from llms.models import LanguageModel
from llms.services import config_read, model_save


class ConfigField(serializers.JSONField):
    """A configuration as an object, or as its JSON text; written as text, so that it fits a cell of CSV."""

    def to_internal_value(self, data: Any) -> Any:
        try:
            return config_read(data if isinstance(data, str) else json.dumps(data))
        except ValidationError as error:
            raise serializers.ValidationError(error.message_dict["config"]) from error


class LanguageModelSerializer(serializers.ModelSerializer):
    """A model with the sizes that follow from its configuration."""

    config = ConfigField(write_only=True)
    aliases: Any = serializers.SlugRelatedField(slug_field="name", many=True, read_only=True)

    class Meta:
        model = LanguageModel
        fields: ClassVar[list[str]] = [
            "name", "family", "total_params", "active_params", "kv_bytes_per_token", "summary", "warnings", "refusal",
            "source", "source_kind", "aliases", "config",
        ]  # fmt: skip

    def save(self, **kwargs: Any) -> LanguageModel:
        """Store by the service, which computes the sizes."""
        model = self.instance or LanguageModel()
        for name, value in self.validated_data.items():
            setattr(model, name, value)
        try:
            self.instance = model_save(model=model, user=kwargs.get("owner"))
        except ValidationError as error:
            raise serializers.ValidationError(error.message_dict) from error
        return self.instance


class LanguageModelDetailSerializer(LanguageModelSerializer):
    """The same with its configuration."""

    config = ConfigField()


class LanguageModelLineSerializer(serializers.ModelSerializer):
    """A line of the CSV list: one value a cell."""

    class Meta:
        model = LanguageModel
        fields: ClassVar[list[str]] = [
            "name", "family", "total_params", "active_params", "kv_bytes_per_token", "source", "source_kind", "config",
        ]  # fmt: skip

    def to_representation(self, instance: LanguageModel) -> dict[str, Any]:
        return {**super().to_representation(instance), "config": json.dumps(instance.config)}
