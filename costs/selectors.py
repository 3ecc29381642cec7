"""Reads of prices, and their turning into engine values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from costs.models import CURRENT, Offer, PurchaseModel, PurchasePrice
from faces.stamps import Watched, stamps
from roofline.errors import ScenarioError
from roofline.question import Price


def offers_visible(user: Any) -> QuerySet[Offer]:
    """The offers that `user` may see."""
    return Offer.objects.visible_to(user).select_related("gpu")


def _price(offer: Offer, kind: str, basis: str) -> Price:
    source = {
        "kind": kind,
        "usd_per_gpu_hour": offer.price_per_gpu_hour_usd,
        "offer": str(offer.pk),
        "gpu": offer.gpu.slug,
        "provider": offer.provider,
        "instance_type": offer.machine,
        "region": offer.region,
        "purchase_model": offer.purchase_model,
        "date": offer.date_stated,
        "source": offer.source,
        "basis": basis,
    }
    return Price(offer.price_per_gpu_hour_usd, source)


@dataclass(frozen=True)
class OfferBook:
    """All offers at one moment, for many look-ups."""

    stamp: str
    offers: dict[str, Offer]
    on_demand: dict[str, list[Offer]]  # by accelerator, cheapest first

    def price(self, offer: str) -> Price:
        """The price of a stored offer. Raises ScenarioError for an id that is not there."""
        if str(offer) not in self.offers:
            raise ScenarioError({"price.offer": [_("There is no such offer: /offers/ lists them with their ids.")]})
        return _price(self.offers[str(offer)], "offer", "the offer that was named")

    def median_on_demand(self, gpu: str, today: date) -> Price | None:
        """The median of the accelerator's on-demand offers dated in the year before `today` (of an even number the
        lower middle one, so that it is a real offer). Older ones count only where there is no current one. None
        where no on-demand offer is known."""
        past = [offer for offer in self.on_demand.get(gpu, []) if offer.date <= today]
        current = [offer for offer in past if offer.date > today - CURRENT]
        return _median(current, "current") or _median(past, "known, none of them current")


def _median(ranked: Sequence[Offer], age: str) -> Price | None:
    if not ranked:
        return None
    basis = f"median of {len(ranked)} on-demand offers, {age}"
    return _price(ranked[(len(ranked) - 1) // 2], "median_on_demand", basis)


OFFER_TABLES = (Watched(Offer, "updated_at"),)


def catalogue_stamp() -> str:
    """Changes whenever an offer does."""
    return stamps(OFFER_TABLES)[0]


@lru_cache(maxsize=4)
def _book(stamp: str) -> OfferBook:
    ranked = list(Offer.objects.select_related("gpu").order_by("price_per_gpu_hour_usd", "pk"))
    on_demand: dict[str, list[Offer]] = {}
    for offer in ranked:
        if offer.purchase_model == PurchaseModel.ON_DEMAND:
            on_demand.setdefault(offer.gpu.slug, []).append(offer)
    return OfferBook(stamp, {str(offer.pk): offer for offer in ranked}, on_demand)


def offer_book(user: Any = None, *, stamp: str | None = None) -> OfferBook:
    """The offers as they stand; read again only after a change. `stamp`: what `catalogue_stamp` just said, where that is known."""
    return _book(stamp or catalogue_stamp())


def offer_median_on_demand(gpu: str, today: date | None = None, user: Any = None) -> Price | None:
    """The median current on-demand offer of the accelerator with this id; see OfferBook.median_on_demand."""
    return offer_book(user).median_on_demand(gpu, today or timezone.now().date())


def purchase_price_median(gpu: str) -> PurchasePrice | None:
    """The median purchase price of the accelerator with this id; None where none is known."""
    ranked = list(PurchasePrice.objects.filter(gpu__slug=gpu).order_by("price_usd_per_gpu", "pk"))
    return ranked[(len(ranked) - 1) // 2] if ranked else None
