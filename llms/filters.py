"""Filters of the model catalogue."""

import django_filters
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from faces.filters import CatalogueFilter, NullsLastOrdering
from llms.models import LanguageModel

BILLION = 10**9
SORTABLE = ("name", "family", "total_params", "active_params", "kv_bytes_per_token", "source_kind")


class LanguageModelFilter(CatalogueFilter):
    """By words, family, size."""

    search_fields = ("name", "family", "aliases__name")

    family = django_filters.AllValuesFilter(label=_("Family"))
    params_min = django_filters.NumberFilter(label=_("Parameters from, billions"), method="at_least")
    params_max = django_filters.NumberFilter(label=_("Parameters to, billions"), method="at_most")
    sort = NullsLastOrdering(fields=[(name, name) for name in SORTABLE])

    class Meta:
        model = LanguageModel
        fields: tuple[str, ...] = ()

    def at_least(self, queryset: QuerySet[LanguageModel], name: str, value: float) -> QuerySet[LanguageModel]:
        """Models of at least `value` billion parameters."""
        return queryset.filter(total_params__gte=int(value * BILLION))

    def at_most(self, queryset: QuerySet[LanguageModel], name: str, value: float) -> QuerySet[LanguageModel]:
        """Models of at most `value` billion parameters."""
        return queryset.filter(total_params__lte=int(value * BILLION))
