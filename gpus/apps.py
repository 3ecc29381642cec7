"""Application settings of gpus."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class GpusConfig(AppConfig):
    """The catalogue of accelerators, links and nodes."""

    name = "gpus"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = _("Accelerators")
