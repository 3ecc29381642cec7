"""Accelerators with every column of the specification table, their other names, links and node shapes."""

from __future__ import annotations

from typing import Any, ClassVar

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _
from simple_history.models import HistoricalRecords

from accounts.models import Owned
from faces.validators import finite

LARGEST = 1e9
SLUG = RegexValidator(r"^[a-z0-9][a-z0-9.+-]*$", _("Lower-case letters, digits, full stops and hyphens only."))


def _number(label: Any, help_text: Any = "", *, needed: bool = False) -> models.FloatField[Any, Any]:
    """A non-negative number; blank means not known."""
    bounds: list[Any] = [finite, MinValueValidator(1e-6 if needed else 0), MaxValueValidator(LARGEST)]
    return models.FloatField(label, null=True, blank=True, validators=bounds, help_text=help_text)


def _count(label: Any, help_text: Any = "") -> models.PositiveIntegerField[Any, Any]:
    """A whole number; blank means not known."""
    return models.PositiveIntegerField(
        label, null=True, blank=True, validators=[MaxValueValidator(10**6)], help_text=help_text
    )


def _text(label: Any, length: int = 80, help_text: Any = "") -> models.CharField[Any, Any]:
    return models.CharField(label, max_length=length, blank=True, help_text=help_text)


class Confidence(models.TextChoices):
    """How sure the specification is."""

    HIGH = "high", _("high")
    MEDIUM = "medium", _("medium")
    LOW = "low", _("low")


class GpuQuerySet(models.QuerySet["Gpu"]):
    """Accelerators as a user may see them."""

    def visible_to(self, user: Any) -> GpuQuerySet:
        """All: catalogues are shared by everybody on an installation."""
        return self.all()


class Gpu(Owned):
    """One accelerator. Units stand in the columns' names; peaks are dense; the interconnect counts both directions."""

    slug = models.CharField(_("id"), max_length=60, unique=True, validators=[SLUG])
    name = models.CharField(_("name"), max_length=100)
    vendor = models.CharField(_("vendor"), max_length=40)
    architecture = _text(_("architecture"), 40)
    form_factor = _text(_("form factor"), 40)
    memory_gb = _number(_("memory, GB"), _("As marketed."), needed=True)
    memory_type = _text(_("memory type"), 40)
    mem_bandwidth_gbs = _number(_("memory bandwidth, GB/s"), needed=True)
    fp64_tflops = _number(_("FP64, TFLOP/s"))
    fp32_tflops = _number(_("FP32, TFLOP/s"))
    tf32_dense_tflops = _number(_("TF32 dense, TFLOP/s"))
    fp16_dense_tflops = _number(_("FP16 dense, TFLOP/s"))
    bf16_dense_tflops = _number(_("BF16 dense, TFLOP/s"))
    fp8_dense_tflops = _number(_("FP8 dense, TFLOP/s"))
    int8_dense_tops = _number(_("INT8 dense, TOP/s"))
    fp4_dense_tflops = _number(_("FP4 dense, TFLOP/s"))
    int4_dense_tops = _number(_("INT4 dense, TOP/s"))
    sparsity_multiplier = _number(_("sparsity multiplier"), _("What headline figures multiply the dense peak by."))
    interconnect = _text(_("interconnect"), 60)
    interconnect_bw_gbs_bidir_total = _number(_("interconnect, GB/s, both directions"))
    pcie_gen = _text(_("PCIe generation"), 20)
    pcie_bw_gbs_bidir = _number(_("PCIe, GB/s, both directions"))
    tdp_w = _number(_("board power, W"))
    gpus_per_node_typical = _count(_("GPUs per node, typical"))
    scale_up_domain_size = _count(_("GPUs in one scale-up domain"))
    internode_nic_gbps_per_gpu_typical = _number(_("network per GPU, Gb/s, typical"))
    l2_cache_mb = _number(_("L2 cache, MB"))
    sm_or_cu_count = _count(_("SMs or compute units"))
    boost_clock_mhz = _number(_("boost clock, MHz"))
    release_date = models.DateField(_("released"), null=True, blank=True)
    compute_capability = _text(_("compute capability"), 20)
    source_1 = _text(_("source"), 300)
    source_2 = _text(_("second source"), 300)
    notes = models.TextField(_("notes"), blank=True, max_length=2000)
    fp16_tensor_accumulate = _text(_("FP16 accumulates in"), 40)
    fp16_dense_tflops_fp16_accumulate = _number(_("FP16 with FP16 accumulation, TFLOP/s"))
    fp8_dense_tflops_fp16_accumulate = _number(_("FP8 with FP16 accumulation, TFLOP/s"))
    usable_memory_gib = _number(_("memory that the driver reports, GiB"))
    confidence = models.CharField(_("confidence"), max_length=10, choices=Confidence.choices, default=Confidence.LOW)
    updated_at = models.DateTimeField(_("changed"), auto_now=True)

    history = HistoricalRecords(excluded_fields=["updated_at"])
    objects = GpuQuerySet.as_manager()

    class Meta:
        ordering: ClassVar[list[str]] = ["vendor", "slug"]
        verbose_name = _("accelerator")
        verbose_name_plural = _("accelerators")

    def __str__(self) -> str:
        return self.name


COLUMNS = tuple(field.name for field in Gpu._meta.concrete_fields if field.name not in ("id", "owner", "updated_at"))


class GpuAlias(Owned):
    """Another name of an accelerator."""

    name = models.CharField(_("name"), max_length=100, unique=True)
    gpu = models.ForeignKey(Gpu, verbose_name=_("accelerator"), on_delete=models.CASCADE, related_name="aliases")
    approximate = models.BooleanField(
        _("approximate"), default=False, help_text=_("The name leaves out the form factor or the memory size.")
    )

    class Meta:
        ordering: ClassVar[list[str]] = ["name"]
        verbose_name = _("other name")
        verbose_name_plural = _("other names")

    def __str__(self) -> str:
        return self.name


class Link(models.Model):
    """A connection between accelerators of a kind: NVLink, xGMI, ICI."""

    name = models.CharField(_("name"), max_length=80)
    gbs_per_direction = models.FloatField(_("GB/s per accelerator, one direction"))
    source = models.CharField(_("source"), max_length=300)

    class Meta:
        ordering: ClassVar[list[str]] = ["name", "gbs_per_direction"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["name", "gbs_per_direction"], name="link_once")
        ]
        verbose_name = _("link")
        verbose_name_plural = _("links")

    def __str__(self) -> str:
        return f"{self.name}, {self.gbs_per_direction:g} GB/s"


class NodeShape(models.Model):
    """A server as it is usually built with an accelerator."""

    gpu = models.OneToOneField(Gpu, verbose_name=_("accelerator"), on_delete=models.CASCADE, related_name="node")
    gpus = models.PositiveIntegerField(_("accelerators"))
    link = models.ForeignKey(Link, verbose_name=_("link"), null=True, blank=True, on_delete=models.SET_NULL)
    scale_up_domain = models.PositiveIntegerField(_("accelerators in one scale-up domain"))
    network_gbps_per_gpu = models.FloatField(_("network per accelerator, Gb/s"), null=True, blank=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["gpu__slug"]
        verbose_name = _("node shape")
        verbose_name_plural = _("node shapes")

    def __str__(self) -> str:
        return f"{self.gpus} × {self.gpu}"
