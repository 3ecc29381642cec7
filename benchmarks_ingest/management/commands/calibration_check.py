"""Whether a calibration helps: fitted to half of the public reference runs, judged on the other half."""

import json
from typing import Any

from django.core.management.base import BaseCommand

from benchmarks_ingest.calibrations import half_and_half


class Command(BaseCommand):
    """`manage.py calibration_check`"""

    help = (
        "Fits a calibration to one half of the reference runs and prints the median error on the other half before and "
        "after, both ways round: halves of runs (as when a user's own runs calibrate more of the same) and halves of "
        "configurations (nothing of the model on that GPU with that software was seen)."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        for split, whole in (("runs", False), ("configurations", True)):
            self.stdout.write(json.dumps({"split": split, **half_and_half(by_configuration=whole)}))
