"""The speed of the engine, of the what-if answer and of other estimators, printed, never asserted."""

import json
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from predictions.services import predict, predict_many
from roofline import bench, peers

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


def _peers(single: float, listed: float) -> dict[str, Any]:
    """Seconds for one estimate of each peer, and how many of ours take as long: alone, and in a long list."""
    python = Path(settings.BASE_DIR) / ".peers" / "bin" / "python"
    if not python.exists():
        return dict.fromkeys(peers.PEERS, "not installed (make peers)")
    done = subprocess.run([str(python), str(peers.__file__)], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    for timed in found.values():
        timed |= {"ratio_single": round(timed["seconds"] / single, 1), "ratio_listed": round(timed["seconds"] / listed)}
    return {name: found.get(name, "not installed (make peers)") for name in peers.PEERS}


class Command(BaseCommand):
    """`manage.py bench`"""

    help = "Times a million scenarios on arrays, scenarios from JSON to JSON, and the peers that are installed."

    def handle(self, *args: Any, **options: Any) -> None:
        many = [{**LAID_OUT, "inference": {"concurrency": 1 + place % 512}} for place in range(10_000)]
        began = time.perf_counter()
        predict_many(many, detail=False)
        listed = round(time.perf_counter() - began, 3)
        report: dict[str, Any] = bench.measure() | {
            "json_serving_layout_given_ms": _milliseconds(lambda: predict(LAID_OUT)),
            "json_serving_layout_chosen_ms": _milliseconds(lambda: predict(SERVING)),
            "json_training_layout_chosen_ms": _milliseconds(lambda: predict(TRAINING)),
            "json_10000_scenarios_s": listed,
        }
        report["peers"] = _peers(report["single_serving_ms"] / 1e3, report["seconds"] / report["scenarios"])
        self.stdout.write(json.dumps(report, indent=2))
