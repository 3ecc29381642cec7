"""Accuracy: how far predictions were off on measured runs that no fit had seen."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from faces.twins import csv_twin, json_twin

REPORT = Path(__file__).resolve().parents[2] / "docs" / "accuracy.json"
COMMAND = "python manage.py accuracy"


@require_GET
def accuracy(request: HttpRequest) -> HttpResponse:
    """The page."""
    report = _report()
    return render(
        request,
        "planner/accuracy.html",
        {"report": report, "rows": _rows(report), "tables": _tables(report), "command": COMMAND},
    )


@require_GET
def accuracy_json(request: HttpRequest) -> HttpResponse:
    """The report as the command wrote it."""
    return json_twin(_report())


@require_GET
def accuracy_csv(request: HttpRequest) -> HttpResponse:
    """Errors by quantity and group as rows."""
    report = _report()
    rows = [*_rows(report), *({**row, "by": f"{table['by']}"} for table in _tables(report) for row in table["rows"])]
    return csv_twin(
        rows,
        "accuracy",
        ["kind", "quantity", "by", "group", "n", "median_ape_pct", "p90_ape_pct", "bias_pct", "coverage", "width"],
    )


def _report() -> dict[str, Any]:
    return _read(REPORT.stat().st_mtime_ns) if REPORT.exists() else {}


@lru_cache(maxsize=1)
def _read(stamp: int) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(REPORT.read_text(encoding="utf-8"))
    return report


def _kinds(report: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from ((kind, found) for kind, found in (report.get("reports") or {}).items() if isinstance(found, dict))


def _rows(report: dict[str, Any]) -> list[dict[str, Any]]:
    """One row a quantity, with the interval's coverage and width and the baselines where they are known."""
    return [
        {
            "kind": kind,
            "quantity": quantity,
            **_errors(errors),
            "coverage": _eighty(errors, found, "interval_coverage_pct"),
            "width": _eighty(errors, found, "interval_width"),
            "baselines": errors.get("baselines") or {},
            "published": (report.get("published") or {}).get(f"{kind}: {quantity}"),
        }
        for kind, found in _kinds(report)
        for quantity, errors in (found.get("quantities") or {}).items()
    ]


def _tables(report: dict[str, Any]) -> list[dict[str, Any]]:
    """One table for each quantity and grouping, worst group first."""
    return [
        {
            "kind": kind,
            "quantity": quantity,
            "by": by,
            "rows": sorted(
                (
                    {"kind": kind, "quantity": quantity, "group": name, **_errors(group)}
                    for name, group in groups.items()
                ),
                key=lambda row: -(row["median_ape_pct"] or 0),
            ),
        }
        for kind, found in _kinds(report)
        for quantity, errors in (found.get("quantities") or {}).items()
        for by, groups in (errors.get("by") or {}).items()
        if groups
    ]


def _errors(errors: dict[str, Any]) -> dict[str, Any]:
    return {key: errors.get(key) for key in ("n", "median_ape_pct", "p90_ape_pct", "bias_pct")}


def _eighty(errors: dict[str, Any], found: dict[str, Any], key: str) -> Any:
    own = errors.get(key)
    value = own if own is not None else found.get(key)
    return value.get("80") if isinstance(value, dict) else value
