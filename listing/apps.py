"""Application settings of listing."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ListingConfig(AppConfig):
    """Shared parts of all catalogues; no tables."""

    name = "listing"
    verbose_name = _("Lists")
