"""Child processes that never outlive their parent. Forked, not started anew: what is imported once serves all."""

import ctypes
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.context import ForkProcess
from types import FrameType

from django.db import connections

PR_SET_PDEATHSIG = 1
GRACE_S = 5.0
POLL_S = 0.1
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def die_with_parent() -> None:
    """Ask the kernel (Linux only) to end this process when its parent ends, however that happens."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _run_apart(run: Callable[[], None]) -> None:
    """In a session of its own, so that Ctrl-C reaches the parent alone, which then stops all in order."""
    for number in STOPPING:
        signal.signal(number, signal.SIG_DFL)
    os.setsid()
    die_with_parent()
    run()


def start(name: str, run: Callable[[], None]) -> ForkProcess:
    """Start a child that does `run`."""
    connections.close_all()  # a connection belongs to one process
    child = multiprocessing.get_context("fork").Process(target=_run_apart, args=(run,), name=name)
    child.start()
    return child


def _signal_group(child: ForkProcess, number: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(child.pid or 0, number)


def stop(children: Sequence[ForkProcess]) -> None:
    """End the children and all that they started: first politely, after five seconds for certain."""
    for child in children:
        _signal_group(child, signal.SIGTERM)
    deadline = time.monotonic() + GRACE_S
    while any(child.exitcode is None for child in children) and time.monotonic() < deadline:
        time.sleep(POLL_S)
    for child in children:
        _signal_group(child, signal.SIGKILL)
        child.join()


class Stopped(Exception):
    """A signal asked for the end."""


def _raise_stopped(number: int, frame: FrameType | None) -> None:
    for each in STOPPING:
        signal.signal(each, signal.SIG_IGN)
    raise Stopped


def stop_on_signals() -> None:
    """Turn the first SIGINT, SIGTERM or SIGHUP into Stopped; later ones are ignored while the children end."""
    for number in STOPPING:
        signal.signal(number, _raise_stopped)


def wait_any(children: Sequence[ForkProcess]) -> ForkProcess:
    """Wait until one child ends by itself, and return it.

    Exit codes are asked for, not sentinels: a child may close its end of the pipe long before it ends, or end a moment
    before its code can be read.
    """
    while True:
        for child in children:
            if child.exitcode is not None:
                return child
        time.sleep(POLL_S)
