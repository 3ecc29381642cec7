"""`manage.py serve`: the whole house in one command."""

import os
import shutil
import socket
import time
import urllib.error
import urllib.request
import warnings
from functools import partial
from multiprocessing.context import ForkProcess
from typing import Any

from celery.platforms import SecurityWarning
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.services import setup_link_create, setup_needed
from config import processes
from config.celery import app
from jobs.services import worker_lost

START_S = 60.0
RESTART_S = 1.0  # so that a worker that cannot live does not spin
# One worker that runs jobs in its own process: a job is one core's work, and a kill leaves nothing behind.
WORKER = (
    "--quiet", "worker", "--pool", "solo",
    "--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "WARNING",
)  # fmt: skip


def _check_port(host: str, port: int) -> None:
    """CommandError when somebody listens there already."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise CommandError(f"Cannot listen on {host}:{port}: {error.strerror}. Try make run PORT=8001.") from error


def _web(host: str, port: int) -> None:
    from config.web import Web  # gunicorn is needed in this child alone

    Web(host, port).run()


def _worker() -> None:
    warnings.simplefilter("ignore", SecurityWarning)  # in a container one is root, and messages are JSON only
    app.worker_main(WORKER)


def _share_metrics() -> None:
    """Give the web processes a fresh folder in which they add up their metrics."""
    folder = settings.DATA_DIR / "metrics"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)


def _wait_ready(url: str, web: ForkProcess) -> None:
    """Return when the page answers; CommandError when the server ends or takes too long."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and web.is_alive():
        try:
            with urllib.request.urlopen(f"{url}/healthz", timeout=5):  # noqa: S310 (our own address)
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    raise CommandError("The web server did not start; its message stands above.")


class Command(BaseCommand):
    """Prepares, starts web and worker, prints the address, stops both on Ctrl-C or SIGTERM."""

    help = "Prepare, then run the web server and one worker until Ctrl-C."
    # Checks are for those who change the code; they would also import the metrics before their folder is named.
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
        parser.add_argument("--port", type=int, default=8000, help="port to listen on")
        parser.add_argument("--no-worker", action="store_true", help="web only; workers run elsewhere")
        parser.add_argument("--end-with-parent", action="store_true", help="stop when the calling process ends")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["end_with_parent"]:
            processes.die_with_parent()
        os.chdir(settings.BASE_DIR)
        _check_port(options["host"], options["port"])
        _share_metrics()
        call_command("prepare", stdout=self.stdout)
        processes.stop_on_signals()
        self._run(options)

    def _run(self, options: dict[str, Any]) -> None:
        children: list[ForkProcess] = []
        try:
            children.append(processes.start("web server", partial(_web, options["host"], options["port"])))
            if not options["no_worker"]:
                children.append(processes.start("worker", _worker))
            self._announce(options, children[0])
            self._watch(children)
        except processes.Stopped:
            self.stdout.write("\nStopping.")
        finally:
            processes.stop(children)

    def _watch(self, children: list[ForkProcess]) -> None:
        """A worker that ends is started again, and what it held is free for it; without the web server all ends."""
        while (ended := processes.wait_any(children)) is not children[0]:
            self.stderr.write(f"The worker ended with status {ended.exitcode}; another takes over.")
            worker_lost(pid=ended.pid or 0)
            time.sleep(RESTART_S)
            children[children.index(ended)] = processes.start("worker", _worker)
        raise CommandError(f"The web server ended with status {ended.exitcode}.")

    def _announce(self, options: dict[str, Any], web: ForkProcess) -> None:
        host = "127.0.0.1" if options["host"] in ("0.0.0.0", "::") else options["host"]  # noqa: S104
        url = f"http://[{host}]:{options['port']}" if ":" in host else f"http://{host}:{options['port']}"
        _wait_ready(url, web)
        self.stdout.write(f"\nRooftree is at {url}/")
        if setup_needed():
            self.stdout.write(f"First sign-in (once, within a day): {url}{setup_link_create()}")
        self.stdout.write("Ctrl-C stops it.")
        self.stdout.flush()
