"""Errors of compared figures as a report: the shape that `validate` prints and the accuracy page shows."""

import csv
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from roofline.validation.residuals import Residual

LEVEL = "80"
GROUPS: dict[str, Callable[[Residual], str]] = {
    "gpu": lambda r: r.gpu,
    "source": lambda r: r.source,
    "architecture": lambda r: r.architecture,
    "engine": lambda r: r.engine,
    "precision": lambda r: r.precision,
    "operator": lambda r: r.operator,
}
CLOSE = 1.15  # two measurements within 15 % of each other have no order worth predicting
MOST_PAIRS = 400  # of one group: enough to know, cheap enough for large tables
WORST, WORST_OF_A_QUANTITY = 10, 2


@dataclass
class Outcome:
    """What came of a table: rows read, rows predicted, rows skipped by reason, and the compared figures."""

    rows: int
    predicted: int
    residuals: Sequence[Residual]
    skipped: Mapping[str, int] = field(default_factory=Counter)


def report(kind: str, outcome: Outcome) -> dict[str, Any]:
    """The report of one table as JSON."""
    by_quantity = _grouped(outcome.residuals, lambda r: r.quantity)
    return {
        "kind": kind,
        "rows": outcome.rows,
        "predicted": outcome.predicted,
        "skipped": dict(outcome.skipped),
        "quantities": {name: _quantity(rows) for name, rows in by_quantity.items()},
        "interval_coverage_pct": {LEVEL: _coverage(outcome.residuals)},
        "interval_width": {LEVEL: _width(outcome.residuals)},
    }


def _grouped(residuals: Iterable[Residual], key: Callable[[Residual], str]) -> dict[str, list[Residual]]:
    groups: dict[str, list[Residual]] = defaultdict(list)
    for residual in residuals:
        groups[key(residual)].append(residual)
    return dict(sorted(groups.items()))


def _quantity(residuals: Sequence[Residual]) -> dict[str, Any]:
    return {
        **errors(residuals),
        "interval_coverage_pct": {LEVEL: _coverage(residuals)},
        "interval_width": {LEVEL: _width(residuals)},
        "ordered_pairs_pct": ranking(residuals),
        "by": {name: _errors_by(residuals, key) for name, key in GROUPS.items() if any(map(key, residuals))},
    }


def _errors_by(residuals: Sequence[Residual], key: Callable[[Residual], str]) -> dict[str, Any]:
    return {group: errors(rows) for group, rows in _grouped(residuals, key).items()}


def errors(residuals: Sequence[Residual]) -> dict[str, Any]:
    """Number, median and 90th percentile of |predicted / measured - 1|, and the median of predicted / measured - 1, in %."""
    ratios = np.array([residual.predicted / residual.measured for residual in residuals]) - 1.0
    off = np.abs(ratios) * 100.0
    return {
        "n": len(residuals),
        "median_ape_pct": _rounded(np.median(off)),
        "p90_ape_pct": _rounded(np.percentile(off, 90)),
        "bias_pct": _rounded(np.median(ratios) * 100.0),
    }


def _rounded(value: Any) -> float:
    return round(float(value), 2)


def _with_interval(residuals: Iterable[Residual]) -> list[Residual]:
    return [r for r in residuals if np.isfinite(r.low) and np.isfinite(r.high) and r.low > 0]


def _coverage(residuals: Iterable[Residual]) -> float | None:
    bounded = _with_interval(residuals)
    if not bounded:
        return None
    return _rounded(100.0 * np.mean([r.low <= r.measured <= r.high for r in bounded]))


def _width(residuals: Iterable[Residual]) -> float | None:
    bounded = _with_interval(residuals)
    return _rounded(np.median([r.high / r.low for r in bounded])) if bounded else None


def ranking(residuals: Sequence[Residual]) -> float | None:
    """Share of pairs put in the right order, in %.

    Pairs are of one model, GPU, engine and precision, and differ by more than 15 %.
    """
    right = total = 0
    for rows in _grouped(residuals, lambda r: "\t".join((r.model, r.gpu, r.engine, r.precision))).values():
        pairs = list(combinations(rows, 2))
        for one, other in pairs[:: len(pairs) // MOST_PAIRS + 1]:
            if max(one.measured, other.measured) > CLOSE * min(one.measured, other.measured):
                total += 1
                right += (one.measured > other.measured) == (one.predicted > other.predicted)
    return _rounded(100.0 * right / total) if total else None


def worst(residuals: Sequence[Residual], most: int = WORST, of_a_quantity: int = WORST_OF_A_QUANTITY) -> list[Residual]:
    """The rows that are furthest off, so many of a quantity that the worst quantity does not hide the others."""
    counts: Counter[str] = Counter()
    found = []
    for residual in sorted(residuals, key=lambda r: -abs(np.log(max(r.predicted, 1e-12) / r.measured))):
        counts[residual.quantity] += 1
        if counts[residual.quantity] <= of_a_quantity:
            found.append(residual)
    return found[:most]


COLUMNS = ("id", "quantity", "measured", "predicted", "low", "high")


def write_residuals(path: str | Path, residuals: Iterable[Residual]) -> None:
    """The compared figures as CSV."""
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows([getattr(residual, name) for name in COLUMNS] for residual in residuals)
