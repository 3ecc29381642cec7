"""The one Celery task, and the sweep that every worker makes while it lives."""

import os
import threading
from typing import Any

from celery import shared_task
from celery.signals import worker_ready, worker_shutting_down
from celery.worker import state
from django.conf import settings
from django.db import DatabaseError, close_old_connections
from kombu.exceptions import OperationalError

from jobs import services

_stop = threading.Event()


def _stopping() -> bool:
    """Whether this worker was told to stop."""
    return _stop.is_set() or state.should_stop is not None or state.should_terminate is not None


@shared_task(name="jobs.run")
def run_job(job_id: str) -> None:
    """Work off one job."""
    services.job_run(job_id=job_id, worker=services.worker_name(os.getpid()), stopping=_stopping)


def _sweep_forever() -> None:
    """Looks for left-behind jobs until the worker stops; a database that is away is tried again."""
    while not _stop.wait(settings.ROOFTREE_JOB_SWEEP_S):
        close_old_connections()
        try:
            services.jobs_sweep()
        except (DatabaseError, OperationalError):
            services.logger.warning("the sweep for left-behind jobs failed", exc_info=True)


@worker_ready.connect
def start_sweeping(**kwargs: Any) -> None:
    """One thread of a worker sweeps."""
    threading.Thread(target=_sweep_forever, name="jobs-sweep", daemon=True).start()


@worker_shutting_down.connect
def stop_sweeping(**kwargs: Any) -> None:
    """The sweep ends, and the running job is given back after its chunk."""
    _stop.set()
