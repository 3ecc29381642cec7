"""Loads the shipped offers and purchase prices."""

from pathlib import Path

from django.db import transaction
from simple_history.utils import bulk_create_with_history

from costs.dates import first_day
from costs.models import Offer, PurchasePrice
from faces.shipped import REASON, csv_rows
from gpus.models import Gpu

DATA = Path(__file__).parent / "data"
OFFERS = DATA / "prices.csv"
PURCHASES = DATA / "purchase_prices.csv"
DATA_FILES = [OFFERS, PURCHASES]


def _offer(row: dict[str, str], gpus: dict[str, Gpu]) -> Offer:
    return Offer(
        provider=row["provider"],
        machine=row["instance_type"],
        gpu=gpus[row["gpu_slug"]],
        gpus_per_instance=int(row["gpus_per_instance"]),
        region=row["region"],
        price_per_gpu_hour_usd=float(row["price_per_gpu_hour_usd"]),
        purchase_model=row["purchase_model"],
        date=first_day(row["date"]),
        date_stated=row["date"],
        source=row["source"],
        notes=row["notes"],
    )


def _purchase(row: dict[str, str], gpus: dict[str, Gpu]) -> PurchasePrice:
    return PurchasePrice(
        gpu=gpus[row["gpu_slug"]],
        price_usd_per_gpu=float(row["price_usd_per_gpu"]),
        scope=row["scope"],
        date=first_day(row["date"]) if row["date"] else None,
        source=row["source"],
        notes=row["notes"],
    )


def _key(offer: Offer) -> tuple[str, str, int, str, str, str, str]:
    return (
        offer.provider, offer.machine, offer.gpu_id, offer.region,
        offer.purchase_model, offer.date_stated, offer.source,
    )  # fmt: skip


@transaction.atomic
def seed() -> str:
    """Add the shipped prices that are not there yet; returns a line about them. A price of a date does not change."""
    gpus = {gpu.slug: gpu for gpu in Gpu.objects.all()}
    known = {_key(offer) for offer in Offer.objects.all()}
    offers = [_offer(row, gpus) for row in csv_rows(OFFERS)]
    new = [offer for offer in offers if _key(offer) not in known]
    bulk_create_with_history(new, Offer, default_change_reason=REASON)
    PurchasePrice.objects.filter(owner=None).delete()
    purchases = PurchasePrice.objects.bulk_create(_purchase(row, gpus) for row in csv_rows(PURCHASES))
    return f"{len(offers)} offers, {len(purchases)} purchase prices"
