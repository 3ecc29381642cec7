"""Pages of prices."""

from collections.abc import Mapping

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from costs.filters import OfferFilter
from costs.forms import OfferForm
from costs.models import Offer
from costs.selectors import offers_visible
from costs.serializers import OfferSerializer
from faces.history import changes
from faces.imports import import_page
from faces.lists import Column, Listing, listing_response
from faces.numbers import usd
from faces.tables import Importer

KEY = ("provider", "instance_type", "gpu", "region", "purchase_model", "date", "source")
LONGEST_ID = 19
ATTRIBUTES = {"date": "date_stated", "gpu": "gpu__slug", "instance_type": "machine"}
LISTING = Listing(
    title=_("Prices"),
    about=_(
        "Offers per accelerator and hour, each with its date and source. "
        "A prediction without a price takes the median current on-demand offer."
    ),
    columns=(
        Column("gpu.slug", _("GPU"), link=lambda offer: reverse("gpu", args=[offer.gpu.slug])),
        Column("provider", _("Provider")),
        Column("machine", _("Instance"), link=lambda offer: reverse("offer", args=[offer.pk])),
        Column("region", _("Region")),
        Column("get_purchase_model_display", _("Bought as"), write=lambda label: str(label()), sort="purchase_model"),
        Column("price_per_gpu_hour_usd", _("Per GPU and hour"), number=True, write=usd),
        Column("date_stated", _("Date"), number=True, sort="date"),
        Column("source", _("Source")),
    ),
    filters=OfferFilter,
    serializer=OfferSerializer,
    new_url="offer-new",
    import_url="offers-import",
)


def _find(cells: Mapping[str, str]) -> Offer | None:
    """The offer with the id of the line, or with the same provider, instance, place, kind, date and source."""
    if (key := cells.get("id", "")).isdecimal() and len(key) < LONGEST_ID:
        return Offer.objects.filter(pk=int(key)).first()
    wanted = {name: cells.get(name, "") for name in KEY}
    return Offer.objects.filter(**{ATTRIBUTES.get(name, name): value for name, value in wanted.items()}).first()


IMPORTER = Importer(serializer=OfferSerializer, find=_find, key=KEY)


def offers(request: HttpRequest, form: str = "html") -> HttpResponse:
    """All offers."""
    return listing_response(request, LISTING, offers_visible(request.user), form)


def offer(request: HttpRequest, pk: int, form: str = "html") -> HttpResponse:
    """One offer, its source, its history."""
    row = get_object_or_404(offers_visible(request.user), pk=pk)
    if form == "json":
        return JsonResponse(OfferSerializer(row).data)
    facts = [(name, value) for name, value in OfferSerializer(row).data.items() if value not in (None, "")]
    return render(request, "costs/offer.html", {"offer": row, "facts": facts, "changes": list(changes(row))})


@login_required
def offer_new(request: HttpRequest) -> HttpResponse:
    """Add an offer."""
    return _edit(request, None)


@login_required
def offer_edit(request: HttpRequest, pk: int) -> HttpResponse:
    """Change an offer; its history keeps what it was."""
    return _edit(request, get_object_or_404(offers_visible(request.user), pk=pk))


def _edit(request: HttpRequest, row: Offer | None) -> HttpResponse:
    form = OfferForm(request.POST or None, instance=row)
    if form.is_valid():
        if row is None:
            form.instance.owner = request.user
        return redirect("offer", form.save().pk)
    title = row or _("New offer")
    return render(request, "faces/edit.html", {"form": form, "title": title, "back_url": reverse("offers")})


@login_required
def offers_import(request: HttpRequest) -> HttpResponse:
    """Add and change offers by a CSV file."""
    return import_page(request, IMPORTER, title=_("Import prices"), done_url=reverse("offers"))
