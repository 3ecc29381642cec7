"""Prices in the administration."""

from django.contrib import admin
from simple_history.admin import SimpleHistoryAdmin

from costs.models import Offer, PurchasePrice


@admin.register(Offer)
class OfferAdmin(SimpleHistoryAdmin):
    """Offers with their history."""

    list_display = (
        "provider", "machine", "gpu", "region", "purchase_model", "price_per_gpu_hour_usd", "date_stated",
    )  # fmt: skip
    list_filter = ("provider", "purchase_model")
    search_fields = ("provider", "machine", "gpu__slug")
    list_select_related = ("gpu",)
    autocomplete_fields = ("gpu",)


@admin.register(PurchasePrice)
class PurchasePriceAdmin(SimpleHistoryAdmin):
    """Purchase prices with their history."""

    list_display = ("gpu", "price_usd_per_gpu", "scope", "date")
    list_select_related = ("gpu",)
    autocomplete_fields = ("gpu",)
