"""Uploads and runs in the administration: to look at."""

from django.contrib import admin

from benchmarks_ingest.models import ColumnMapping, MeasuredRun, Upload


@admin.register(Upload)
class UploadAdmin(admin.ModelAdmin):
    """Uploads by name."""

    list_display = ("name", "owner", "size", "run_count", "created")
    search_fields = ("name", "sha256")
    readonly_fields = ("sha256", "size", "name", "refusals", "run_count", "job")


@admin.register(MeasuredRun)
class MeasuredRunAdmin(admin.ModelAdmin):
    """Runs by what they ran."""

    list_display = ("pk", "model", "gpu", "gpu_count", "engine", "status", "reference", "impossible")
    list_filter = ("status", "reference", "impossible", "workload", "engine")
    search_fields = ("model", "label", "gpu", "file", "source")
    raw_id_fields = ("upload",)
    show_full_result_count = False


@admin.register(ColumnMapping)
class ColumnMappingAdmin(admin.ModelAdmin):
    """What people taught about headers."""

    list_display = ("__str__", "owner", "changed")
