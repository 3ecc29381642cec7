"""Filters of the accelerator catalogue."""

import django_filters
from django.utils.translation import gettext_lazy as _

from faces.filters import CatalogueFilter, NullsLastOrdering
from gpus.models import Confidence, Gpu

SORTABLE = (
    "slug", "name", "vendor", "architecture", "memory_gb", "mem_bandwidth_gbs", "bf16_dense_tflops", "fp8_dense_tflops",
    "fp4_dense_tflops", "interconnect_bw_gbs_bidir_total", "tdp_w", "release_date", "confidence",
)  # fmt: skip


class GpuFilter(CatalogueFilter):
    """By words, vendor, architecture, memory and confidence."""

    search_fields = ("slug", "name", "vendor", "architecture", "notes", "aliases__name")

    vendor = django_filters.AllValuesFilter(label=_("Vendor"))
    architecture = django_filters.AllValuesFilter(label=_("Architecture"))
    memory_min = django_filters.NumberFilter(label=_("Memory from, GB"), field_name="memory_gb", lookup_expr="gte")
    memory_max = django_filters.NumberFilter(label=_("Memory to, GB"), field_name="memory_gb", lookup_expr="lte")
    confidence = django_filters.ChoiceFilter(label=_("Confidence"), choices=Confidence.choices)
    sort = NullsLastOrdering(fields=[(name, name) for name in SORTABLE])

    class Meta:
        model = Gpu
        fields: tuple[str, ...] = ()
