"""Figures as plain dictionaries for the page's script; colours are names of the style sheet's variables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from django.urls import reverse

from benchmarks_ingest.models import RunFigure

COLOURS = ("compute", "memory", "interconnect", "latency", "part-optimizer", "part-kv", "accent", "wrong")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "triangle-down", "star")
OTHERS = "other GPUs"


def scatter(points: Iterable[RunFigure], ranked: list[str], unit: str) -> dict[str, Any]:
    """Measured against predicted, both logarithmic, with the identity line; the most measured GPUs have a hue and a
    symbol each, the rest share one."""
    named = {gpu: place for place, gpu in enumerate(ranked[: len(COLOURS)])}
    traces: dict[str, list[RunFigure]] = defaultdict(list)
    for point in points:
        traces[point.gpu if point.gpu in named else OTHERS].append(point)
    values = [value for rows in traces.values() for row in rows for value in (row.measured, row.predicted) if value > 0]
    if not values:
        return {"data": [], "layout": {}}
    ends = [min(values), max(values)]
    order = sorted(traces, key=lambda gpu: named.get(gpu, len(COLOURS)))
    axis = {"type": "log", "exponentformat": "SI", "dtick": 1 if ends[1] / ends[0] > 100 else "D1"}
    return {
        "data": [_identity(ends), *(_trace(gpu, traces[gpu], named.get(gpu)) for gpu in order)],
        "layout": {
            "xaxis": axis | {"title": {"text": f"measured, {unit}"}},
            "yaxis": axis | {"title": {"text": f"predicted, {unit}"}},
            "hovermode": "closest",
        },
    }


def _identity(ends: list[float]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "equal",
        "x": ends,
        "y": ends,
        "hoverinfo": "skip",
        "line": {"color": "var:ink", "width": 1, "dash": "dash"},
    }


def _trace(gpu: str, rows: list[RunFigure], place: int | None) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": gpu or "?",
        "x": [row.measured for row in rows],
        "y": [row.predicted for row in rows],
        "text": [f"{row.model} · {row.engine}" for row in rows],
        "customdata": [{"url": reverse("measured-run", args=[row.run_id])} for row in rows],
        "hovertemplate": "%{text}<br>measured %{x:,.3~s} · predicted %{y:,.3~s}<extra></extra>",
        "marker": {
            "color": "var:line-strong" if place is None else f"var:{COLOURS[place]}",
            "symbol": "circle-open" if place is None else SYMBOLS[place],
            "size": 6,
            "opacity": 0.7,
        },
    }
