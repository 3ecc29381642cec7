"""Curves and clouds: speed over load and scale, cost against speed, Pareto fronts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from planner.charts.base import Figure, Result, interval_of, layout, vertical_line

HOVER = "%{x:,.3~s} tokens/s per user<br>%{y:,.3~s} tokens/s per GPU<extra></extra>"


def speed_curve(points: Sequence[Result], present: Result | None = None, slo_tpot_s: float | None = None) -> Figure:
    """Serving: output tokens/s/GPU over tokens/s/user, one marker a concurrency, with the band of the interval."""
    rows = [_speed_row(result) for result in points if _serves(result)]
    rows.sort(key=lambda row: row["concurrency"])
    user = [row["user"] for row in rows]
    data: list[dict[str, Any]] = []
    if rows and all(row["low"] is not None for row in rows):
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": "80 % interval",
                "hoverinfo": "skip",
                "fill": "toself",
                "x": user + user[::-1],
                "y": [row["high"] for row in rows] + [row["low"] for row in rows[::-1]],
                "line": {"width": 0},
                "fillcolor": "var:accent/0.15",
            }
        )
    data.append(
        {
            "type": "scatter",
            "mode": "lines+markers+text",
            "name": "predicted",
            "x": user,
            "y": [row["gpu"] for row in rows],
            "text": [f"{row['concurrency']:,.0f}" for row in rows],
            "textposition": "top right",
            "textfont": {"size": 11},
            "cliponaxis": False,
            "line": {"color": "var:accent", "width": 2},
            "marker": {"color": "var:accent", "size": 6},
            "hovertemplate": f"concurrency %{{text}}<br>{HOVER}",
        }
    )
    if present is not None and _serves(present):
        row = _speed_row(present)
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": "this scenario",
                "x": [row["user"]],
                "y": [row["gpu"]],
                "marker": {"color": "var:ink", "size": 12, "symbol": "circle-open", "line": {"width": 3}},
                "hovertemplate": f"this scenario<br>{HOVER}",
            }
        )
    frame = layout(
        "tokens/s per user", "output tokens/s per GPU", xaxis={"rangemode": "tozero"}, yaxis={"rangemode": "tozero"}
    )
    if slo_tpot_s:
        frame |= vertical_line(1 / slo_tpot_s, "service level")
    return {"data": data, "layout": frame}


def scaling_curve(points: Sequence[Result], present: Result | None = None) -> Figure:
    """Training: tokens/s/GPU over the number of GPUs, with the band of the interval."""
    rows = sorted((_scaling_row(result) for result in points if result.get("training")), key=lambda row: row["gpus"])
    gpus = [row["gpus"] for row in rows]
    data: list[dict[str, Any]] = []
    if rows and all(row["low"] is not None for row in rows):
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": "80 % interval",
                "hoverinfo": "skip",
                "fill": "toself",
                "x": gpus + gpus[::-1],
                "y": [row["high"] for row in rows] + [row["low"] for row in rows[::-1]],
                "line": {"width": 0},
                "fillcolor": "var:accent/0.15",
            }
        )
    data.append(
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": "predicted",
            "x": gpus,
            "y": [row["speed"] for row in rows],
            "line": {"color": "var:accent", "width": 2},
            "marker": {"color": "var:accent", "size": 6},
            "hovertemplate": "%{x} GPUs<br>%{y:,.3~s} tokens/s per GPU<extra></extra>",
        }
    )
    if present is not None and present.get("training"):
        row = _scaling_row(present)
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": "this scenario",
                "x": [row["gpus"]],
                "y": [row["speed"]],
                "marker": {"color": "var:ink", "size": 12, "symbol": "circle-open", "line": {"width": 3}},
                "hovertemplate": "this scenario<br>%{x} GPUs<br>%{y:,.3~s} tokens/s per GPU<extra></extra>",
            }
        )
    ticks = {"type": "log", "tickvals": gpus, "ticktext": [f"{count:,}" for count in gpus]}
    return {"data": data, "layout": layout("GPUs", "tokens/s per GPU", xaxis=ticks, yaxis={"rangemode": "tozero"})}


def bubbles(rows: Iterable[Mapping[str, Any]], x_title: str, y_title: str) -> Figure:
    """Rank: cost over speed, one bubble a GPU and count (area by count). Rows carry x, y, size, label, url, shown."""
    kept = [row for row in rows if row["x"] is not None and row["y"] is not None]
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
                        "size": [6 + 5 * row["size"] ** 0.5 for row in group],
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
    low, high = (
        interval_of(result, "output_tokens_per_s_per_gpu")
        or interval_of(result, "tokens_per_s_per_gpu")
        or (None, None)
    )
    return {
        "user": 1 / inference["tpot_s"],
        "gpu": inference["output_tokens_per_s_per_gpu"],
        "concurrency": inference.get("concurrency") or 0,
        "low": low,
        "high": high,
    }


def _scaling_row(result: Result) -> dict[str, Any]:
    low, high = interval_of(result, "tokens_per_s_per_gpu") or (None, None)
    return {
        "gpus": result["scenario"]["gpu_count"],
        "speed": result["training"]["tokens_per_s_per_gpu"],
        "low": low,
        "high": high,
    }
