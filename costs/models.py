"""What accelerators cost: hourly offers and purchase prices, each with its date and source."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any, ClassVar

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _
from simple_history.models import HistoricalRecords

from accounts.models import Owned
from faces.validators import finite
from gpus.models import Gpu

CURRENT = timedelta(days=365)


class PurchaseModel(models.TextChoices):
    """How the hours are bought."""

    ON_DEMAND = "on_demand", _("on demand")
    ON_DEMAND_GPU = "on_demand_gpu_component", _("on demand, accelerator alone")
    SPOT = "spot", _("spot")
    SPOT_GPU = "spot_gpu_component", _("spot, accelerator alone")
    RESERVED_1Y = "reserved_1y", _("reserved, 1 year")
    RESERVED_3Y = "reserved_3y", _("reserved, 3 years")
    CAPACITY_BLOCK = "capacity_block", _("capacity block")
    MARKETPLACE = "marketplace", _("marketplace")
    RENTAL_3Y = "rental_3y_estimate", _("3-year rental, estimated")
    ESTIMATE = "estimate", _("estimated")
    OWNED_HYPERSCALER = "owned_tco_hyperscaler", _("owned by a hyperscaler, estimated")
    OWNED_NEOCLOUD = "owned_tco_neocloud_giant", _("owned by a large GPU cloud, estimated")


class OfferQuerySet(models.QuerySet["Offer"]):
    """Offers by use."""

    def visible_to(self, user: Any) -> OfferQuerySet:
        """All: catalogues are shared by everybody on an installation."""
        return self.all()

    def current(self, today: date) -> OfferQuerySet:
        """Dated in the year before `today`."""
        return self.filter(date__lte=today, date__gt=today - CURRENT)


class Offer(Owned):
    """A price per hour. `price_per_gpu_hour_usd` is what everything is computed from."""

    provider = models.CharField(_("provider"), max_length=60)
    machine = models.CharField(_("instance type"), max_length=60)
    gpu = models.ForeignKey(Gpu, verbose_name=_("accelerator"), on_delete=models.PROTECT, related_name="offers")
    gpus_per_instance = models.PositiveIntegerField(
        _("accelerators per instance"), default=1, validators=[MinValueValidator(1), MaxValueValidator(10**6)]
    )
    region = models.CharField(_("region"), max_length=40, blank=True)
    price_per_gpu_hour_usd = models.FloatField(
        _("USD per accelerator and hour"), validators=[finite, MinValueValidator(1e-4), MaxValueValidator(1e5)]
    )
    purchase_model = models.CharField(
        _("bought as"), max_length=30, choices=PurchaseModel.choices, default=PurchaseModel.ON_DEMAND
    )
    date = models.DateField(_("date"), help_text=_("The first day of the time that the source names."))
    date_stated = models.CharField(_("date as stated"), max_length=10, editable=False)
    source = models.CharField(_("source"), max_length=300)
    notes = models.CharField(_("notes"), max_length=300, blank=True)
    updated_at = models.DateTimeField(_("changed"), auto_now=True)

    history = HistoricalRecords(excluded_fields=["updated_at"])
    objects = OfferQuerySet.as_manager()

    class Meta:
        ordering: ClassVar[list[str]] = ["gpu__slug", "price_per_gpu_hour_usd", "pk"]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["gpu", "purchase_model", "date"], name="offer_lookup")
        ]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["provider", "machine", "gpu", "region", "purchase_model", "date_stated", "source"],
                name="offer_once",
            )
        ]
        verbose_name = _("offer")
        verbose_name_plural = _("offers")

    def __str__(self) -> str:
        return f"{self.provider} {self.machine} {self.region}".strip()


class PurchasePrice(Owned):
    """What one accelerator costs to buy."""

    gpu = models.ForeignKey(
        Gpu, verbose_name=_("accelerator"), on_delete=models.PROTECT, related_name="purchase_prices"
    )
    price_usd_per_gpu = models.FloatField(_("USD per accelerator"), validators=[finite, MinValueValidator(1)])
    scope = models.CharField(_("what the price covers"), max_length=80)
    date = models.DateField(_("date"), null=True, blank=True)
    source = models.CharField(_("source"), max_length=300)
    notes = models.CharField(_("notes"), max_length=300, blank=True)

    history = HistoricalRecords()

    class Meta:
        ordering: ClassVar[list[str]] = ["gpu__slug", "-date"]
        verbose_name = _("purchase price")
        verbose_name_plural = _("purchase prices")

    def __str__(self) -> str:
        return f"{self.gpu} {self.scope}"
