"""Results in, plotly figures out."""

from planner.charts.bars import capacity_mark, compare_bars, memory_parts, stacked_memory
from planner.charts.base import Figure, Roof, interval_of
from planner.charts.operators import operator_bars, operator_rows, roofline
from planner.charts.speed import bubbles, pareto, scaling_curve, speed_curve

__all__ = [
    "Figure",
    "Roof",
    "bubbles",
    "capacity_mark",
    "compare_bars",
    "interval_of",
    "memory_parts",
    "operator_bars",
    "operator_rows",
    "pareto",
    "roofline",
    "scaling_curve",
    "speed_curve",
    "stacked_memory",
]
