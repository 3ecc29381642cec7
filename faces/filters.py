"""Filters that a catalogue's page and its REST list share."""

from __future__ import annotations

from typing import Any, ClassVar

import django_filters
from django.db.models import F, Q, QuerySet
from django.utils.translation import gettext_lazy as _

LONGEST_SEARCH = 100


class NullsLastOrdering(django_filters.OrderingFilter):
    """Sorts with unknown values at the end, whichever the direction."""

    def filter(self, qs: QuerySet[Any], value: list[str] | None) -> QuerySet[Any]:
        if not value:
            return qs
        terms = [self.get_ordering_value(term) for term in value]
        return qs.order_by(*[_nulls_last(term) for term in terms], "pk")


def _nulls_last(term: str) -> Any:
    field = F(term.removeprefix("-"))
    return field.desc(nulls_last=True) if term.startswith("-") else field.asc(nulls_last=True)


class CatalogueFilter(django_filters.FilterSet):
    """Search over `search_fields`; a subclass adds its own filters and `sort`."""

    search_fields: ClassVar[tuple[str, ...]] = ()

    q = django_filters.CharFilter(label=_("Search"), method="search", max_length=LONGEST_SEARCH)

    def search(self, queryset: QuerySet[Any], name: str, value: str) -> QuerySet[Any]:
        """Rows in which each word stands in some field."""
        for word in value.split():
            anywhere = Q()
            for field in self.search_fields:
                anywhere |= Q(**{f"{field}__icontains": word})
            queryset = queryset.filter(anywhere)
        return queryset.distinct()
