"""Child processes that never outlive their parent."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType

PR_SET_PDEATHSIG = 1
GRACE_S = 5.0


def die_with_parent() -> None:
    """Ask the kernel (Linux only) to end this process when its parent ends, however that happens."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start a child in a session of its own, so that Ctrl-C reaches the parent alone, which then stops all in order."""
    return subprocess.Popen(command, start_new_session=True, preexec_fn=die_with_parent)  # noqa: PLW1509


def _signal_group(child: subprocess.Popen[bytes], number: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(child.pid, number)


def stop(children: Sequence[subprocess.Popen[bytes]]) -> None:
    """End the children and all that they started: first politely, after five seconds for certain."""
    for child in children:
        _signal_group(child, signal.SIGTERM)
    deadline = time.monotonic() + GRACE_S
    for child in children:
        with suppress(subprocess.TimeoutExpired):
            child.wait(max(0.0, deadline - time.monotonic()))
    for child in children:
        _signal_group(child, signal.SIGKILL)
        child.wait()


class Stopped(Exception):
    """A signal asked for the end."""


def _raise_stopped(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Stopped


def stop_on_signals() -> None:
    """Turn the first SIGINT, SIGTERM or SIGHUP into Stopped; later ones are ignored while the children end."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _raise_stopped)


def wait_any(children: Sequence[subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
    """Wait until one child ends by itself, and return it."""
    while True:
        for child in children:
            if child.poll() is not None:
                return child
        time.sleep(0.2)
