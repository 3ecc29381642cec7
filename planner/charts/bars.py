"""Bars: memory by part, scenarios side by side."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from html import escape
from typing import Any

from planner.charts.base import Figure, Result, layout

LABEL_ROW = 40  # characters that fit below a chart on a phone, all its bars together
SHORTEST_LABEL, MOST_LABEL_LINES = 9, 4
PARTS = ("weights", "gradients", "optimizer", "activations", "kv_cache", "runtime")


def memory_parts(result: Result) -> list[dict[str, Any]]:
    """The parts of one GPU's memory in drawing order: key, bytes, and start and width in per mille of the bar."""
    memory = result["memory"]["per_gpu"]
    capacity, total = memory.get("capacity_bytes") or 0.0, memory.get("total_bytes") or 0.0
    span = max(capacity, total) or 1.0
    parts, start = [], 0.0
    for key in PARTS:
        size = memory.get(f"{key}_bytes") or 0.0
        if size > 0:
            parts.append(
                {"key": key, "bytes": size, "x": round(1000 * start / span, 2), "width": round(1000 * size / span, 2)}
            )
            start += size
    if capacity > total:
        parts.append(
            {
                "key": "free",
                "bytes": capacity - total,
                "x": round(1000 * start / span, 2),
                "width": round(1000 * (capacity - total) / span, 2),
            }
        )
    return parts


def capacity_mark(result: Result) -> float:
    """Where on the bar (per mille) the capacity lies."""
    memory = result["memory"]["per_gpu"]
    capacity, total = memory.get("capacity_bytes") or 0.0, memory.get("total_bytes") or 0.0
    return round(1000 * capacity / (max(capacity, total) or 1.0), 2)


def _name_axis(names: Sequence[str]) -> dict[str, Any]:
    """Bars by their place, so that two scenarios of one name stay two, with their names in short lines below."""
    width = max(SHORTEST_LABEL, LABEL_ROW // max(len(names), 1))
    lines = [textwrap.wrap(name, width, max_lines=MOST_LABEL_LINES, placeholder="…") for name in names]
    ticks = ["<br>".join(escape(line) for line in label) for label in lines]
    return {
        "tickvals": list(range(len(names))),
        "ticktext": ticks,
        "tickangle": 0,
        "showgrid": False,
        "zeroline": False,
    }


def compare_bars(
    names: Sequence[str],
    values: Sequence[float | None],
    pairs: Sequence[tuple[float, float] | None],
    unit: str,
    baseline: int,
) -> Figure:
    """One bar a scenario with the whiskers of its interval, where it is known; the baseline is drawn in the accent."""
    up = [pair[1] - value if pair and value is not None else None for pair, value in zip(pairs, values, strict=True)]
    down = [value - pair[0] if pair and value is not None else None for pair, value in zip(pairs, values, strict=True)]
    bar = {
        "type": "bar",
        "x": list(range(len(names))),
        "y": list(values),
        "hovertext": [escape(name) for name in names],
        "hovertemplate": "%{hovertext}: %{y:,.3~s} " + unit + "<extra></extra>",
        "marker": {"color": ["var:accent" if index == baseline else "var:line-strong" for index in range(len(names))]},
        "error_y": {
            "type": "data",
            "visible": any(pair is not None for pair in pairs),
            "symmetric": False,
            "array": up,
            "arrayminus": down,
            "color": "var:ink",
            "thickness": 1.5,
        },
    }
    frame = layout("", unit, xaxis=_name_axis(names), yaxis={"rangemode": "tozero"})
    return {"data": [bar], "layout": frame | {"bargap": 0.4, "height": 300}}


def stacked_memory(names: Sequence[str], results: Sequence[Result]) -> Figure:
    """Memory per GPU by part (GiB), one stacked bar a scenario, the capacity as a dash above it."""
    gib = [
        {key: (result["memory"]["per_gpu"].get(f"{key}_bytes") or 0) / 2**30 for key in (*PARTS, "capacity")}
        for result in results
    ]
    places = list(range(len(names)))
    data: list[dict[str, Any]] = [
        {
            "type": "bar",
            "name": key.replace("_", " "),
            "x": places,
            "y": [row[key] for row in gib],
            "hovertext": [escape(name) for name in names],
            "marker": {"color": f"var:part-{'kv' if key == 'kv_cache' else key}"},
            "hovertemplate": "%{hovertext}: %{y:,.3~r} GiB<extra>" + key.replace("_", " ") + "</extra>",
        }
        for key in PARTS
        if any(row[key] for row in gib)
    ]
    data.append(
        {
            "type": "scatter",
            "mode": "markers",
            "name": "capacity",
            "x": places,
            "y": [row["capacity"] for row in gib],
            "marker": {"symbol": "line-ew-open", "size": 40, "color": "var:ink", "line": {"width": 2}},
            "hovertemplate": "capacity %{y:,.3~r} GiB<extra></extra>",
        }
    )
    return {
        "data": data,
        "layout": layout("", "GiB per GPU", xaxis=_name_axis(names), yaxis={"rangemode": "tozero"})
        | {"barmode": "stack", "bargap": 0.4, "height": 320},
    }
