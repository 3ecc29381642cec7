"""Kinds of jobs. Apps register theirs in `AppConfig.ready`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jobs.models import Job

Compute = Callable[[Job, int, int], Any]
Store = Callable[[Job, int, int, Any], None]


def _no_results(job: Job) -> str | None:
    return None


def _nothing_more(job: Job) -> None:
    """Most kinds have nothing to do at the end."""


@dataclass(frozen=True)
class Handler:
    """How a kind of job is worked off, `chunk_size` units at a time.

    `compute(job, start, stop)` does the work of units start to stop - 1, outside of any transaction; it may run twice.
    `store(job, start, stop, value)` writes its value in the transaction that moves `job.done` to `stop`: once for each
    unit. It may also set `job.front`. `finish(job)` runs in the transaction of the last chunk. `results_url(job)` is
    where results are read.
    """

    compute: Compute
    store: Store
    chunk_size: int = 1000
    finish: Callable[[Job], None] = _nothing_more
    results_url: Callable[[Job], str | None] = _no_results


_KINDS: dict[str, Handler] = {}


def register(kind: str, handler: Handler) -> None:
    """Add a kind. Raises ValueError when the name is taken by another handler."""
    if _KINDS.setdefault(kind, handler) is not handler:
        raise ValueError(f"two handlers for jobs of kind {kind}")


def kind_get(kind: str) -> Handler:
    """The handler of a kind; KeyError for an unknown one."""
    return _KINDS[kind]
