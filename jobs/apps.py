"""Application settings of jobs."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class JobsConfig(AppConfig):
    """The job row: claim, lease, progress, cancel, resume."""

    name = "jobs"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = _("Jobs")
