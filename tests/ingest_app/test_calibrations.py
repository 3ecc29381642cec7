"""Calibrations: the mathematics, what refuses one, and what an active one does."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from accounts.models import User
from benchmarks_ingest.calibrations import (
    CalibrationRefused,
    calibration_activate,
    calibration_deactivate,
    calibration_fit,
    calibration_rollback,
    calibration_trial,
    cells_compared,
    half_and_half,
)
from benchmarks_ingest.models import MeasuredRun, RunFigure
from benchmarks_ingest.services import run_use, runs_confirm
from predictions.services import predict
from roofline.calibration import SHRINKAGE, Observation, cross_validated, error_pct, fit, kinds

from .conftest import HARDWARE, many, run_jobs, uploaded

SCENARIO = {"workload": "inference", "model": "llama-3.1-70b", "gpu": "h100-sxm", "gpu_count": 8}
LLAMA = kinds("inference", "h100", "vllm", "llama", "dense")
OTHER = kinds("inference", "h100", "vllm", "other", "dense")


def observed(kind: Any, *ratios: float) -> list[Observation]:
    return [Observation(kind, ratio) for ratio in ratios]


def test_few_runs_are_shrunk_to_the_wider_kind_and_that_to_nothing() -> None:
    fitted = fit(observed(LLAMA, *[0.3] * 8))
    base = 0.3 / (1 + SHRINKAGE)
    architecture = (0.3 + SHRINKAGE * base) / (1 + SHRINKAGE)
    assert fitted.bias(OTHER[2:]) == pytest.approx(base)
    assert fitted.bias(OTHER) == pytest.approx(architecture)
    assert fitted.bias(LLAMA) == pytest.approx((8 * 0.3 + SHRINKAGE * architecture) / (8 + SHRINKAGE))
    assert fitted.bias(kinds("inference", "a100", "vllm", "llama", "dense")) == 0.0
    assert fitted.counts[LLAMA[0]] == 8


def test_many_runs_of_one_model_weigh_as_one_for_others() -> None:
    few, crowd = fit(observed(LLAMA, 0.5)), fit(observed(LLAMA, *[0.5] * 1000))
    assert few.bias(OTHER) == pytest.approx(crowd.bias(OTHER))
    assert crowd.bias(LLAMA) == pytest.approx(0.5, abs=0.01)


def test_a_broken_run_moves_little() -> None:
    clean, broken = fit(observed(LLAMA, *[0.1] * 9)), fit(observed(LLAMA, *[0.1] * 9, 9.0))
    assert broken.bias(LLAMA) == pytest.approx(clean.bias(LLAMA), abs=0.02)


def test_no_run_is_judged_by_itself() -> None:
    found = cross_validated(observed(LLAMA, 1.0, 0.0))
    assert found[0] < found[1]
    assert cross_validated(observed(LLAMA, 1.0)).tolist() == [0.0]


def test_errors_are_of_speeds() -> None:
    ratios = np.log([1.25, 1.25, 1.25])  # took a quarter longer than predicted: predicted speed is 25 % too high
    assert error_pct(ratios) == pytest.approx(25.0)
    assert error_pct(ratios, ratios) == pytest.approx(0.0)
    assert math.isnan(error_pct(np.array([])))


@pytest.mark.django_db
def test_half_of_the_reference_runs_helps_the_other_half() -> None:
    errors = half_and_half()
    assert errors["n"] > 3000
    assert errors["after_pct"] < errors["before_pct"]


def confirmed(user: Any, factor: float, count: int = 16) -> list[MeasuredRun]:
    """Runs whose TPOT and rate are `factor` times what the planner says, give or take one per cent."""
    spread = [factor * (1 + 0.01 * (place % 3 - 1)) + place * 1e-6 for place in range(count)]
    upload = uploaded(user, many(spread), f"{factor}.jsonl")
    runs = runs_confirm(user=user, runs=list(upload.runs.all()), given=HARDWARE)
    run_jobs()
    return runs


@pytest.fixture
def level(user: Any) -> float:
    """Predicted over measured time of the sample result."""
    (run,) = confirmed(user, 1.0, count=1)
    figure = RunFigure.objects.get(run=run, quantity="tpot")
    run.upload.delete()  # type: ignore[union-attr]
    return figure.ratio


@pytest.mark.django_db
def test_it_works(user: Any, level: float) -> None:
    confirmed(user, 1.06 * level)
    before = predict(SCENARIO, user=user, detail=False)
    row = calibration_fit(user=user, name="ours")
    assert row.report["own"]["after_pct"] < row.report["own"]["before_pct"]
    assert row.report["reference"]["n"] > 50
    assert predict(SCENARIO, user=user, detail=False)["inference"] == before["inference"], "it is not active yet"
    calibration_activate(user=user, row=row)
    after = predict(SCENARIO, user=user, detail=False)
    assert after["versions"]["calibration"] == row.version
    assert after["inference"]["tpot_s"] > before["inference"]["tpot_s"] * 1.01
    assert predict(SCENARIO, detail=False)["versions"]["calibration"] == "shipped", "nobody else's changes"
    bob = User.objects.create_user("bob")
    assert predict(SCENARIO, user=bob, detail=False)["versions"]["calibration"] == "shipped"
    calibration_deactivate(user=user, row=row)
    assert predict(SCENARIO, user=user, detail=False)["inference"] == before["inference"]


@pytest.mark.django_db
def test_worse_is_refused_unless_forced(user: Any, level: float) -> None:
    confirmed(user, 3.0 * level, count=40)
    with pytest.raises(CalibrationRefused) as caught:
        calibration_fit(user=user)
    assert "reference runs" in caught.value.report["refused"][0]
    row = calibration_fit(user=user, force=True)
    assert row.report["forced"] is True


@pytest.mark.django_db
def test_what_takes_part(user: Any, level: float) -> None:
    runs = confirmed(user, level, count=4)
    run_use(user=user, run=runs[0], usable=False)
    MeasuredRun.objects.filter(pk=runs[1].pk).update(impossible=True)
    MeasuredRun.objects.filter(pk=runs[2].pk).update(status="to_confirm")
    assert calibration_trial(user=user).report["own"]["n"] == 1


@pytest.mark.django_db
def test_versions_roll_back_and_compare(user: Any, level: float) -> None:
    confirmed(user, 1.05 * level, count=6)
    first = calibration_fit(user=user, force=True)
    confirmed(user, 1.10 * level, count=6)
    second = calibration_fit(user=user, force=True)
    assert first.version != second.version
    calibration_activate(user=user, row=first)
    calibration_activate(user=user, row=second)
    assert calibration_rollback(user=user) == first
    assert calibration_rollback(user=user) is None
    assert predict(SCENARIO, user=user, detail=False)["versions"]["calibration"] == "shipped"
    assert all(len(cell["factors"]) == 2 for cell in cells_compared([first, second]))


@pytest.mark.django_db
def test_staff_may_activate_for_everyone(user: Any, level: float) -> None:
    from django.core.exceptions import PermissionDenied

    confirmed(user, 1.05 * level, count=6)
    row = calibration_fit(user=user, force=True)
    with pytest.raises(PermissionDenied):
        calibration_activate(user=user, row=row, for_everyone=True)
    user.is_staff = True
    calibration_activate(user=user, row=row, for_everyone=True)
    assert predict(SCENARIO, detail=False)["versions"]["calibration"] == row.version
