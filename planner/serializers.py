"""REST shapes of saved scenarios, comparisons and sweeps."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from planner.models import MOST_COMPARED, Comparison, Scenario, Sweep


class ScenarioSerializer(serializers.ModelSerializer[Scenario]):
    """A saved scenario."""

    tags = serializers.ListField(child=serializers.CharField(max_length=40), required=False, max_length=40)
    owner = serializers.CharField(source="owner.username", read_only=True, default=None)
    scenario = serializers.JSONField(help_text="A scenario, as it is predicted.")

    class Meta:
        model = Scenario
        fields = ("id", "name", "scenario", "notes", "tags", "owner", "seeded", "created", "changed")
        read_only_fields = ("id", "seeded", "created", "changed")

    def to_representation(self, instance: Scenario) -> dict[str, Any]:
        """Tags by their names."""
        shown: dict[str, Any] = dict.fromkeys(self.Meta.fields)
        tags = [tag.name for tag in instance.tags.all()]
        for name in ("id", "name", "scenario", "notes", "seeded"):
            shown[name] = getattr(instance, name)
        times = {name: getattr(instance, name).isoformat() for name in ("created", "changed")}
        return shown | times | {"tags": tags, "owner": instance.owner.get_username() if instance.owner else None}


class ComparisonSerializer(serializers.Serializer[Comparison]):
    """Two to eight saved scenarios, one of them the baseline."""

    id = serializers.IntegerField(read_only=True)
    name = serializers.CharField(max_length=200)
    scenarios = serializers.ListField(
        child=serializers.IntegerField(min_value=1), min_length=2, max_length=MOST_COMPARED
    )
    baseline = serializers.IntegerField(required=False, allow_null=True)
    owner = serializers.CharField(read_only=True, allow_null=True)
    predictions = serializers.ListField(
        child=serializers.JSONField(), read_only=True, help_text="In the order of the scenarios."
    )

    def to_representation(self, instance: Comparison) -> dict[str, Any]:
        """Ids in their order."""
        return {
            "id": instance.pk,
            "name": instance.name,
            "scenarios": [column.scenario_id for column in instance.columns.all()],
            "baseline": instance.baseline_id,
            "owner": instance.owner.get_username() if instance.owner else None,
        }


class SweepSerializer(serializers.ModelSerializer[Sweep]):
    """A sweep and its job."""

    class Meta:
        model = Sweep
        fields = ("id", "name", "space", "total", "job", "created")


class PointSerializer(serializers.Serializer[Any]):
    """One point of a sweep: its number, what the ranges say there, and its figures by their name in a prediction."""

    n = serializers.IntegerField()
    values = serializers.DictField()
    fits = serializers.BooleanField(required=False)
    bound = serializers.CharField(required=False, allow_null=True)
    error = serializers.CharField(required=False, help_text="Why this point could not be answered.")
