"""Results in, plotly figures out, as plain dictionaries: {"data": [...], "layout": {...}}.

Pure: no Django, no plotly import. A colour is the name of a variable of the style sheet, "var:compute" or with
an opacity "var:accent/0.2", which the page's script resolves, so that one figure serves light and dark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Figure = dict[str, Any]
Result = Mapping[str, Any]

BOUNDS = ("compute", "memory", "interconnect", "latency", "capacity")
SYMBOLS = {"compute": "circle", "memory": "square", "interconnect": "diamond", "latency": "triangle-up", "capacity": "x"}
HATCHES = {"compute": "", "memory": "/", "interconnect": "x", "latency": ".", "capacity": "-"}
MOST_OPERATORS = 14


@dataclass(frozen=True)
class Roof:
    """One ceiling: a compute peak (FLOP/s, flat) or a bandwidth (bytes/s, slanted)."""

    name: str
    value: float
    kind: str  # "compute" | "memory" | "interconnect"


def interval_of(result: Result, key: str) -> tuple[float, float] | None:
    """The interval of a headline figure, where one is known."""
    pair = (result.get("interval") or {}).get(key)
    return (pair[0], pair[1]) if pair else None


def speed_curve(points: Sequence[Result], present: Result | None = None, slo_tpot_s: float | None = None) -> Figure:
    """Serving: output tokens/s/GPU over tokens/s/user, one marker a concurrency, with the band of the interval."""
    rows = [_speed_row(result) for result in points if _serves(result)]
    rows.sort(key=lambda row: row["concurrency"])
    user = [row["user"] for row in rows]
    data: list[dict[str, Any]] = []
    if rows and all(row["low"] is not None for row in rows):
        data.append({
            "type": "scatter", "mode": "lines", "name": "80 % interval", "hoverinfo": "skip", "fill": "toself",
            "x": user + user[::-1], "y": [row["high"] for row in rows] + [row["low"] for row in rows[::-1]],
            "line": {"width": 0}, "fillcolor": "var:accent/0.15",
        })
    data.append({
        "type": "scatter", "mode": "lines+markers+text", "name": "predicted", "x": user, "y": [row["gpu"] for row in rows],
        "text": [f"{row['concurrency']:,.0f}" for row in rows], "textposition": "top right", "textfont": {"size": 11},
        "line": {"color": "var:accent", "width": 2}, "marker": {"color": "var:accent", "size": 6},
        "hovertemplate": "concurrency %{text}<br>%{x:,.3~s} tokens/s per user<br>%{y:,.3~s} tokens/s per GPU<extra></extra>",
    })
    if present is not None and _serves(present):
        row = _speed_row(present)
        data.append({
            "type": "scatter", "mode": "markers", "name": "this scenario", "x": [row["user"]], "y": [row["gpu"]],
            "marker": {"color": "var:ink", "size": 12, "symbol": "circle-open", "line": {"width": 3}},
            "hovertemplate": "this scenario<br>%{x:,.3~s} tokens/s per user<br>%{y:,.3~s} tokens/s per GPU<extra></extra>",
        })
    layout = _layout("tokens/s per user", "output tokens/s per GPU", xaxis={"rangemode": "tozero"}, yaxis={"rangemode": "tozero"})
    if slo_tpot_s:
        layout |= _vertical_line(1 / slo_tpot_s, "service level")
    return {"data": data, "layout": layout}


def scaling_curve(points: Sequence[Result], present: Result | None = None) -> Figure:
    """Training: tokens/s/GPU over the number of GPUs, with the band of the interval."""
    rows = sorted((_scaling_row(result) for result in points if result.get("training")), key=lambda row: row["gpus"])
    gpus = [row["gpus"] for row in rows]
    data: list[dict[str, Any]] = []
    if rows and all(row["low"] is not None for row in rows):
        data.append({
            "type": "scatter", "mode": "lines", "name": "80 % interval", "hoverinfo": "skip", "fill": "toself",
            "x": gpus + gpus[::-1], "y": [row["high"] for row in rows] + [row["low"] for row in rows[::-1]],
            "line": {"width": 0}, "fillcolor": "var:accent/0.15",
        })
    data.append({
        "type": "scatter", "mode": "lines+markers", "name": "predicted", "x": gpus, "y": [row["speed"] for row in rows],
        "line": {"color": "var:accent", "width": 2}, "marker": {"color": "var:accent", "size": 6},
        "hovertemplate": "%{x} GPUs<br>%{y:,.3~s} tokens/s per GPU<extra></extra>",
    })
    if present is not None and present.get("training"):
        row = _scaling_row(present)
        data.append({
            "type": "scatter", "mode": "markers", "name": "this scenario", "x": [row["gpus"]], "y": [row["speed"]],
            "marker": {"color": "var:ink", "size": 12, "symbol": "circle-open", "line": {"width": 3}},
            "hovertemplate": "this scenario<br>%{x} GPUs<br>%{y:,.3~s} tokens/s per GPU<extra></extra>",
        })
    ticks = {"type": "log", "tickvals": gpus, "ticktext": [f"{count:,}" for count in gpus]}
    return {"data": data, "layout": _layout("GPUs", "tokens/s per GPU", xaxis=ticks, yaxis={"rangemode": "tozero"})}


def roofline(result: Result, roofs: Sequence[Roof]) -> Figure:
    """Operators over their arithmetic intensity, under the roofs; the ridge points are marked."""
    points = [row for row in operator_rows(result) if row["flops"] > 0 and row["bytes"] > 0 and row["time_s"] > 0]
    peak = max((roof.value for roof in roofs if roof.kind == "compute"), default=0.0)
    bandwidth = max((roof.value for roof in roofs if roof.kind == "memory"), default=0.0)
    ridge = peak / bandwidth if bandwidth else 100.0
    intensities = [row["intensity"] for row in points] or [ridge]
    low, high = min(0.5, *intensities) / 2, max(ridge * 10, *intensities) * 2
    data = [_roof_line(roof, peak, low, high) for roof in roofs]
    data += [_ridge_point(roof, peak) for roof in roofs if roof.kind == "memory" and peak]
    data += [_operator_points(bound, points) for bound in BOUNDS if any(row["bound"] == bound for row in points)]
    axes = {"type": "log", "exponentformat": "SI"}
    return {"data": data, "layout": _layout("FLOPs per byte of memory traffic", "FLOP/s per GPU", xaxis=axes, yaxis=axes)}


def operator_rows(result: Result) -> list[dict[str, Any]]:
    """One row per operator and phase, slowest first, with the time of all its occurrences (s) and its share."""
    rows = []
    for operator in result.get("operators") or []:
        flops, moved = operator.get("flops") or 0.0, operator.get("bytes") or 0.0
        rows.append({
            **operator, "flops": flops, "bytes": moved, "time_s": operator.get("time_s") or 0.0,
            "intensity": operator.get("intensity") or (flops / moved if moved else 0.0),
            "total_s": (operator.get("time_s") or 0.0) * (operator.get("count") or 1),
        })
    phases: dict[str, float] = {}
    for row in rows:
        phases[row.get("phase", "")] = phases.get(row.get("phase", ""), 0.0) + row["total_s"]
    for row in rows:
        whole = phases[row.get("phase", "")]
        row["share"] = row["total_s"] / whole if whole else 0.0
    return sorted(rows, key=lambda row: -row["total_s"])


def operator_bars(result: Result) -> Figure:
    """Share of each phase's time by operator; colour and hatch say what binds."""
    rows = operator_rows(result)
    phases = list(dict.fromkeys(operator.get("phase", "") for operator in result.get("operators") or []))
    shown = [row for row in rows if row["share"] >= 0.005]
    shown = sorted(shown, key=lambda row: -row["share"])[:MOST_OPERATORS]
    shown.sort(key=lambda row: (phases.index(row.get("phase", "")), -row["share"]))
    labels = [_label(row, many=len(phases) > 1) for row in shown]
    data = [
        {
            "type": "bar", "orientation": "h", "name": f"{bound}-bound", "hovertemplate": "%{y}: %{x:.1%} of the phase, %{customdata.time} ms<extra></extra>",
            "x": [row["share"] if row["bound"] == bound else None for row in shown], "y": labels,
            "customdata": [{"time": f"{row['total_s'] * 1e3:.3g}"} for row in shown],
            "marker": {"color": f"var:{bound}", "pattern": {"shape": HATCHES[bound], "fgcolor": "var:raised", "size": 6, "solidity": 0.25}},
        }
        for bound in BOUNDS
        if any(row["bound"] == bound for row in shown)
    ]
    layout = _layout("share of the phase's time", "", xaxis={"tickformat": ".0%"}, yaxis={"autorange": "reversed", "categoryorder": "array", "categoryarray": labels})
    return {"data": data, "layout": layout | {"barmode": "stack", "height": 96 + 22 * max(len(shown), 3), "bargap": 0.25}}


def memory_parts(result: Result) -> list[dict[str, Any]]:
    """The parts of one GPU's memory in drawing order: key, bytes, and start and width in per mille of the bar."""
    memory = result["memory"]["per_gpu"]
    capacity, total = memory.get("capacity_bytes") or 0.0, memory.get("total_bytes") or 0.0
    span = max(capacity, total) or 1.0
    keys = ("weights", "gradients", "optimizer", "activations", "kv_cache", "runtime")
    parts, start = [], 0.0
    for key in keys:
        size = memory.get(f"{key}_bytes") or 0.0
        if size > 0:
            parts.append({"key": key, "bytes": size, "x": round(1000 * start / span, 2), "width": round(1000 * size / span, 2)})
            start += size
    if capacity > total:
        parts.append({"key": "free", "bytes": capacity - total, "x": round(1000 * start / span, 2), "width": round(1000 * (capacity - total) / span, 2)})
    return parts


def capacity_mark(result: Result) -> float:
    """Where on the bar (per mille) the capacity lies."""
    memory = result["memory"]["per_gpu"]
    capacity, total = memory.get("capacity_bytes") or 0.0, memory.get("total_bytes") or 0.0
    return round(1000 * capacity / (max(capacity, total) or 1.0), 2)


def compare_bars(names: Sequence[str], values: Sequence[float | None], pairs: Sequence[tuple[float, float] | None], unit: str, baseline: int) -> Figure:
    """One bar a scenario with the whiskers of its interval; the baseline is drawn in the accent."""
    up = [pair[1] - value if pair and value is not None else 0 for pair, value in zip(pairs, values, strict=True)]
    down = [value - pair[0] if pair and value is not None else 0 for pair, value in zip(pairs, values, strict=True)]
    bar = {
        "type": "bar", "x": list(names), "y": list(values), "hovertemplate": "%{x}: %{y:,.3~s} " + unit + "<extra></extra>",
        "marker": {"color": ["var:accent" if index == baseline else "var:line-strong" for index in range(len(names))]},
        "error_y": {"type": "data", "symmetric": False, "array": up, "arrayminus": down, "color": "var:ink", "thickness": 1.5},
    }
    return {"data": [bar], "layout": _layout("", unit, yaxis={"rangemode": "tozero"}) | {"bargap": 0.4, "height": 280}}


def stacked_memory(names: Sequence[str], results: Sequence[Result]) -> Figure:
    """Memory per GPU by part (GiB), one stacked bar a scenario, the capacity as a dash above it."""
    keys = ("weights", "gradients", "optimizer", "activations", "kv_cache", "runtime")
    gib = [{key: (result["memory"]["per_gpu"].get(f"{key}_bytes") or 0) / 2**30 for key in (*keys, "capacity")} for result in results]
    data: list[dict[str, Any]] = [
        {"type": "bar", "name": key.replace("_", " "), "x": list(names), "y": [row[key] for row in gib], "marker": {"color": f"var:part-{'kv' if key == 'kv_cache' else key}"},
         "hovertemplate": "%{x}: %{y:,.3~r} GiB<extra>" + key.replace("_", " ") + "</extra>"}
        for key in keys
        if any(row[key] for row in gib)
    ]
    data.append({"type": "scatter", "mode": "markers", "name": "capacity", "x": list(names), "y": [row["capacity"] for row in gib],
                 "marker": {"symbol": "line-ew-open", "size": 40, "color": "var:ink", "line": {"width": 2}}, "hovertemplate": "capacity %{y:,.3~r} GiB<extra></extra>"})
    return {"data": data, "layout": _layout("", "GiB per GPU", yaxis={"rangemode": "tozero"}) | {"barmode": "stack", "bargap": 0.4, "height": 320}}


def bubbles(rows: Iterable[Mapping[str, Any]], x_title: str, y_title: str) -> Figure:
    """Rank: cost over speed, one bubble a GPU and count (area by count). Rows carry x, y, size, label, url, shown."""
    kept = [row for row in rows if row["x"] is not None and row["y"] is not None]
    data = []
    for name, colour, wanted in (("meets the service level", "var:accent", True), ("misses it", "var:line-strong", False)):
        group = [row for row in kept if row["meets"] is wanted]
        if group:
            data.append({
                "type": "scatter", "mode": "markers", "name": name, "x": [row["x"] for row in group], "y": [row["y"] for row in group],
                "text": [row["label"] for row in group], "customdata": [{"url": row["url"]} for row in group],
                "hovertemplate": "%{text}<br>%{x:,.3~s} " + x_title + "<br>%{y:$,.3~r} " + y_title + "<extra></extra>",
                "marker": {"color": colour, "opacity": 0.7, "size": [6 + 5 * row["size"] ** 0.5 for row in group], "line": {"color": "var:ink", "width": 1}},
            })
    axes = {"type": "log", "dtick": "D1", "exponentformat": "SI"}
    return {"data": data, "layout": _layout(x_title, y_title, xaxis=axes, yaxis=axes | {"tickprefix": "$"})}


def pareto(points: Sequence[Mapping[str, Any]], front: Sequence[Mapping[str, Any]], x: str, y: str, titles: tuple[str, str], logarithmic: bool = True) -> Figure:
    """All points grey, the front joined; points carry their values under the keys `x` and `y`, `label` and `url`."""
    axes = {"type": "log", "dtick": "D1", "exponentformat": "SI"} if logarithmic else {"rangemode": "tozero"}
    ordered = sorted(front, key=lambda point: point[x])
    data = [
        {"type": "scatter", "mode": "markers", "name": "points", "x": [point[x] for point in points], "y": [point[y] for point in points],
         "text": [point["label"] for point in points], "customdata": [{"url": point["url"]} for point in points], "marker": {"color": "var:line-strong", "size": 5, "opacity": 0.6},
         "hovertemplate": "%{text}<br>%{x:,.3~s} · %{y:,.3~s}<extra></extra>"},
        {"type": "scatter", "mode": "lines+markers", "name": "Pareto front", "x": [point[x] for point in ordered], "y": [point[y] for point in ordered],
         "text": [point["label"] for point in ordered], "customdata": [{"url": point["url"]} for point in ordered], "line": {"color": "var:accent", "width": 2},
         "marker": {"color": "var:accent", "size": 8}, "hovertemplate": "%{text}<br>%{x:,.3~s} · %{y:,.3~s}<extra></extra>"},
    ]
    return {"data": data, "layout": _layout(*titles, xaxis=axes, yaxis=axes)}


def _serves(result: Result) -> bool:
    inference = result.get("inference")
    return bool(inference and inference.get("tpot_s") and inference.get("output_tokens_per_s_per_gpu"))


def _speed_row(result: Result) -> dict[str, Any]:
    inference = result["inference"]
    low, high = interval_of(result, "output_tokens_per_s_per_gpu") or interval_of(result, "tokens_per_s_per_gpu") or (None, None)
    return {
        "user": 1 / inference["tpot_s"], "gpu": inference["output_tokens_per_s_per_gpu"],
        "concurrency": inference.get("concurrency") or 0, "low": low, "high": high,
    }


def _scaling_row(result: Result) -> dict[str, Any]:
    low, high = interval_of(result, "tokens_per_s_per_gpu") or (None, None)
    return {"gpus": result["scenario"]["gpu_count"], "speed": result["training"]["tokens_per_s_per_gpu"], "low": low, "high": high}


def _roof_line(roof: Roof, peak: float, low: float, high: float) -> dict[str, Any]:
    if roof.kind == "compute":
        x, y = [low, high], [roof.value, roof.value]
    else:
        end = peak / roof.value if peak else high
        x, y = [low, end], [low * roof.value, end * roof.value]
    return {
        "type": "scatter", "mode": "lines", "name": roof.name, "x": x, "y": y, "hovertemplate": roof.name + "<extra></extra>",
        "line": {"color": f"var:{roof.kind}", "width": 2, "dash": "dash" if roof.kind == "interconnect" else "solid"},
    }


def _ridge_point(roof: Roof, peak: float) -> dict[str, Any]:
    ridge = peak / roof.value
    return {
        "type": "scatter", "mode": "markers+text", "name": "ridge point", "x": [ridge], "y": [peak], "text": [f"ridge {ridge:.0f}"], "textposition": "top left", "showlegend": False,
        "marker": {"color": "var:ink", "size": 7, "symbol": "diamond-open"}, "hovertemplate": "ridge point: %{x:.0f} FLOPs per byte<extra></extra>",
    }


def _operator_points(bound: str, points: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    rows = [row for row in points if row["bound"] == bound]
    return {
        "type": "scatter", "mode": "markers", "name": f"{bound}-bound", "x": [row["intensity"] for row in rows], "y": [row["flops"] / row["time_s"] for row in rows],
        "text": [f"{row['name']} ({row.get('phase', '')})" for row in rows], "marker": {"color": f"var:{bound}", "symbol": SYMBOLS[bound], "size": [7 + 14 * row["share"] ** 0.5 for row in rows], "line": {"color": "var:ink", "width": 0.5}},
        "hovertemplate": "%{text}<br>%{x:.3~s} FLOPs/byte<br>%{y:.3~s}FLOP/s<extra></extra>",
    }


def _label(row: Mapping[str, Any], many: bool) -> str:
    return f"{row.get('phase')} · {row['name']}" if many else row["name"]


def _layout(x_title: str, y_title: str, xaxis: Mapping[str, Any] | None = None, yaxis: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {
        "xaxis": {"title": {"text": x_title}, **(xaxis or {})}, "yaxis": {"title": {"text": y_title}, **(yaxis or {})},
        "hovermode": "closest",
    }


def _vertical_line(x: float, text: str) -> dict[str, Any]:
    return {
        "shapes": [{"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper", "line": {"color": "var:wrong", "width": 1, "dash": "dash"}}],
        "annotations": [{"x": x, "y": 1, "yref": "paper", "text": text, "showarrow": False, "xanchor": "left", "yanchor": "top", "font": {"color": "var:wrong"}}],
    }
