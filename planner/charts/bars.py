"""Bars: memory by part, scenarios side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planner.charts.base import Figure, Result, layout

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


def compare_bars(
    names: Sequence[str],
    values: Sequence[float | None],
    pairs: Sequence[tuple[float, float] | None],
    unit: str,
    baseline: int,
) -> Figure:
    """One bar a scenario with the whiskers of its interval; the baseline is drawn in the accent."""
    up = [pair[1] - value if pair and value is not None else 0 for pair, value in zip(pairs, values, strict=True)]
    down = [value - pair[0] if pair and value is not None else 0 for pair, value in zip(pairs, values, strict=True)]
    bar = {
        "type": "bar",
        "x": list(names),
        "y": list(values),
        "hovertemplate": "%{x}: %{y:,.3~s} " + unit + "<extra></extra>",
        "marker": {"color": ["var:accent" if index == baseline else "var:line-strong" for index in range(len(names))]},
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": up,
            "arrayminus": down,
            "color": "var:ink",
            "thickness": 1.5,
        },
    }
    return {"data": [bar], "layout": layout("", unit, yaxis={"rangemode": "tozero"}) | {"bargap": 0.4, "height": 280}}


def stacked_memory(names: Sequence[str], results: Sequence[Result]) -> Figure:
    """Memory per GPU by part (GiB), one stacked bar a scenario, the capacity as a dash above it."""
    gib = [
        {key: (result["memory"]["per_gpu"].get(f"{key}_bytes") or 0) / 2**30 for key in (*PARTS, "capacity")}
        for result in results
    ]
    data: list[dict[str, Any]] = [
        {
            "type": "bar",
            "name": key.replace("_", " "),
            "x": list(names),
            "y": [row[key] for row in gib],
            "marker": {"color": f"var:part-{'kv' if key == 'kv_cache' else key}"},
            "hovertemplate": "%{x}: %{y:,.3~r} GiB<extra>" + key.replace("_", " ") + "</extra>",
        }
        for key in PARTS
        if any(row[key] for row in gib)
    ]
    data.append(
        {
            "type": "scatter",
            "mode": "markers",
            "name": "capacity",
            "x": list(names),
            "y": [row["capacity"] for row in gib],
            "marker": {"symbol": "line-ew-open", "size": 40, "color": "var:ink", "line": {"width": 2}},
            "hovertemplate": "capacity %{y:,.3~r} GiB<extra></extra>",
        }
    )
    return {
        "data": data,
        "layout": layout("", "GiB per GPU", yaxis={"rangemode": "tozero"})
        | {"barmode": "stack", "bargap": 0.4, "height": 320},
    }
