"""Pages of accelerators."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from faces.history import changes
from faces.imports import import_page
from faces.lists import Column, Listing, listing_response
from faces.numbers import exact
from faces.tables import Importer
from gpus.filters import GpuFilter
from gpus.forms import GpuForm
from gpus.models import COLUMNS, Gpu
from gpus.selectors import gpus_visible
from gpus.serializers import GpuSerializer


def _number(name: str, label: object) -> Column:
    return Column(name, label, number=True, write=exact)


LISTING = Listing(
    title=_("GPUs"),
    about=_("Dense peaks; links count both directions. Each number has its source on the accelerator's own page."),
    columns=(
        Column("name", _("Name"), link=lambda gpu: reverse("gpu", args=[gpu.slug])),
        Column("vendor", _("Vendor")),
        Column("architecture", _("Architecture")),
        _number("memory_gb", _("Memory, GB")),
        _number("mem_bandwidth_gbs", _("Bandwidth, GB/s")),
        _number("bf16_dense_tflops", _("BF16, TFLOP/s")),
        _number("fp8_dense_tflops", _("FP8, TFLOP/s")),
        _number("fp4_dense_tflops", _("FP4, TFLOP/s")),
        _number("interconnect_bw_gbs_bidir_total", _("Link, GB/s")),
        _number("tdp_w", _("Power, W")),
        Column("release_date", _("Released"), number=True),
        Column("confidence", _("Confidence")),
    ),
    filters=GpuFilter,
    serializer=GpuSerializer,
    new_url="gpu-new",
    import_url="gpus-import",
)
LABELS = {field.name: field.verbose_name for field in Gpu._meta.concrete_fields}
IMPORTER = Importer(
    serializer=GpuSerializer,
    find=lambda cells: Gpu.objects.filter(slug=cells.get("slug", "")).first(),
    key=("slug",),
)


def gpus(request: HttpRequest, form: str = "html") -> HttpResponse:
    """All accelerators."""
    return listing_response(request, LISTING, gpus_visible(request.user).prefetch_related("aliases"), form)


def gpu(request: HttpRequest, slug: str, form: str = "html") -> HttpResponse:
    """One accelerator: every column, its sources, its history."""
    row = get_object_or_404(gpus_visible(request.user).prefetch_related("aliases"), slug=slug)
    if form == "json":
        return JsonResponse(GpuSerializer(row).data)
    context = {
        "gpu": row,
        "facts": [(LABELS[name], _written(getattr(row, name))) for name in COLUMNS[2:]],
        "changes": list(changes(row)),
    }
    return render(request, "gpus/gpu.html", context)


def _written(value: Any) -> Any:
    return exact(value) if isinstance(value, float) else value


def _edit(request: HttpRequest, row: Gpu | None) -> HttpResponse:
    form = GpuForm(request.POST or None, instance=row)
    if form.is_valid():
        if row is None:
            form.instance.owner = request.user
        saved = form.save()
        return redirect("gpu", saved.slug)
    title = _("New GPU") if row is None else row.name
    return render(request, "faces/edit.html", {"form": form, "title": title, "back_url": reverse("gpus")})


@login_required
def gpu_new(request: HttpRequest) -> HttpResponse:
    """Add an accelerator."""
    return _edit(request, None)


@login_required
def gpu_edit(request: HttpRequest, slug: str) -> HttpResponse:
    """Change an accelerator; its history keeps what it was."""
    return _edit(request, get_object_or_404(gpus_visible(request.user), slug=slug))


@login_required
def gpus_import(request: HttpRequest) -> HttpResponse:
    """Add and change accelerators by a CSV file."""
    return import_page(request, IMPORTER, title=_("Import GPUs"), done_url=reverse("gpus"))
