"""Every format, one small file each: the right format, status, values and refusals."""

import json
import math

import pytest

from benchmarks_ingest.parsers import read, registry, run_from_json

from .case import Case
from .serving_cases import CASES as SERVING
from .training_cases import CASES as TRAINING

CASES = [*SERVING, *TRAINING]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_it_reads_what_the_file_says(case: Case) -> None:
    reports = read(case.data(), case.name)
    assert reports[0].format == case.format
    if case.run is None:
        assert {report.status for report in reports} == {"refused"}
        assert case.reason.lower() in reports[0].reason.lower()
        return
    read_runs = [report for report in reports if report.run]
    assert len(read_runs) == case.runs, [report.reason for report in reports]
    assert read_runs[0].status == case.status, read_runs[0].reason
    found = read_runs[0].to_json()["run"]
    for key, expected in case.run.items():
        assert same(found.get(key), expected), f"{key}: {found.get(key)!r} is not {expected!r}"
    assert not case.warns or any(case.warns in warning for report in read_runs for warning in report.warnings)


def same(found: object, expected: object) -> bool:
    if isinstance(found, int | float) and isinstance(expected, int | float):
        return math.isclose(found, expected, rel_tol=1e-6)
    return found == expected


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_reports_are_strict_json_and_runs_come_back(case: Case) -> None:
    for report in read(case.data(), case.name):
        line = json.loads(json.dumps(report.to_json(), allow_nan=False))
        if line["run"]:
            assert run_from_json(line["run"]).to_json() == line["run"]


def test_every_registered_format_has_a_case() -> None:
    assert {case.format for case in CASES} >= set(registry().formats())
