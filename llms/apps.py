"""Application settings of llms."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class LlmsConfig(AppConfig):
    """The catalogue of language models."""

    name = "llms"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = _("Language models")
