"""Application settings of faces."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class FacesConfig(AppConfig):
    """Shared parts of all catalogues; no tables."""

    name = "faces"
    verbose_name = _("Faces")
