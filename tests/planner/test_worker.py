"""A sweep whose worker is killed in the middle: another one finishes it, every point computed once."""

from __future__ import annotations

import json
import signal

from tests import services
from tests.services import House, wait_until

SPACE = {
    "workload": "inference",
    "model": "llama-3.1-8b",
    "gpu": {"values": ["h100-sxm", "h200-sxm", "a100-sxm4-80gb", "l40s-48gb"]},
    "gpu_count": 1,
    "parallelism": {"tp": 1},
    "inference": {
        "weights": {"values": ["bf16", "fp8"]},
        "input_tokens": {"from": 128, "to": 4096, "step": 128},
        "concurrency": {"from": 1, "to": 16, "step": 1},
    },
}
POINTS = 4 * 2 * 32 * 16


def start(house: House) -> str:
    """Start the sweep in another process, as a web server does; returns its id as SQLite keeps it."""
    code = f"from planner.sweeps import sweep_create; print(sweep_create(owner=None, space={json.dumps(SPACE)}).pk)"
    return house.manage("shell", "--no-imports", "--command", code).strip().splitlines()[-1].replace("-", "")


def state(house: House) -> tuple[str, int]:
    return house.query("SELECT status, done FROM jobs_job")[0]


def test_killed_sweep_is_finished_with_every_point_once() -> None:
    with services.house(ROOFTREE_JOB_LEASE_S="3", ROOFTREE_JOB_SWEEP_S="0.5") as house:
        house.manage("seed")
        sweep = start(house)
        first = house.worker()
        wait_until(lambda: state(house)[1] > 0, "the first chunk")
        services.end(first, signal.SIGKILL)
        status, stored = state(house)
        assert (status, stored < POINTS) == ("running", True)
        house.worker()
        wait_until(lambda: state(house)[0] == "done", "the second worker to finish the sweep", 180)
        chunks = house.query(
            f"SELECT first, last, rows FROM planner_sweepchunk WHERE sweep_id = '{sweep}' ORDER BY first"
        )
        numbers = [row["n"] for _first, _last, rows in chunks for row in json.loads(rows)]
        assert numbers == list(range(POINTS))
        assert [first for first, _last, _rows in chunks[1:]] == [last for _first, last, _rows in chunks[:-1]]
        front = json.loads(house.query("SELECT front FROM jobs_job")[0][0])
        assert {point["front"] for point in front} == {"speed", "cost"}
