"""`manage.py seed`: load the facts that ship with the project."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from config.seeding import seed_all


class Command(BaseCommand):
    """Loads catalogues, prices, case studies and reference runs; does nothing for those whose data did not change."""

    help = "Load the facts that ship with the project, those that changed since the last time."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--force", action="store_true", help="load them even if nothing changed")

    def handle(self, *args: Any, **options: Any) -> None:
        for line in seed_all(force=options["force"]):
            self.stdout.write(line)
