"""Addresses of prices."""

from django.urls import path
from rest_framework.routers import SimpleRouter

from costs import views
from costs.api import OfferViewSet

urlpatterns = [
    path("offers/", views.offers, name="offers"),
    path("offers.json", views.offers, {"form": "json"}, name="offers-json"),
    path("offers.csv", views.offers, {"form": "csv"}, name="offers-csv"),
    path("offers/new/", views.offer_new, name="offer-new"),
    path("offers/import/", views.offers_import, name="offers-import"),
    path("offers/<int:pk>.json", views.offer, {"form": "json"}, name="offer-json"),
    path("offers/<int:pk>/", views.offer, name="offer"),
    path("offers/<int:pk>/edit/", views.offer_edit, name="offer-edit"),
]

router = SimpleRouter()
router.register("offers", OfferViewSet, basename="api-offer")
api_urlpatterns = router.urls
