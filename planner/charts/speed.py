"""Curves and clouds: speed over load and scale, cost against speed, Pareto fronts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from planner.charts.base import Figure, Result, interval_of, layout, vertical_line

LARGEST_BUBBLE = 28.0  # pixels across
HOVER = "%{x:,.3~s} tokens/s per user<br>%{y:,.3~s} tokens/s per GPU<extra></extra>"


def speed_curve(points: Sequence[Result], present: Result | None = None, slo_tpot_s: float | None = None) -> Figure:
    """Serving: output tokens/s/GPU over tokens/s/user, one marker a concurrency, with the band of the interval."""
    rows = sorted((_speed_row(result) for result in points if _serves(result)), key=lambda row: row["concurrency"])
    curve = _curve(rows) | {
        "mode": "lines+markers+text",
        "text": [f"{row['concurrency']:,.0f}" for row in rows],
        "textposition": "top right",
        "textfont": {"size": 11},
        "cliponaxis": False,
        "hovertemplate": f"concurrency %{{text}}<br>{HOVER}",
    }
    data = [*_band(rows), curve]
    if present is not None and _serves(present):
        data.append(_here(_speed_row(present), HOVER))
    zero = {"rangemode": "tozero"}
    frame = layout("tokens/s per user", "output tokens/s per GPU", xaxis=zero, yaxis=zero)
    if slo_tpot_s:
        frame |= vertical_line(1 / slo_tpot_s, "service level")
    return {"data": data, "layout": frame}


def scaling_curve(points: Sequence[Result], present: Result | None = None) -> Figure:
    """Training: tokens/s/GPU over the number of GPUs, with the band of the interval."""
    rows = sorted((_scaling_row(result) for result in points if result.get("training")), key=lambda row: row["x"])
    hover = "%{x} GPUs<br>%{y:,.3~s} tokens/s per GPU<extra></extra>"
    data = [*_band(rows), _curve(rows) | {"mode": "lines+markers", "hovertemplate": hover}]
    if present is not None and present.get("training"):
        data.append(_here(_scaling_row(present), hover))
    gpus = [row["x"] for row in rows]
    ticks = {"type": "log", "tickvals": gpus, "ticktext": [f"{count:,}" for count in gpus]}
    return {"data": data, "layout": layout("GPUs", "tokens/s per GPU", xaxis=ticks, yaxis={"rangemode": "tozero"})}


def _curve(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "name": "predicted",
        "x": [row["x"] for row in rows],
        "y": [row["y"] for row in rows],
        "line": {"color": "var:accent", "width": 2},
        "marker": {"color": "var:accent", "size": 6},
    }


def _band(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The interval as a filled outline; nothing where it is not known at every point."""
    if not rows or any(row["low"] is None for row in rows):
        return []
    x = [row["x"] for row in rows]
    outline = {
        "type": "scatter",
        "mode": "lines",
        "name": "80 % interval",
        "hoverinfo": "skip",
        "fill": "toself",
        "x": x + x[::-1],
        "y": [row["high"] for row in rows] + [row["low"] for row in rows[::-1]],
        "line": {"width": 0},
        "fillcolor": "var:accent/0.15",
    }
    return [outline]


def _here(row: Mapping[str, Any], hover: str) -> dict[str, Any]:
    """The ring around the scenario that was asked for."""
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "this scenario",
        "x": [row["x"]],
        "y": [row["y"]],
        "marker": {"color": "var:ink", "size": 12, "symbol": "circle-open", "line": {"width": 3}},
        "hovertemplate": f"this scenario<br>{hover}",
    }


def bubbles(rows: Iterable[Mapping[str, Any]], x_title: str, y_title: str) -> Figure:
    """Rank: cost over speed, one bubble a GPU and count (area by count). Rows carry x, y, size, label, url, shown."""
    kept = [row for row in rows if row["x"] is not None and row["y"] is not None]
    largest = max((row["size"] for row in kept), default=1)
    data = []
    for name, colour, wanted in (
        ("meets the service level", "var:accent", True),
        ("misses it", "var:line-strong", False),
    ):
        group = [row for row in kept if row["meets"] is wanted]
        if group:
            data.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "name": name,
                    "x": [row["x"] for row in group],
                    "y": [row["y"] for row in group],
                    "text": [row["label"] for row in group],
                    "customdata": [{"url": row["url"]} for row in group],
                    "hovertemplate": "%{text}<br>%{x:,.3~s} "
                    + x_title
                    + "<br>%{y:$,.3~r} "
                    + y_title
                    + "<extra></extra>",
                    "marker": {
                        "color": colour,
                        "opacity": 0.7,
                        "size": [max(6.0, LARGEST_BUBBLE * (row["size"] / largest) ** 0.5) for row in group],
                        "line": {"color": "var:ink", "width": 1},
                    },
                }
            )
    axes = {"type": "log", "dtick": "D2", "exponentformat": "SI"}
    return {"data": data, "layout": layout(x_title, y_title, xaxis=axes, yaxis=axes | {"tickprefix": "$"})}


def pareto(
    points: Sequence[Mapping[str, Any]],
    front: Sequence[Mapping[str, Any]],
    x: str,
    y: str,
    titles: tuple[str, str],
    logarithmic: bool = True,
) -> Figure:
    """All points grey, the front joined; points carry their values under the keys `x` and `y`, `label` and `url`."""
    axes = {"type": "log", "dtick": "D2", "exponentformat": "SI"} if logarithmic else {"rangemode": "tozero"}
    ordered = sorted(front, key=lambda point: point[x])
    data = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": "points",
            "x": [point[x] for point in points],
            "y": [point[y] for point in points],
            "text": [point["label"] for point in points],
            "customdata": [{"url": point["url"]} for point in points],
            "marker": {"color": "var:line-strong", "size": 5, "opacity": 0.6},
            "hovertemplate": "%{text}<br>%{x:,.3~s} · %{y:,.3~s}<extra></extra>",
        },
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": "Pareto front",
            "x": [point[x] for point in ordered],
            "y": [point[y] for point in ordered],
            "text": [point["label"] for point in ordered],
            "customdata": [{"url": point["url"]} for point in ordered],
            "line": {"color": "var:accent", "width": 2},
            "marker": {"color": "var:accent", "size": 8},
            "hovertemplate": "%{text}<br>%{x:,.3~s} · %{y:,.3~s}<extra></extra>",
        },
    ]
    return {"data": data, "layout": layout(*titles, xaxis=axes, yaxis=axes)}


def _serves(result: Result) -> bool:
    inference = result.get("inference")
    return bool(inference and inference.get("tpot_s") and inference.get("output_tokens_per_s_per_gpu"))


def _speed_row(result: Result) -> dict[str, Any]:
    inference = result["inference"]
    key = "output_tokens_per_s_per_gpu"
    low, high = interval_of(result, key) or (None, None)
    return {
        "x": 1 / inference["tpot_s"],
        "y": inference[key],
        "concurrency": inference.get("concurrency") or 0,
        "low": low,
        "high": high,
    }


def _scaling_row(result: Result) -> dict[str, Any]:
    key = "tokens_per_s_per_gpu"
    low, high = interval_of(result, key) or (None, None)
    return {"x": result["scenario"]["gpu_count"], "y": result["training"][key], "low": low, "high": high}
