"""Commands that need the catalogues, on an installation that was never started."""

import sys
from typing import Any

from django.apps import apps
from django.core.management import call_command
from django.core.management.base import BaseCommand, OutputWrapper
from django.db import connection


def catalogue_loaded() -> bool:
    """Whether the database has its tables and holds the accelerators."""
    loads = apps.get_model("jobs", "DataLoad")  # by name: jobs is a floor above
    if loads._meta.db_table not in connection.introspection.table_names():
        return False
    return loads._default_manager.filter(app="gpus").exists()


class ReadyCommand(BaseCommand):
    """A command that first prepares an empty installation, telling so on standard error."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        if not catalogue_loaded():
            call_command("prepare", stdout=OutputWrapper(sys.stderr))
        return super().execute(*args, **options)
