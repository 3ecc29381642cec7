"""Application settings of costs."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class CostsConfig(AppConfig):
    """Offers, purchase prices and the cost of a run."""

    name = "costs"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = _("Costs")
