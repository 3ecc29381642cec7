"""Sweeps: a space of scenarios worked off by a background job, with its Pareto fronts as they fill in."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.conf import settings
from django.db import transaction
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.models import Job
from jobs.services import Handler, job_cancel, job_create
from planner.forms import words
from planner.models import Sweep, SweepChunk
from planner.present import metrics_of, value_at
from planner.queries import query_of
from planner.selectors import predictions_of
from planner.space import Axis, point_values, space_axes, space_point, space_size
from roofline.errors import ScenarioError
from roofline.pareto import pareto_front

KIND = "sweep"
CHUNK = 500
PROBE = 16  # points that are predicted before a sweep starts, for the estimate of its time
BOUND = "bound"


@dataclass(frozen=True)
class Front:
    """Two figures of a point that pull against each other."""

    key: str
    title: str | Promise
    x: str  # more is better
    y: str  # less is better, unless `both_up`
    titles: tuple[str | Promise, str | Promise]
    both_up: bool = False


FRONTS = {
    "inference": (
        Front(
            "speed",
            gettext_lazy("Speed for one user against speed of a GPU"),
            "tokens_per_s_per_user",
            "output_tokens_per_s_per_gpu",
            (gettext_lazy("tokens/s per user"), gettext_lazy("output tokens/s per GPU")),
            both_up=True,
        ),
        Front(
            "cost",
            gettext_lazy("Cost against time per token"),
            "usd_per_million_output_tokens",
            "tpot_s",
            (gettext_lazy("$ per million output tokens"), gettext_lazy("TPOT (s)")),
        ),
    ),
    "training": (
        Front(
            "cost",
            gettext_lazy("Cost against time"),
            "usd_per_run",
            "time_to_train_s",
            (gettext_lazy("$ per run"), gettext_lazy("time to train (s)")),
        ),
    ),
}


def sweep_create(*, owner: Any, space: Mapping[str, Any], name: str = "") -> Sweep:
    """Check the space and its first points, write sweep and job in one transaction, ring for a worker on commit.

    Raises ScenarioError for a bad range, for too many points, and where none of the first points can be answered.
    """
    axes = checked_axes(space)
    total = space_size(axes)
    _probe(space, axes, total, owner)
    with transaction.atomic():
        sweep = Sweep(
            owner=owner if getattr(owner, "is_authenticated", False) else None,
            name=name[:200],
            space=dict(space),
            total=total,
        )
        sweep.job = job_create(kind=KIND, payload={"sweep": str(sweep.pk)}, total=total, owner=owner)
        sweep.save()
    return sweep


def sweep_cancel(*, sweep: Sweep) -> None:
    """Stop the job; what is stored stays."""
    if sweep.job:
        job_cancel(job=sweep.job)


def sweep_estimate(*, space: Mapping[str, Any], user: Any = None) -> dict[str, Any]:
    """Combinations, and the seconds that they take on this machine, from predicting a few of them."""
    axes = checked_axes(space)
    total = space_size(axes)
    per_point = _probe(space, axes, total, user)
    return {
        "total": total,
        "seconds": per_point * total,
        "axes": [{"path": axis.path, "count": len(axis.values)} for axis in axes],
    }


def checked_axes(space: Mapping[str, Any]) -> list[Axis]:
    """The ranges of a space that is small enough to walk."""
    axes = space_axes(space)
    total, most = space_size(axes), settings.ROOFTREE_SWEEP_POINTS
    if total > most:
        message = _("%(total)s combinations are more than the %(most)s that a sweep may have.")
        raise ScenarioError({"": [message % {"total": f"{total:,}", "most": f"{most:,}"}]})
    return axes


def _probe(space: Mapping[str, Any], axes: list[Axis], total: int, user: Any) -> float:
    """Seconds a point, measured on a few spread over the space; refuses a space in which none of them is answered."""
    numbers = sorted({round(number) for number in np.linspace(0, total - 1, min(total, PROBE))})
    scenarios = [space_point(space, axes, number) for number in numbers]
    start = time.perf_counter()
    answers = predictions_of(scenarios, user=user)
    seconds = time.perf_counter() - start
    if all("error" in answer for answer in answers):
        raise ScenarioError(answers[0]["error"].get("fields") or {"": [answers[0]["error"]["message"]]})
    return seconds / len(scenarios)


def point_row(number: int, values: Mapping[str, Any], answer: Mapping[str, Any], workload: str) -> dict[str, Any]:
    """What is kept of a point: its values, its figures, what binds; or why it could not be answered."""
    row: dict[str, Any] = {"n": number, "values": dict(values)}
    if "error" in answer:
        return row | {"error": answer["error"]["message"]}
    row |= {"fits": answer["memory"]["fits"], BOUND: value_at(answer, "bound.dominant")}
    row |= {metric.key: value_at(answer, metric.path) for metric in metrics_of(workload)}
    row["gpu_count"] = answer["scenario"].get("gpu_count")
    if row.get("tpot_s"):
        row["tokens_per_s_per_user"] = 1 / row["tpot_s"]
    return row


def front_of(rows: Sequence[Mapping[str, Any]], front: Front) -> list[Mapping[str, Any]]:
    """The rows that no other row beats, cheapest or slowest first."""
    known = [row for row in rows if row.get(front.x) is not None and row.get(front.y) is not None]
    x = np.array([row[front.x] for row in known], dtype=float)
    y = np.array([row[front.y] for row in known], dtype=float)
    kept = pareto_front(x, -y) if front.both_up else pareto_front(-x, y)
    return [known[index] for index in kept]


def merged_fronts(
    old: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]], workload: str
) -> list[dict[str, Any]]:
    """The fronts of all points so far: those of the old fronts and the new rows."""
    return [
        dict(row) | {"front": front.key}
        for front in FRONTS[workload]
        for row in front_of([*(point for point in old if point["front"] == front.key), *rows], front)
    ]


def point_url(sweep: Sweep, axes: list[Axis], number: int) -> str:
    """The query string of a point's Plan page."""
    return query_of(space_point(sweep.space, axes, number))


def values_said(values: Mapping[str, Any]) -> str:
    """A point's own values in a line."""
    return ", ".join(f"{path.rpartition('.')[2]} {words(str(value))}" for path, value in values.items())


def _sweep_of(job: Job) -> Sweep:
    return Sweep.objects.get(pk=job.payload["sweep"])


def _compute(job: Job, start: int, stop: int) -> list[dict[str, Any]]:
    sweep = _sweep_of(job)
    axes = space_axes(sweep.space)
    numbers = range(start, stop)
    answers = predictions_of([space_point(sweep.space, axes, number) for number in numbers], user=sweep.owner)
    return [
        point_row(number, point_values(axes, number), answer, sweep.workload)
        for number, answer in zip(numbers, answers, strict=True)
    ]


def _store(job: Job, start: int, stop: int, value: list[dict[str, Any]]) -> None:
    sweep = _sweep_of(job)
    SweepChunk.objects.create(sweep=sweep, first=start, last=stop, rows=value)
    job.front = merged_fronts(job.front, value, sweep.workload)


def _results_url(job: Job) -> str:
    return f"/api/v1/sweeps/{job.payload['sweep']}/results/"


HANDLER = Handler(compute=_compute, store=_store, chunk_size=CHUNK, results_url=_results_url)
