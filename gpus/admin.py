"""Accelerators in the administration."""

from typing import ClassVar

from django.contrib import admin
from simple_history.admin import SimpleHistoryAdmin

from gpus.models import Gpu, GpuAlias, Link, NodeShape


@admin.register(Gpu)
class GpuAdmin(SimpleHistoryAdmin):
    """Specifications with their history."""

    list_display: ClassVar[tuple[str, ...]] = ("slug", "name", "vendor", "memory_gb", "confidence", "owner")
    list_filter: ClassVar[tuple[str, ...]] = ("vendor", "architecture", "confidence")
    search_fields: ClassVar[tuple[str, ...]] = ("slug", "name")


@admin.register(GpuAlias)
class GpuAliasAdmin(admin.ModelAdmin):
    """Other names."""

    list_display: ClassVar[tuple[str, ...]] = ("name", "gpu", "approximate")
    search_fields: ClassVar[tuple[str, ...]] = ("name", "gpu__slug")
    autocomplete_fields: ClassVar[tuple[str, ...]] = ("gpu",)


@admin.register(Link)
class LinkAdmin(admin.ModelAdmin):
    """Links between accelerators."""

    list_display: ClassVar[tuple[str, ...]] = ("name", "gbs_per_direction", "source")


@admin.register(NodeShape)
class NodeShapeAdmin(admin.ModelAdmin):
    """Servers as they are usually built."""

    list_display: ClassVar[tuple[str, ...]] = ("gpu", "gpus", "link", "scale_up_domain", "network_gbps_per_gpu")
    autocomplete_fields: ClassVar[tuple[str, ...]] = ("gpu",)
