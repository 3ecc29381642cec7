"""Application settings of config."""

from typing import Any

from django.apps import AppConfig, apps
from django.core.management import call_command
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class ConfigConfig(AppConfig):
    """Wiring and the commands that run the house."""

    name = "config"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = _("Rooftree")

    def ready(self) -> None:
        """Throttles count in the cache's table: whoever migrates has it, too."""
        # The signal is sent for apps with models only; accounts stands for the house.
        post_migrate.connect(make_cache_table, sender=apps.get_app_config("accounts"))


def make_cache_table(using: str = "default", **kwargs: Any) -> None:
    """The table of the database cache; nothing where it is there or the cache is another."""
    call_command("createcachetable", database=using, verbosity=0)
