"""Prices."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from costs.dates import first_day
from costs.models import Offer, PurchasePrice
from costs.selectors import offer_book, offer_median_on_demand, purchase_price_median
from roofline.errors import ScenarioError

pytestmark = pytest.mark.django_db
TODAY = date(2026, 10, 1)
OFFER = {
    "provider": "own", "instance_type": "8x", "gpu": "H100-SXM", "gpus_per_instance": 8, "region": "here",
    "price_per_gpu_hour_usd": 2.5, "purchase_model": "on_demand", "date": "2026-07", "source": "a letter",
}  # fmt: skip


def test_it_works() -> None:
    price = offer_median_on_demand("h100-sxm5-80gb", TODAY)
    assert price is not None
    assert price.source["date"].startswith("2026")
    assert price.source["source"]
    assert Offer.objects.get(pk=price.source["offer"]).price_per_gpu_hour_usd == price.usd_per_gpu_hour


def test_all_shipped_prices_are_there() -> None:
    assert (Offer.objects.count(), PurchasePrice.objects.count()) == (388, 75)


def test_median_is_the_middle_of_the_current_ones() -> None:
    rows = Offer.objects.filter(
        gpu__slug="mi300x", purchase_model="on_demand", date__lte=TODAY, date__gt=date(2025, 10, 1)
    )
    ranked = sorted(rows.values_list("price_per_gpu_hour_usd", flat=True))
    price = offer_median_on_demand("mi300x", TODAY)
    assert price is not None
    assert price.usd_per_gpu_hour == ranked[(len(ranked) - 1) // 2]


def test_older_price_counts_only_where_there_is_no_current_one() -> None:
    price = offer_median_on_demand("rtx-4090", TODAY)
    assert price is not None
    assert "none of them current" in price.source["basis"]


def test_no_price_is_none() -> None:
    assert offer_median_on_demand("gb300-288gb", TODAY) is None
    assert offer_median_on_demand("nothing", TODAY) is None


def test_future_price_does_not_count() -> None:
    assert offer_median_on_demand("h100-sxm5-80gb", date(2019, 1, 1)) is None


def test_named_offer() -> None:
    offer = Offer.objects.first()
    assert offer is not None
    assert offer_book().price(str(offer.pk)).usd_per_gpu_hour == offer.price_per_gpu_hour_usd
    with pytest.raises(ScenarioError) as caught:
        offer_book().price("no such")
    assert list(caught.value.fields) == ["price.offer"]


def test_purchase_price() -> None:
    price = purchase_price_median("h100-sxm5-80gb")
    assert price is not None
    assert 15_000 < price.price_usd_per_gpu < 60_000


@pytest.mark.parametrize(
    ("stated", "day"), [("2026", date(2026, 1, 1)), ("2026-07", date(2026, 7, 1)), ("2026-07-20", date(2026, 7, 20))]
)
def test_dates_as_stated(stated: str, day: date) -> None:
    assert first_day(stated) == day


@pytest.mark.parametrize("stated", ["", "soon", "2026-13", "20260720", "2026-7-1", "2026-02-30"])
def test_wrong_dates(stated: str) -> None:
    with pytest.raises(ValueError):
        first_day(stated)


def test_over_rest(api_signed: APIClient, user: Any) -> None:
    answer = api_signed.post("/api/v1/offers/", OFFER)
    assert answer.status_code == 201
    assert answer.json()["gpu"] == "h100-sxm5-80gb"
    assert answer.json()["price_per_hour_usd"] == 20.0
    assert Offer.objects.get(pk=answer.json()["id"]).owner == user


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"gpu": "h101"}, "gpu"),
        ({"price_per_gpu_hour_usd": 0}, "price_per_gpu_hour_usd"),
        ({"price_per_gpu_hour_usd": "nan"}, "price_per_gpu_hour_usd"),
        ({"date": "2999-01-01"}, "date"),
        ({"date": "yesterday"}, "date"),
        ({"purchase_model": "gift"}, "purchase_model"),
        ({"gpus_per_instance": 0}, "gpus_per_instance"),
        ({"source": ""}, "source"),
    ],
)
def test_impossible_offer_is_refused_at_its_field(api_signed: APIClient, change: dict, field: str) -> None:
    answer = api_signed.post("/api/v1/offers/", {**OFFER, **change})
    assert answer.status_code == 400
    assert field in answer.json()["error"]["fields"]


def test_form_keeps_the_date_as_stated(signed_in: Client) -> None:
    from gpus.models import Gpu

    form = {**OFFER, "machine": "8x", "gpu": Gpu.objects.get(slug="mi300x").pk}
    answer = signed_in.post("/offers/new/", form)
    offer = Offer.objects.get(provider="own")
    assert answer.headers["Location"] == f"/offers/{offer.pk}/"
    assert (offer.date, offer.date_stated) == (date(2026, 7, 1), "2026-07")


def test_the_form_refuses_an_offer_twice_and_one_to_come(signed_in: Client) -> None:
    from gpus.models import Gpu

    form = {**OFFER, "machine": "8x", "gpu": Gpu.objects.get(slug="mi300x").pk}
    assert signed_in.post("/offers/new/", form).status_code == 302
    again = signed_in.post("/offers/new/", form)
    assert again.context["form"].non_field_errors()
    assert "date" in signed_in.post("/offers/new/", {**form, "date": "2999"}).context["form"].errors


def test_an_id_of_odd_digits_is_no_offer(signed_in: Client) -> None:
    text = "id,provider,instance_type,gpu,region,purchase_model,date,source\n²,own,8x,mi300x,,on_demand,2026-07,me\n"
    assert signed_in.post("/offers/import/", {"text": text}).status_code == 200


def test_the_same_offer_twice_is_refused(api_signed: APIClient) -> None:
    assert api_signed.post("/api/v1/offers/", OFFER).status_code == 201
    answer = api_signed.post("/api/v1/offers/", OFFER)
    assert answer.status_code == 400


def test_export_can_be_imported_again_unchanged(signed_in: Client) -> None:
    answer = signed_in.post("/offers/import/", {"text": signed_in.get("/offers.csv").content.decode()})
    assert {line.action for line in answer.context["lines"]} == {"same"}


def test_page_filters(client: Client) -> None:
    rows = client.get("/offers.json?gpu=mi300x&purchase_model=on_demand&sort=price_per_gpu_hour_usd").json()["results"]
    prices = [row["price_per_gpu_hour_usd"] for row in rows]
    assert prices == sorted(prices)
    assert {row["gpu"] for row in rows} == {"mi300x"}
    assert client.get("/offers/?gpu=mi300x").status_code == 200
