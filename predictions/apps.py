"""Application settings of predictions."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class PredictionsConfig(AppConfig):
    """A scenario in, a prediction out."""

    name = "predictions"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = _("Predictions")
