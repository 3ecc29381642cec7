"""The error report: its figures by hand."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from roofline.validation.report import Outcome, errors, ranking, report, worst, write_residuals
from roofline.validation.residuals import Residual


def residual(
    measured: float, predicted: float, *, low: float = 0.5, high: float = 2.0, gpu: str = "g", id: str = "1"
) -> Residual:
    return Residual(
        id, "tpot", measured, predicted, low * predicted, high * predicted, gpu, "s", "dense", "vllm", "m", "bf16"
    )


def test_it_works() -> None:
    rows = [residual(1.0, 1.1), residual(2.0, 1.8), residual(4.0, 4.0, gpu="h")]
    body = report("inference", Outcome(4, 3, rows, {"no GPU": 1}))
    assert body["rows"] == 4
    assert body["skipped"] == {"no GPU": 1}
    tpot = body["quantities"]["tpot"]
    assert (tpot["n"], tpot["median_ape_pct"], tpot["bias_pct"]) == (3, 10.0, 0.0)
    assert tpot["by"]["gpu"]["h"] == {"n": 1, "median_ape_pct": 0.0, "p90_ape_pct": 0.0, "bias_pct": 0.0}
    assert body["interval_coverage_pct"] == {"80": 100.0}
    assert body["interval_width"] == {"80": 4.0}


def test_percentile_and_bias() -> None:
    found = errors([residual(1.0, 1.0 + k / 10) for k in range(11)])
    assert found["median_ape_pct"] == pytest.approx(50)
    assert found["p90_ape_pct"] == pytest.approx(90)
    assert found["bias_pct"] == pytest.approx(50)


def test_coverage_counts_what_is_inside() -> None:
    rows = [residual(1.0, 1.0), residual(3.0, 1.0)]
    assert report("inference", Outcome(2, 2, rows))["interval_coverage_pct"] == {"80": 50.0}


def test_ranking_ignores_near_ties() -> None:
    assert ranking([residual(1.0, 2.0), residual(1.1, 1.0)]) is None
    assert ranking([residual(1.0, 2.0), residual(2.0, 3.0), residual(4.0, 2.5)]) == pytest.approx(66.67)


def test_worst_first() -> None:
    assert [r.id for r in worst([residual(1, 1, id="a"), residual(1, 4, id="b"), residual(1, 0.5, id="c")], 2)] == [
        "b",
        "c",
    ]


def test_the_worst_quantity_does_not_hide_the_others() -> None:
    rows = [*(residual(1, 9 + number) for number in range(5)), replace(residual(1, 2, id="c"), quantity="ttft")]
    assert [r.quantity for r in worst(rows, of_a_quantity=2)] == ["tpot", "tpot", "ttft"]


def test_residuals_are_written(tmp_path: Path) -> None:
    write_residuals(tmp_path / "out.csv", [residual(2.0, 1.0)])
    rows = list(csv.DictReader((tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()))
    assert rows == [{"id": "1", "quantity": "tpot", "measured": "2.0", "predicted": "1.0", "low": "0.5", "high": "2.0"}]
