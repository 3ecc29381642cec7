"""Filters of offers."""

import django_filters
from django.utils.translation import gettext_lazy as _

from costs.models import Offer, PurchaseModel
from faces.filters import CatalogueFilter, NullsLastOrdering

SORTABLE = ("gpu__slug", "provider", "machine", "region", "purchase_model", "price_per_gpu_hour_usd", "date")


class OfferFilter(CatalogueFilter):
    """By words, accelerator, provider, region, kind of purchase, date."""

    search_fields = ("gpu__slug", "gpu__name", "provider", "machine", "region")

    gpu = django_filters.AllValuesFilter(label=_("GPU"), field_name="gpu__slug")
    provider = django_filters.AllValuesFilter(label=_("Provider"))
    region = django_filters.AllValuesFilter(label=_("Region"))
    purchase_model = django_filters.ChoiceFilter(label=_("Bought as"), choices=PurchaseModel.choices)
    since = django_filters.DateFilter(label=_("Since"), field_name="date", lookup_expr="gte")
    sort = NullsLastOrdering(fields=[(name, name) for name in SORTABLE])

    class Meta:
        model = Offer
        fields: tuple[str, ...] = ()
