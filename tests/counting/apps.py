"""A kind of job for tests: it writes one row for each unit of work, slowly."""

from django.apps import AppConfig


class CountingConfig(AppConfig):
    """Registers the kind."""

    name = "tests.counting"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from jobs.services import register
        from tests.counting.work import HANDLER

        register("counting", HANDLER)
