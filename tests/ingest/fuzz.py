"""Reads damaged result files for a number of seconds: `python -m tests.ingest.fuzz 600`.

Prints what breaks and ends with status 1 if anything does.
"""

import hashlib
import json
import sys
import time

from benchmarks_ingest.parsers import read

from .mutations import SEEDS, mutated

SLOW_S_PER_MB = 1.0


def fuzz(seconds: float, first: int = 0) -> int:
    """How many damaged files broke a parser or took too long."""
    failures = 0
    number = first
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        number += 1
        data, name = mutated(SEEDS[number % len(SEEDS)], number)
        started = time.process_time()
        try:
            json.dumps([report.to_json() for report in read(data, name)], allow_nan=False)
        except Exception as error:  # noqa: BLE001 - the purpose of this script is to see any
            failures += 1
            sys.stderr.write(f"seed {number} {name} {hashlib.sha256(data).hexdigest()[:12]}: {error!r}\n")
        spent = time.process_time() - started
        if spent > SLOW_S_PER_MB * max(1.0, len(data) / 2**20):
            failures += 1
            sys.stderr.write(f"seed {number} {name}: {spent:.2f} s for {len(data)} bytes\n")
    sys.stdout.write(f"{number - first} files, {failures} failures\n")
    return failures


if __name__ == "__main__":
    sys.exit(bool(fuzz(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0)))
