"""What all figures share.

A figure is a plain dictionary, {"data": [...], "layout": {...}}: no Django, no plotly import. A colour is the name of a
variable of the style sheet, "var:compute" or with an opacity "var:accent/0.2", which the page's script resolves, so
that one figure serves light and dark.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Figure = dict[str, Any]
Result = Mapping[str, Any]


@dataclass(frozen=True)
class Roof:
    """One ceiling: a compute peak (FLOP/s, flat) or a bandwidth (bytes/s, slanted)."""

    name: str
    value: float
    kind: str  # "compute" | "memory" | "interconnect"


def interval_of(result: Result, key: str) -> tuple[float, float] | None:
    """The interval of a headline figure or of a cost, where one is known."""
    costs = (result.get("cost") or {}).get("interval") or {}
    pair = (result.get("interval") or {}).get(key) or costs.get(key)
    return (pair[0], pair[1]) if pair else None


def layout(
    x_title: str, y_title: str, xaxis: Mapping[str, Any] | None = None, yaxis: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    return {
        "xaxis": {"title": {"text": x_title}, **(xaxis or {})},
        "yaxis": {"title": {"text": y_title}, **(yaxis or {})},
        "hovermode": "closest",
    }


def vertical_line(x: float, text: str) -> dict[str, Any]:
    return {
        "shapes": [
            {
                "type": "line",
                "x0": x,
                "x1": x,
                "y0": 0,
                "y1": 1,
                "yref": "paper",
                "line": {"color": "var:wrong", "width": 1, "dash": "dash"},
            }
        ],
        "annotations": [
            {
                "x": x,
                "y": 1,
                "yref": "paper",
                "text": text,
                "showarrow": False,
                "xanchor": "left",
                "yanchor": "top",
                "font": {"color": "var:wrong"},
            }
        ],
    }
