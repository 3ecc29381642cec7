"""The two kinds of background jobs: reading an upload, and holding runs against their predictions."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection
from django.utils import timezone

from benchmarks_ingest import services, storage
from benchmarks_ingest.figures import compared
from benchmarks_ingest.models import SAMPLE_RANGE, MeasuredRun, RunFigure, RunStatus, Upload
from benchmarks_ingest.scenarios import lengths_missing, run_scenario
from jobs.models import Job
from jobs.services import Handler
from predictions.services import predict_many

logger = logging.getLogger(__name__)
CHUNK = 200


def _upload(job: Job) -> Upload:
    return Upload.objects.select_related("owner").get(pk=job.payload["upload"])


def _parse(job: Job, start: int, stop: int) -> services.Parsed:
    upload = _upload(job)
    with lease_kept(job):
        return services.upload_parse(upload, services.upload_reports(upload, storage.bytes_read(upload.sha256)))


@contextmanager
def lease_kept(job: Job) -> Iterator[None]:
    """Renew the job's lease while its one long unit is worked on; a killed process takes its thread with it."""
    over = threading.Event()
    renewing = threading.Thread(target=_renew, args=(job, over), name="lease", daemon=True)
    renewing.start()
    try:
        yield
    finally:
        over.set()
        renewing.join()


def _renew(job: Job, over: threading.Event) -> None:
    lease = timedelta(seconds=settings.ROOFTREE_JOB_LEASE_S)
    held = Job.objects.filter(pk=job.pk).held_by(job.worker, job.attempts)
    while not over.wait(lease.total_seconds() / 3):
        try:
            held.update(lease_until=timezone.now() + lease)
        except DatabaseError:
            logger.warning("the lease of job %s could not be renewed", job.pk, exc_info=True)
        finally:
            connection.close()


def _store(job: Job, start: int, stop: int, value: services.Parsed) -> None:
    services.upload_store(_upload(job), value)


def _upload_url(job: Job) -> str:
    return f"/api/v1/uploads/{job.payload['upload']}/"


def runs_compared(runs: Sequence[MeasuredRun]) -> tuple[list[RunFigure], dict[int, str]]:
    """Figures of runs beside what the shipped engine predicts, which has seen none of them; and, by run, why one
    has no prediction."""
    answers = predict_many([run_scenario(run) for run in runs], detail=False, calibrated=False)
    figures: list[RunFigure] = []
    problems: dict[int, str] = {}
    for run, answer in zip(runs, answers, strict=True):
        missing = lengths_missing(run.data)
        if missing or "error" in answer:
            problems[run.pk] = f"The file does not state: {missing}." if missing else answer["error"]["message"]
            continue
        if not answer["memory"]["fits"]:
            problems[run.pk] = "The planner says that this run does not fit into the memory of its GPUs."
        figures += [figure_row(run, one) for one in compared(run.data, run.gpu_count, answer)]
    return figures, problems


def figure_row(run: MeasuredRun, one: Any) -> RunFigure:
    """A compared figure as a row, with what lists filter by."""
    return RunFigure(
        run=run,
        quantity=one.quantity,
        measured=one.measured,
        predicted=one.predicted,
        low=one.low,
        high=one.high,
        bucket=one.bucket,
        sample=random.randrange(SAMPLE_RANGE),  # noqa: S311 (which points a chart shows)
        owner_key=run.owner_id or 0,
        reference=run.reference,
        gpu=run.gpu,
        engine=run.engine,
        model=run.model or run.label[:200],
        architecture=run.architecture,
    )


def _compare(job: Job, start: int, stop: int) -> tuple[list[int], list[RunFigure], dict[int, str]]:
    keys = job.payload["runs"][start:stop]
    runs = list(MeasuredRun.objects.filter(pk__in=keys, status=RunStatus.CONFIRMED).order_by("pk"))
    figures, problems = runs_compared(runs)
    return [run.pk for run in runs], figures, problems


def _keep(job: Job, start: int, stop: int, value: Any) -> None:
    keys, figures, problems = value
    still_there = set(MeasuredRun.objects.filter(pk__in=keys).values_list("pk", flat=True))
    figures = [figure for figure in figures if figure.run_id in still_there]
    services.figures_store(
        sorted(still_there), figures, {key: why for key, why in problems.items() if key in still_there}
    )


PARSING = Handler(compute=_parse, store=_store, chunk_size=1, results_url=_upload_url)
COMPARING = Handler(compute=_compare, store=_keep, chunk_size=CHUNK)
