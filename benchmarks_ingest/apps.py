"""Application settings of benchmarks_ingest."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class BenchmarksIngestConfig(AppConfig):
    """Uploaded benchmarks, parsed and compared."""

    name = "benchmarks_ingest"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = _("Measured runs")

    def ready(self) -> None:
        """Reading uploads and comparing runs are kinds of jobs."""
        from benchmarks_ingest.services import COMPARE, PARSE
        from benchmarks_ingest.work import COMPARING, PARSING
        from jobs.services import register

        register(PARSE, PARSING)
        register(COMPARE, COMPARING)
