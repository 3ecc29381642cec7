"""Application settings of planner."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class PlannerConfig(AppConfig):
    """Scenarios, comparisons, case studies, sweeps: the pages of the main job."""

    name = "planner"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = _("Planner")

    def ready(self) -> None:
        """Sweeps are a kind of job."""
        from jobs.services import register
        from planner.sweeps import HANDLER, KIND

        register(KIND, HANDLER)
