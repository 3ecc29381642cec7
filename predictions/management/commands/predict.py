"""Predict from the command line: one scenario a line in, one answer a line out, in the same order."""

import json
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from faces.commands import ReadyCommand
from predictions.services import error_json, predict_many
from roofline.errors import ScenarioError

CHUNK = 1000  # scenarios predicted together: large enough to be fast, small enough to stream


def _read(line: str) -> Any:
    """The scenario of a line, or the ScenarioError that says why it is none."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        return ScenarioError({"": [f"The line is not JSON: {error}"[:300]]})


def answers(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """An answer, or an error object, for each line."""
    remaining = iter(lines)
    while chunk := list(islice(remaining, CHUNK)):
        read = [_read(line) for line in chunk]
        good = iter(predict_many([scenario for scenario in read if not isinstance(scenario, ScenarioError)]))
        for scenario in read:
            yield error_json(scenario) if isinstance(scenario, ScenarioError) else next(good)


class Command(ReadyCommand):
    """`manage.py predict < scenarios.jsonl > predictions.jsonl`; exit status 1 if any line failed."""

    help = "Reads a scenario a line from standard input and prints a prediction a line."

    def handle(self, *args: Any, **options: Any) -> None:
        failed = False
        for answer in answers(sys.stdin):
            failed |= "error" in answer
            sys.stdout.write(json.dumps(answer, allow_nan=False, ensure_ascii=False) + "\n")
        if failed:
            sys.exit(1)
