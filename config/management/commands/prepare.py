"""`manage.py prepare`: everything an installation needs before it serves."""

from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand


class Command(BaseCommand):
    """Migrates, makes the cache table and loads the shipped facts. Safe to run at each start."""

    help = "Migrate, make the cache table, load the shipped facts."

    def handle(self, *args: Any, **options: Any) -> None:
        call_command("migrate", verbosity=0, interactive=False)
        call_command("seed", stdout=self.stdout)
