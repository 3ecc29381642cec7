"""Hold the engine against a table of measurements: each row is predicted by coefficients that saw no row of its fold."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from roofline.validation import KINDS, validate
from roofline.validation.report import report, write_residuals


class Command(BaseCommand):
    """`manage.py validate TABLE.csv --kind training|inference|serving_memory|ops [--out residuals.csv]`"""

    help = "Prints the errors of the engine on a table of measurements as JSON."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("table", help="CSV with the columns of the shipped tables of that kind.")
        parser.add_argument("--kind", required=True, choices=KINDS)
        parser.add_argument("--out", help="Write the compared figures to this CSV file.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            outcome = validate(options["table"], options["kind"])
        except OSError as error:
            raise CommandError(f"{options['table']}: {error.strerror}") from error
        except ValueError as error:
            raise CommandError(f"{options['table']}: {error}") from error
        self.stdout.write(json.dumps(report(options["kind"], outcome), allow_nan=False))
        if options["out"]:
            write_residuals(options["out"], outcome.residuals)
        if outcome.rows and not outcome.predicted:
            why = ", ".join(f"{reason} ({count:,})" for reason, count in outcome.skipped.items())
            raise CommandError(f"{options['table']}: none of {outcome.rows:,} rows could be predicted: {why}")
