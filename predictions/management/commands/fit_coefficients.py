"""Fit the engine's coefficients to the shipped measurements again; the same data give the same files to the digit."""

from collections.abc import Callable
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from roofline.fitting import memory, ops, serving, training, training_memory

# In the order in which they build on each other.
STEPS: dict[str, Callable[[], Any]] = {
    "ops": ops.fit_all,
    "memory": memory.main,
    "training_memory": training_memory.main,
    "serving": serving.main,
    "training": training.main,
}


class Command(BaseCommand):
    """`manage.py fit_coefficients [ops|memory|serving|training …]`"""

    help = "Writes roofline/coefficients/*.csv from roofline/data/measurements; some minutes of one core."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("steps", nargs="*", help=f"Some of {', '.join(STEPS)}; all without any.")

    def handle(self, *args: Any, **options: Any) -> None:
        unknown = [step for step in options["steps"] if step not in STEPS]
        if unknown:
            self.stderr.write(f"Unknown: {', '.join(unknown)}. Allowed: {', '.join(STEPS)}.")
            raise SystemExit(2)
        for step in options["steps"] or STEPS:
            self.stdout.write(f"fitting {step} …")
            STEPS[step]()
