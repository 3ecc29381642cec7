"""The whole house in one command: ready, and gone without a trace."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests import services
from tests.services import ServedHouse, wait_until


def alive_with(folder: Path) -> list[str]:
    """Command lines of living processes that work in this installation."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if str(folder).encode() in (entry / "environ").read_bytes():
                    found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                continue
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_stops_all_it_started(number: int) -> None:
    with services.served_house() as house:
        process = house.processes[0]
        assert len(alive_with(house.folder)) >= 3, "the command, the web server, the worker"
        with urllib.request.urlopen(f"{house.url}/gpus/") as answer:
            assert answer.status == 200
        os.kill(process.pid, number)
        assert process.wait(20) == 0
        assert alive_with(house.folder) == []


def test_killed_worker_is_replaced_and_its_job_goes_on_at_once(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with services.served_house(ROOFTREE_JOB_LEASE_S="600", ROOFTREE_JOB_SWEEP_S="0.5") as house:
        arguments = f"kind='counting', payload={{'gate': '{gate}', 'gate_at': 10}}, total=30"
        house.manage("shell", "--no-imports", "--command", f"from jobs.services import *; job_create({arguments})")
        wait_until(lambda: house.query("SELECT done FROM jobs_job") == [(10,)], "the job to reach its gate")
        worker = int(house.query("SELECT worker FROM jobs_job")[0][0].rpartition(":")[2])
        os.kill(worker, signal.SIGKILL)
        gate.touch()
        wait_until(lambda: house.query("SELECT status FROM jobs_job") == [("done",)], "another worker to finish")
        assert house.query("SELECT unit FROM counting_countedunit ORDER BY unit") == [(unit,) for unit in range(30)]
        assert house.ready()


def test_killed_command_takes_its_children_along() -> None:
    with services.served_house() as house:
        house.processes[0].kill()
        wait_until(lambda: alive_with(house.folder) == [], "the children to end", 20)


def test_taken_port_is_said_in_a_sentence(served: ServedHouse) -> None:
    command = [sys.executable, "manage.py", "serve", "--port", str(served.port)]
    done = subprocess.run(command, cwd=services.ROOT, env=served.variables, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"Cannot listen on 127.0.0.1:{served.port}" in done.stderr
    assert "Traceback" not in done.stderr


def test_command_prepares_an_installation_that_was_never_started() -> None:
    with services.house() as house:
        assert house.manage("create_token", "zoe").startswith("rt_")
        assert house.query("SELECT count(*) FROM gpus_gpu") == [(93,)]


@pytest.mark.services
def test_the_same_house_on_postgres_and_redis(postgres_url: str, redis_url: str) -> None:
    with services.served_house(DATABASE_URL=postgres_url, CELERY_BROKER_URL=redis_url, REDIS_URL=redis_url) as house:
        for path in ("/gpus/?sort=-memory_gb&q=h100", "/models/?params_min=70", "/offers/", "/api/v1/gpus/mi300x/"):
            with urllib.request.urlopen(house.url + path) as answer:
                assert answer.status == 200
        house.manage("createsuperuser", "--noinput", "--username", "ada", "--email", "ada@example.org")
        token = house.manage("create_token", "ada").strip()
        offer = {
            "provider": "own", "instance_type": "8x", "gpu": "mi300x", "price_per_gpu_hour_usd": 2, "date": "2026", "source": "us",
        }  # fmt: skip
        headers = {"Authorization": f"Token {token}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{house.url}/api/v1/offers/", json.dumps(offer).encode(), headers)
        with urllib.request.urlopen(request) as answer:
            assert answer.status == 201
