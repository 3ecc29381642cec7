"""Uploads, runs and calibrations as REST shows them."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from benchmarks_ingest.models import MeasuredRun, RunFigure, Upload
from benchmarks_ingest.rows import MOST_GPUS


class UploadSerializer(serializers.ModelSerializer[Upload]):
    """An upload with the job that reads it."""

    owner = serializers.SerializerMethodField()
    status = serializers.SerializerMethodField(
        help_text="Of the job that reads it: queued, running, done, failed, cancelled."
    )
    job = serializers.SerializerMethodField(help_text="Address of that job.")
    runs = serializers.SerializerMethodField(help_text="Address of its runs.")

    class Meta:
        model = Upload
        fields = ("id", "name", "size", "sha256", "created", "owner", "status", "job", "run_count", "refusals", "runs")
        read_only_fields = fields

    def get_owner(self, row: Upload) -> str | None:
        """User name."""
        return str(row.owner) if row.owner else None

    def get_status(self, row: Upload) -> str:
        """As of the job."""
        return row.job.status if row.job else "done"

    def get_job(self, row: Upload) -> str | None:
        """Address."""
        return f"/api/v1/jobs/{row.job_id}/" if row.job_id else None

    def get_runs(self, row: Upload) -> str:
        """Address."""
        return f"/api/v1/runs/?upload={row.pk}"


class FigureSerializer(serializers.ModelSerializer[RunFigure]):
    """A figure beside its prediction, in one unit (tokens/s, s, bytes)."""

    ratio = serializers.FloatField(help_text="Predicted over measured.")

    class Meta:
        model = RunFigure
        fields = ("quantity", "measured", "predicted", "low", "high", "ratio")
        read_only_fields = fields


class RunSerializer(serializers.ModelSerializer[MeasuredRun]):
    """A measured run: as its file says (`run`), what of it is in the catalogues, and its figures."""

    upload = serializers.UUIDField(source="upload_id", allow_null=True)
    run = serializers.SerializerMethodField()
    figures = FigureSerializer(many=True)

    class Meta:
        model = MeasuredRun
        fields = (
            *("id", "upload", "reference", "source", "source_date", "file", "format", "status", "reason", "workload"),
            *(
                "label",
                "model",
                "architecture",
                "gpu",
                "gpu_count",
                "engine",
                "precision",
                "load",
                "impossible",
                "usable",
            ),
            *("problem", "warnings", "guesses", "confirmed_at", "run", "figures"),
        )
        read_only_fields = fields

    @extend_schema_field({"type": "object"})
    def get_run(self, row: MeasuredRun) -> Any:
        """The canonical run."""
        return row.data


class ConfirmationSerializer(serializers.Serializer[Any]):
    """What a run ran on; what is left out is taken from the file or from its guesses."""

    model = serializers.CharField(required=False, max_length=300)
    gpu = serializers.CharField(required=False, max_length=300)
    gpu_count = serializers.IntegerField(required=False, min_value=1, max_value=MOST_GPUS)
    engine = serializers.CharField(required=False, max_length=80)
    weights = serializers.CharField(required=False, max_length=40)
    tp = serializers.IntegerField(required=False, min_value=1, max_value=1024)
    input_tokens = serializers.FloatField(required=False, min_value=1, max_value=1e7)
    output_tokens = serializers.FloatField(required=False, min_value=1, max_value=1e7)
    concurrency = serializers.FloatField(required=False, min_value=1, max_value=1e7)
    seq_len = serializers.IntegerField(required=False, min_value=1, max_value=10_000_000)


class ConfirmationsSerializer(ConfirmationSerializer):
    """The same for several runs."""

    runs = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=10**18), min_length=1, max_length=10_000
    )


class FitSerializer(serializers.Serializer[Any]):
    """A calibration to make from the confirmed runs."""

    name = serializers.CharField(required=False, allow_blank=True, max_length=200, default="")
    force = serializers.BooleanField(required=False, default=False, help_text="Keep it though an error grows.")


class ActivationSerializer(serializers.Serializer[Any]):
    """For whom."""

    for_everyone = serializers.BooleanField(required=False, default=False, help_text="Staff alone.")


class CalibrationSerializer(serializers.Serializer[Any]):
    """One calibration."""

    id = serializers.IntegerField()
    name = serializers.CharField()
    version = serializers.CharField()
    owner = serializers.CharField()
    created = serializers.DateTimeField()
    runs = serializers.IntegerField()
    active = serializers.BooleanField()
    for_everyone = serializers.BooleanField()
    report = serializers.JSONField(help_text="Median errors before and after, in %.")
    cells = serializers.ListField(child=serializers.JSONField(), help_text="Factor on every time, by kind of run.")
