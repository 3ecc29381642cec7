"""Application settings of config."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ConfigConfig(AppConfig):
    """Wiring and the commands that run the house."""

    name = "config"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = _("Rooftree")
