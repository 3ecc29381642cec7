"""Scenarios side by side: what differs, what comes of it, and what is better beyond the ranges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planner import charts
from planner.present import COST, MEMORY, SERVING, TRAINING, Metric, figure, said, value_at
from planner.queries import flat_values
from roofline.fields import BY_PATH

Result = Mapping[str, Any]
# Figures that follow from sizes and prices alone: no range is needed to tell them apart.
EXACT = frozenset({metric.path for metric in MEMORY} | {"cost.usd_per_hour"})
CHARTS = (
    ("memory.per_gpu.total_bytes", ""),
    ("inference.output_tokens_per_s", "output tokens/s"),
    ("training.tokens_per_s", "tokens/s"),
    ("inference.tpot_s", "s per token"),
    ("inference.ttft_s", "s to the first token"),
    ("training.time_to_train_s", "s to train"),
    ("cost.usd_per_million_output_tokens", "$ per million output tokens"),
    ("cost.usd_per_run", "$ per run"),
    ("cost.usd_per_hour", "$ per hour"),
)


def input_rows(results: Sequence[Result | None], baseline: int) -> list[dict[str, Any]]:
    """All inputs, those that differ first; a cell that is not the baseline's says so."""
    flats = [dict(flat_values(result["scenario"])) if result else {} for result in results]
    paths = list(dict.fromkeys(path for flat in flats for path in flat if path != "name"))
    rows = [_input_row(path, flats, baseline) for path in paths]
    return sorted(rows, key=lambda row: not row["differs"])


def _input_row(path: str, flats: Sequence[Mapping[str, Any]], baseline: int) -> dict[str, Any]:
    values = [flat.get(path) for flat in flats]
    cells = [
        {"text": "–" if value is None else said(path, value), "differs": value != values[baseline]} for value in values
    ]
    differs = any(cell["differs"] for cell in cells)
    return {"label": BY_PATH[path].label if path in BY_PATH else path, "path": path, "cells": cells, "differs": differs}


def result_rows(results: Sequence[Result | None], baseline: int) -> list[dict[str, Any]]:
    """All figures with their ranges and their ratio to the baseline."""
    rows = []
    for metric in (*SERVING, *TRAINING, *COST, *MEMORY):
        values = [value_at(result, metric.path) if result else None for result in results]
        if any(value is not None for value in values):
            rows.append(_result_row(metric, values, results, baseline))
    return rows


def _result_row(
    metric: Metric, values: Sequence[Any], results: Sequence[Result | None], baseline: int
) -> dict[str, Any]:
    base, best = values[baseline], best_index(metric, values, results)
    cells = [
        {
            "text": figure(result, metric) if result else "–",
            "ratio": value / base if index != baseline and value is not None and base else None,
            "best": index == best,
            "value": value,
        }
        for index, (value, result) in enumerate(zip(values, results, strict=True))
    ]
    return {"label": metric.label, "path": metric.path, "cells": cells}


def best_index(metric: Metric, values: Sequence[Any], results: Sequence[Result | None]) -> int | None:
    """The column that is better than every other even at the near ends of their ranges; None where ranges meet."""
    spans = {
        index: span
        for index, (value, result) in enumerate(zip(values, results, strict=True))
        if result and value is not None and (span := _span(metric, value, result))
    }
    if not metric.better or len(spans) < 2 or len(spans) < sum(value is not None for value in values):
        return None
    sign = metric.better
    best = max(spans, key=lambda index: min(sign * end for end in spans[index]))
    worst_of_best = min(sign * end for end in spans[best])
    return (
        best
        if all(max(sign * end for end in span) < worst_of_best for index, span in spans.items() if index != best)
        else None
    )


def _span(metric: Metric, value: float, result: Result) -> tuple[float, float] | None:
    return (value, value) if metric.path in EXACT else charts.interval_of(result, metric.key)


def chart_figures(names: Sequence[str], results: Sequence[Result], baseline: int) -> list[tuple[str, charts.Figure]]:
    """(title, figure): memory by part, then a bar chart for each figure that two scenarios have."""
    figures = [("Memory per GPU", charts.stacked_memory(names, results))]
    metrics = {metric.path: metric for metric in (*SERVING, *TRAINING, *COST)}
    for path, unit in CHARTS[1:]:
        values = [value_at(result, path) for result in results]
        if sum(value is not None for value in values) >= 2:
            pairs = [charts.interval_of(result, metrics[path].key) for result in results]
            figures.append((str(metrics[path].label), charts.compare_bars(names, values, pairs, unit, baseline)))
    return figures
