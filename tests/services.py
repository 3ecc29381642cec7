"""Real servers for tests: PostgreSQL, Redis, Chromium, workers, the whole house; on free ports, gone afterwards."""

from __future__ import annotations

import atexit
import os
import pwd
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cache
from glob import glob
from pathlib import Path
from typing import Any

import psycopg
import pytest

from config.processes import die_with_parent

ROOT = Path(__file__).resolve().parent.parent
PATIENCE_S = 180.0
DATABASE = "house.sqlite3"
MIGRATE = ("migrate", "--run-syncdb", "--verbosity", "0")  # and the tables of the tests' own app


def missing(what: str, package: str) -> None:
    """Skip the test that needs `what`, or fail where everything must run."""
    message = f"{what} is missing: apt-get install {package}"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


def find_program(package: str, *names: str) -> str:
    """The path of the first of these programs that is there."""
    for name in names:
        found = shutil.which(name) or max(glob(f"/usr/lib/postgresql/*/bin/{name}"), default=None)
        if found:
            return found
    missing(names[0], package)
    raise AssertionError("unreachable")


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_until(condition: Callable[[], object], what: str, patience: float = PATIENCE_S) -> None:
    """Wait for `condition`; fail with `what` when it does not come about."""
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(f"waited {patience:.0f} s for {what}")
        time.sleep(0.05)


def end(process: subprocess.Popen[bytes], number: int = signal.SIGTERM) -> None:
    """End a process and its group, and wait for it."""
    try:
        os.killpg(process.pid, number)
        process.wait(10)
    except (ProcessLookupError, subprocess.TimeoutExpired):
        process.kill()
        process.wait()


def answers(port: int) -> bool:
    """Whether something listens on the port."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def redis_server() -> Iterator[str]:
    """A Redis of its own; yields its address."""
    program, port = find_program("redis-server", "redis-server"), free_port()
    command = [program, "--port", str(port), "--save", "", "--appendonly", "no", "--bind", "127.0.0.1"]
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.DEVNULL, start_new_session=True, preexec_fn=die_with_parent
        )
        try:
            wait_until(lambda: answers(port), "Redis")
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            end(process)


def _as_postgres(command: list[str]) -> list[str]:
    """PostgreSQL refuses to run as root."""
    return ["runuser", "-u", "postgres", "--", *command] if os.getuid() == 0 else command


def _postgres_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="rooftree-postgres-"))
    if os.getuid() == 0:
        os.chown(folder, pwd.getpwnam("postgres").pw_uid, -1)
    return folder


def _postgres_ready(address: str) -> bool:
    try:
        psycopg.connect(address).close()
    except psycopg.OperationalError:
        return False
    return True


@contextmanager
def postgres_server() -> Iterator[str]:
    """A PostgreSQL of its own; yields the address of its empty database."""
    initdb, server = find_program("postgresql", "initdb"), find_program("postgresql", "postgres")
    folder, port = _postgres_folder(), free_port()
    data = str(folder / "data")
    quiet: Any = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(
        _as_postgres([initdb, "-D", data, "-U", "rooftree", "-A", "trust", "--no-sync"]), check=True, **quiet
    )
    options = ["-p", str(port), "-k", str(folder), "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"]
    process = subprocess.Popen(_as_postgres([server, "-D", data, *options]), start_new_session=True, **quiet)
    address = f"postgres://rooftree@127.0.0.1:{port}/postgres"
    try:
        wait_until(lambda: _postgres_ready(address), "PostgreSQL")
        yield address
    finally:
        end(process, signal.SIGINT)
        shutil.rmtree(folder, ignore_errors=True)


def chromium_path() -> str:
    """The system's Chromium."""
    return find_program("chromium", "chromium", "chromium-browser")


@dataclass
class House:
    """An installation in a folder of its own: commands, workers and the served pages."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def variables(self) -> dict[str, str]:
        """What its processes find in their environment."""
        kept = {
            key: value for key, value in os.environ.items() if not key.startswith(("ROOFTREE_", "CELERY_", "DATABASE_"))
        }
        return {
            **kept,
            "ROOFTREE_DATA_DIR": str(self.folder),
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "CELERY_BROKER_URL": "filesystem://",
            "ROOFTREE_LOG_LEVEL": "WARNING",
            "DATABASE_URL": f"sqlite:///{self.folder / DATABASE}",
            **self.environment,
        }

    def manage(self, *arguments: str, stdin: str = "") -> str:
        """Run a management command; returns what it prints."""
        command = [sys.executable, "manage.py", *arguments]
        done = subprocess.run(  # noqa: PLW1510
            command, cwd=ROOT, env=self.variables, input=stdin, text=True, capture_output=True, timeout=PATIENCE_S
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows straight from its database: quicker than starting a command."""
        address = self.variables["DATABASE_URL"]
        if address.startswith("sqlite:///"):
            with closing(sqlite3.connect(address.removeprefix("sqlite:///"), timeout=20)) as connection:
                return connection.execute(sql).fetchall()
        with psycopg.connect(address) as connection:
            return connection.execute(sql.encode()).fetchall()

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        """Start a process in a session of its own; it ends with the house, and with these tests if they are killed."""
        process = subprocess.Popen(
            command, cwd=ROOT, env=self.variables, start_new_session=True, preexec_fn=die_with_parent
        )
        self.processes.append(process)
        return process

    def worker(self) -> subprocess.Popen[bytes]:
        """Start a Celery worker as `manage.py serve` does."""
        from config.management.commands.serve import WORKER

        return self.start(sys.executable, "-m", "celery", "--app", "config", *WORKER)

    def end(self) -> None:
        """End what still runs."""
        for process in self.processes:
            if process.poll() is None:
                end(process)


@dataclass
class ServedHouse(House):
    """An installation that `manage.py serve` runs."""

    port: int = field(default_factory=free_port)

    @property
    def url(self) -> str:
        """Its address, without a slash at the end."""
        return f"http://127.0.0.1:{self.port}"

    def ready(self) -> bool:
        """Whether it says that it is ready."""
        try:
            with urllib.request.urlopen(f"{self.url}/healthz", timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def serve(self) -> subprocess.Popen[bytes]:
        """Start it, and wait until it is ready."""
        process = self.start(sys.executable, "manage.py", "serve", "--port", str(self.port))
        wait_until(self.ready, "the served house")
        return process


@cache
def _database(*preparation: str) -> Path:
    """A SQLite file after this command, made once for all houses of this process."""
    folder = Path(tempfile.mkdtemp(prefix="rooftree-template-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    made = House(folder)
    made.manage(*MIGRATE)
    if preparation != MIGRATE:
        made.manage(*preparation)
    with closing(sqlite3.connect(folder / DATABASE)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return folder / DATABASE


def _prepare(made: House, *preparation: str) -> None:
    """Begin with what the command leaves: a copy on SQLite, the command itself elsewhere."""
    if "DATABASE_URL" in made.environment:
        made.manage(*MIGRATE)
    else:
        shutil.copy(_database(*preparation), made.folder / DATABASE)


@contextmanager
def house(**environment: str) -> Iterator[House]:
    """A migrated installation without any process."""
    with tempfile.TemporaryDirectory(prefix="rooftree-house-", ignore_cleanup_errors=True) as folder:
        made = House(Path(folder), environment)
        try:
            _prepare(made, *MIGRATE)
            yield made
        finally:
            made.end()


@contextmanager
def served_house(**environment: str) -> Iterator[ServedHouse]:
    """A whole installation, served."""
    with tempfile.TemporaryDirectory(prefix="rooftree-house-", ignore_cleanup_errors=True) as folder:
        made = ServedHouse(Path(folder), environment)
        try:
            _prepare(made, "prepare")
            made.serve()
            yield made
        finally:
            made.end()
