"""Accelerators in the administration."""

from django.contrib import admin
from simple_history.admin import SimpleHistoryAdmin

from gpus.models import Gpu, GpuAlias, Link, NodeShape


@admin.register(Gpu)
class GpuAdmin(SimpleHistoryAdmin):
    """Specifications with their history."""

    list_display = ("slug", "name", "vendor", "memory_gb", "confidence", "owner")
    list_filter = ("vendor", "architecture", "confidence")
    search_fields = ("slug", "name")


@admin.register(GpuAlias)
class GpuAliasAdmin(admin.ModelAdmin):
    """Other names."""

    list_display = ("name", "gpu", "approximate")
    search_fields = ("name", "gpu__slug")
    autocomplete_fields = ("gpu",)


@admin.register(Link)
class LinkAdmin(admin.ModelAdmin):
    """Links between accelerators."""

    list_display = ("name", "gbs_per_direction", "source")


@admin.register(NodeShape)
class NodeShapeAdmin(admin.ModelAdmin):
    """Servers as they are usually built."""

    list_display = ("gpu", "gpus", "link", "scale_up_domain", "network_gbps_per_gpu")
    autocomplete_fields = ("gpu",)
