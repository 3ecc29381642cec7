"""`manage.py predict`: one answer a line, in order, bad lines in their place."""

import io
import json
import sys
from typing import Any

import pytest
from django.core.management import call_command

pytestmark = pytest.mark.django_db
GOOD = {"workload": "inference", "model": "llama-3.1-8b", "gpu": "H100-SXM", "gpu_count": 1}


def run(monkeypatch: pytest.MonkeyPatch, text: str) -> tuple[list[dict[str, Any]], int]:
    out, status = io.StringIO(), 0
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    monkeypatch.setattr(sys, "stdout", out)
    try:
        call_command("predict")
    except SystemExit as stop:
        status = int(stop.code or 0)
    return [json.loads(line) for line in out.getvalue().splitlines()], status


def test_it_works(monkeypatch: pytest.MonkeyPatch) -> None:
    answers, status = run(monkeypatch, json.dumps(GOOD) + "\n")
    assert status == 0
    assert answers[0]["inference"]["tpot_s"] > 0


def test_bad_lines_stay_in_their_place(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [json.dumps(GOOD), "{", json.dumps({**GOOD, "gpu": "H1000"}), "NaN", json.dumps(GOOD)]
    answers, status = run(monkeypatch, "\n".join(lines))
    assert ["error" in answer for answer in answers] == [False, True, True, True, False]
    assert status == 1


def test_nothing_in_nothing_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, "") == ([], 0)
