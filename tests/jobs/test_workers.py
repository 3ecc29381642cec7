"""Real workers, killed in the middle: every unit is done, and done once."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from tests import services
from tests.services import House, wait_until

UNITS = 60
PACE = {"ROOFTREE_JOB_LEASE_S": "2", "ROOFTREE_JOB_SWEEP_S": "0.5"}


def create(house: House, total: int = UNITS, **payload: Any) -> str:
    """Make a counting job in another process, as a web server does; returns its id as the database writes it."""
    arguments = f"kind='counting', payload={payload!r}, total={total}"
    code = f"from jobs.services import job_create; print(job_create({arguments}).pk)"
    printed = house.manage("shell", "--no-imports", "--command", code).strip().splitlines()[-1]
    return printed if "postgres" in house.variables["DATABASE_URL"] else printed.replace("-", "")


def row(house: House, job: str) -> tuple[str, int, int]:
    """(status, done, attempts)."""
    status, done, attempts = house.query(f"SELECT status, done, attempts FROM jobs_job WHERE id = '{job}'")[0]
    return status, done, attempts


def units(house: House, job: str) -> list[int]:
    rows = house.query(f"SELECT unit FROM counting_countedunit WHERE job = '{job}' ORDER BY unit")
    return [unit for (unit,) in rows]


def finish(house: House, job: str) -> None:
    wait_until(lambda: row(house, job)[0] == "done", "the job to finish")
    assert units(house, job) == list(range(UNITS))


def check_killed_worker_is_taken_over(house: House, gate: Path) -> None:
    first = house.worker()
    job = create(house, gate=str(gate), gate_at=20)
    wait_until(lambda: row(house, job)[1] == 20, "the first worker to reach the gate")
    services.end(first, signal.SIGKILL)
    assert row(house, job)[:2] == ("running", 20)
    gate.touch()
    house.worker()
    finish(house, job)
    assert row(house, job)[2] >= 2
    processes = house.query(f"SELECT DISTINCT process FROM counting_countedunit WHERE job = '{job}'")
    assert len(processes) == 2


def test_killed_worker_is_taken_over_on_the_embedded_broker(tmp_path: Path) -> None:
    with services.house(**PACE) as house:
        check_killed_worker_is_taken_over(house, tmp_path / "gate")


@pytest.mark.services
def test_killed_worker_is_taken_over_on_redis_and_postgres(redis_url: str, postgres_url: str, tmp_path: Path) -> None:
    with services.house(CELERY_BROKER_URL=redis_url, REDIS_URL=redis_url, DATABASE_URL=postgres_url, **PACE) as house:
        check_killed_worker_is_taken_over(house, tmp_path / "gate")


def test_worker_that_is_told_to_stop_gives_the_job_back_at_once() -> None:
    with services.house(ROOFTREE_JOB_LEASE_S="600", ROOFTREE_JOB_SWEEP_S="0.5") as house:
        first = house.worker()
        job = create(house, seconds=0.3)
        wait_until(lambda: row(house, job)[1] > 0, "the first chunk")
        services.end(first)
        assert row(house, job)[0] == "queued"
        house.worker()
        finish(house, job)


def test_three_workers_do_each_unit_once() -> None:
    with services.house(**PACE) as house:
        for _ in range(3):
            house.worker()
        for job in [create(house, seconds=0.02) for _ in range(2)]:
            finish(house, job)
        assert not list((house.folder / "broker" / "queue").iterdir())


def test_lost_message_is_sent_again(tmp_path: Path) -> None:
    with services.house(ROOFTREE_JOB_LEASE_S="1", ROOFTREE_JOB_SWEEP_S="0.5") as house:
        job = create(house)
        for message in (house.folder / "broker" / "queue").iterdir():
            message.unlink()
        house.worker()
        finish(house, job)
