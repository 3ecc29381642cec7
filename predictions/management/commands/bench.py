"""The speed of the engine and of the what-if answer, printed, never asserted."""

import json
import statistics
import time
from collections.abc import Callable
from typing import Any

from django.core.management.base import BaseCommand

from predictions.services import predict, predict_many
from roofline import bench

SERVING = {"workload": "inference", "model": "meta-llama/Meta-Llama-3.1-70B", "gpu": "h100-sxm5-80gb", "gpu_count": 8}
TRAINING = {**SERVING, "workload": "training", "gpu_count": 64}
LAID_OUT = {**SERVING, "parallelism": {"tp": 8, "pp": 1, "cp": 1, "dp": 1, "ep": 1}}


def _milliseconds(act: Callable[[], Any], times: int = 50) -> float:
    act()
    spent = []
    for _ in range(times):
        began = time.perf_counter()
        act()
        spent.append(time.perf_counter() - began)
    return round(statistics.median(spent) * 1e3, 3)


class Command(BaseCommand):
    """`manage.py bench`"""

    help = "Times a million scenarios on arrays, and single and listed scenarios from JSON to JSON."

    def handle(self, *args: Any, **options: Any) -> None:
        many = [{**LAID_OUT, "inference": {"concurrency": 1 + place % 512}} for place in range(10_000)]
        began = time.perf_counter()
        predict_many(many, detail=False)
        listed = round(time.perf_counter() - began, 3)
        report = bench.measure() | {
            "json_serving_layout_given_ms": _milliseconds(lambda: predict(LAID_OUT)),
            "json_serving_layout_chosen_ms": _milliseconds(lambda: predict(SERVING)),
            "json_training_layout_chosen_ms": _milliseconds(lambda: predict(TRAINING)),
            "json_10000_scenarios_s": listed,
        }
        self.stdout.write(json.dumps(report, indent=2))
