"""The roofline, and where the time goes, operator by operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planner.charts.base import Figure, Result, Roof, layout

BOUNDS = ("compute", "memory", "interconnect", "latency", "capacity")
SYMBOLS = {
    "compute": "circle",
    "memory": "square",
    "interconnect": "diamond",
    "latency": "triangle-up",
    "capacity": "x",
}
MOST_OPERATORS = 14
TERA = 1e12


def roofline(result: Result, roofs: Sequence[Roof]) -> Figure:
    """Operators over their arithmetic intensity, under the roofs; the ridge points are marked."""
    points = [row for row in operator_rows(result) if row["flops"] > 0 and row["bytes"] > 0 and row["time_s"] > 0]
    roofs = [Roof(roof.name, roof.value / TERA, roof.kind) for roof in roofs]
    peak = max((roof.value for roof in roofs if roof.kind == "compute"), default=0.0)
    bandwidth = max((roof.value for roof in roofs if roof.kind == "memory"), default=0.0)
    ridge = peak / bandwidth if bandwidth else 100.0
    intensities = [row["intensity"] for row in points] or [ridge]
    low, high = min(0.5, *intensities) / 2, max(ridge * 10, *intensities) * 2
    data = [_roof_line(roof, peak, low, high, used=index == 0) for index, roof in enumerate(roofs)]
    data += [_ridge_point(roof, peak) for roof in roofs if roof.kind == "memory" and peak]
    data += [_operator_points(bound, points) for bound in BOUNDS if any(row["bound"] == bound for row in points)]
    axes = {"type": "log", "exponentformat": "SI"}
    return {
        "data": data,
        "layout": layout("FLOPs per byte of memory traffic", "TFLOP/s per GPU", xaxis=axes, yaxis=axes),
    }


def operator_rows(result: Result) -> list[dict[str, Any]]:
    """One row per operator and phase, slowest first, with the time of all its occurrences (s) and its share of a whole:
    of the phase when serving; when training of all operators, communication that overlaps them counted whole.
    """
    rows = []
    for operator in result.get("operators") or []:
        flops, moved = operator.get("flops") or 0.0, operator.get("bytes") or 0.0
        rows.append(
            {
                **operator,
                "flops": flops,
                "bytes": moved,
                "time_s": operator.get("time_s") or 0.0,
                "intensity": operator.get("intensity") or (flops / moved if moved else 0.0),
                "total_s": (operator.get("time_s") or 0.0) * (operator.get("count") or 1),
            }
        )
    whole: dict[str, float] = {}
    for row in rows:
        whole[_shared_by(row, result)] = whole.get(_shared_by(row, result), 0.0) + row["total_s"]
    for row in rows:
        row["share"] = row["total_s"] / (whole[_shared_by(row, result)] or 1.0)
    return sorted(rows, key=lambda row: -row["total_s"])


def _shared_by(row: Mapping[str, Any], result: Result) -> str:
    return "all" if result.get("training") else str(row.get("phase", ""))


def operator_bars(result: Result) -> Figure:
    """Share of each phase's (serving) or of all operators' time (training); colour and word say what binds."""
    rows = operator_rows(result)
    phases = list(dict.fromkeys(operator.get("phase", "") for operator in result.get("operators") or []))
    shown = [row for row in rows if row["share"] >= 0.005]
    shown = sorted(shown, key=lambda row: -row["share"])[:MOST_OPERATORS]
    shown.sort(key=lambda row: (phases.index(row.get("phase", "")), -row["share"]))
    labels = [_label(row, many=len(phases) > 1) for row in shown]
    data = [
        {
            "type": "bar",
            "orientation": "h",
            "name": f"{bound}-bound",
            "hovertemplate": "%{y}: %{x:.1%}, %{customdata.time} ms<extra></extra>",
            "x": [row["share"] if row["bound"] == bound else None for row in shown],
            "y": labels,
            "customdata": [{"time": f"{row['total_s'] * 1e3:.3g}"} for row in shown],
            "text": [f"{row['share']:.0%} {row['bound']}" if row["bound"] == bound else "" for row in shown],
            "textposition": "outside",
            "cliponaxis": False,
            "marker": {"color": f"var:{bound}"},
        }
        for bound in BOUNDS
        if any(row["bound"] == bound for row in shown)
    ]
    frame = layout(
        "share of the time of all operators, overlapped ones too"
        if result.get("training")
        else "share of the phase's time",
        "",
        xaxis={
            "tickformat": ".0%",
            "showgrid": False,
            "range": [0, 1.45 * max((row["share"] for row in shown), default=1)],
        },
        yaxis={
            "autorange": "reversed",
            "categoryorder": "array",
            "categoryarray": labels,
            "dtick": 1,
            "showgrid": False,
        },
    )
    return {
        "data": data,
        "layout": frame
        | {"barmode": "stack", "height": 72 + 24 * max(len(shown), 3), "bargap": 0.25, "showlegend": False},
    }


def _roof_line(roof: Roof, peak: float, low: float, high: float, *, used: bool) -> dict[str, Any]:
    """A roof; of several compute roofs the first is the one that is used, the others are dotted for comparison."""
    dash = "dash" if roof.kind == "interconnect" else "dot" if roof.kind == "compute" and not used else "solid"
    if roof.kind == "compute":
        x, y = [low, high], [roof.value, roof.value]
    else:
        end = peak / roof.value if peak else high
        x, y = [low, end], [low * roof.value, end * roof.value]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": roof.name,
        "x": x,
        "y": y,
        "hovertemplate": roof.name + "<extra></extra>",
        "line": {"color": f"var:{roof.kind}", "width": 2, "dash": dash},
    }


def _ridge_point(roof: Roof, peak: float) -> dict[str, Any]:
    ridge = peak / roof.value
    return {
        "type": "scatter",
        "mode": "markers",
        "name": f"ridge point {ridge:.0f}",
        "x": [ridge],
        "y": [peak],
        "marker": {"color": "var:ink", "size": 7, "symbol": "diamond-open"},
        "hovertemplate": "ridge point: %{x:.0f} FLOPs per byte<extra></extra>",
    }


def _operator_points(bound: str, points: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    rows = [row for row in points if row["bound"] == bound]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": f"{bound}-bound",
        "x": [row["intensity"] for row in rows],
        "y": [row["flops"] / row["time_s"] / TERA for row in rows],
        "text": [f"{row['name']} ({row.get('phase', '')})" for row in rows],
        "marker": {
            "color": f"var:{bound}",
            "symbol": SYMBOLS[bound],
            "size": [7 + 14 * row["share"] ** 0.5 for row in rows],
            "line": {"color": "var:ink", "width": 0.5},
        },
        "hovertemplate": "%{text}<br>%{x:.3~s} FLOPs/byte<br>%{y:,.3~r} TFLOP/s<extra></extra>",
    }


def _label(row: Mapping[str, Any], many: bool) -> str:
    return f"{row.get('phase')} · {row['name']}" if many else row["name"]
