"""The work of the counting job."""

import os
import time
from pathlib import Path
from typing import Any

from jobs.models import Job
from jobs.services import Handler


def compute(job: Job, start: int, stop: int) -> list[int]:
    """Takes `seconds`; fails at the unit `fail_at`; from the unit `gate_at` on waits until the file `gate` is there."""
    time.sleep(job.payload.get("seconds", 0.0))
    while start >= job.payload.get("gate_at", start + 1) and not Path(job.payload["gate"]).exists():
        time.sleep(0.05)
    if job.payload.get("fail_at") in range(start, stop):
        raise ValueError("told to fail")
    return list(range(start, stop))


def store(job: Job, start: int, stop: int, value: Any) -> None:
    """A row for each unit."""
    from tests.counting.models import CountedUnit

    CountedUnit.objects.bulk_create(CountedUnit(job=job.pk, unit=unit, process=os.getpid()) for unit in value)
    job.front = [{"last": stop}]


HANDLER = Handler(compute=compute, store=store, chunk_size=5)
