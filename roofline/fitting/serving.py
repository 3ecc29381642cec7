"""Fit of everything measured about serving: `python -m roofline.fitting.serving` writes coefficients/serving*.csv.

For each fold of cross-validation and for all points together: the coefficients of the physics, then the corrections on top of it.
Intervals are the quantiles of errors of points that were predicted without their fold, by how near the nearest measurement was; for
what is far, of points predicted without their GPU or their model.
"""

import csv
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import roofline
from roofline.fitting.folds import FOLDS, fold_of, fold_of_text
from roofline.fitting.serving_corrections import INFORMS, fit_effects, run_features
from roofline.fitting.serving_fit import Problem, Values, fit, problem
from roofline.fitting.serving_priors import PRIORS
from roofline.serving import corrections, predict
from roofline.serving.coefficients import build
from roofline.serving.corrections import FEATURES, Effects
from roofline.serving.intervals import nearness
from roofline.validation.inference import variant_codes
from roofline.validation.serving_table import Run, runs, shipped_rows

Array = NDArray[np.float64]
DIRECTORY = Path(roofline.__file__).parent / "coefficients"
SOURCE = "fit on data/measurements/inference.csv"
LOW, HIGH = 0.10, 0.90
REFIT_ROUNDS = 7  # steps of a fit that leaves a group out
FEWEST = 40  # points from which an engine has quantiles of its own


def kinds(measured: Sequence[Run]) -> dict[str, str]:
    """Kind of each measured model by its number of parameters, as text."""
    return {str(run.architecture.total_params): run.kind for run in measured}


def corrected(p: Problem, values: Values, effects: Effects, known: dict[str, str]) -> tuple[Array, Array]:
    """Predictions of every comparison with coefficients and effects, and how near each was measured."""
    table = corrections.build(effects, p.gpus, known)
    c = replace(build(values, p.gpus), corrections=table)
    near = np.broadcast_to(nearness(p.batch, c), len(p.runs))[p.rows]
    return p.predicted(predict(p.batch, p.room, c, variant_codes(p.runs))), near


def effects_of(p: Problem, values: Values, used: NDArray[np.bool_]) -> Effects:
    """Corrections on top of `values`, of the comparisons `used`."""
    c = build(values, p.gpus)
    return fit_effects(p, p.predicted(predict(p.batch, p.room, c)), run_features(p, c), used)


def left_out(p: Problem, known: dict[str, str], group: Callable[[Run], int]) -> tuple[Array, Array]:
    """Every comparison predicted with coefficients and corrections that saw nothing of its group.

    They are fitted anew from the priors: what starts from a fit of all points does not forget the group.
    """
    fold = np.array([group(run) for run in p.runs])[p.rows]
    out, near = np.empty(len(p.rows)), np.zeros(len(p.rows))
    for k in range(FOLDS):
        held = fold == k
        own = fit(p, ~held, REFIT_ROUNDS)
        found, distance = corrected(p, own, effects_of(p, own, ~held), known)
        out[held], near[held] = found[held], distance[held]
    return out, near


def interval_rows(
    p: Problem, near: Sequence[tuple[Array, Array]], far: Sequence[tuple[Array, Array]]
) -> list[dict[str, Any]]:
    """Quantiles of ln(measured / predicted) by quantity, nearness, engine and kind of model; blank: all of them."""
    places = [(p.runs[i].engine, p.runs[i].kind) for i in p.rows]
    cells: dict[tuple[str, int, str, str], list[float]] = {}
    for wanted, sets in (((1, 2), near), ((0, 1), far)):
        for predicted, distance in sets:
            residual = np.log(p.measured / predicted)
            for i in range(len(residual)):
                rank = int(distance[i])
                if rank in wanted and (rank != 1 or sets is far):
                    engine, kind = places[i]
                    for name, own in (("", ""), (engine, ""), ("", kind), (engine, kind)):
                        cells.setdefault((str(p.quantity[i]), rank, name, own), []).append(float(residual[i]))
    rows = []
    for (quantity, rank, name, own), values in sorted(cells.items()):
        if len(values) >= FEWEST or (not name and not own and len(values) >= 8):
            low, high = np.quantile(values, [LOW, HIGH])
            bounds = {"low": round(float(low), 4), "high": round(float(high), 4)}
            place = {"quantity": quantity, "nearness": rank, "engine": name, "kind": own}
            rows.append({**place, **bounds, "n": len(values)})
    return rows


def write(name: str, columns: Sequence[str], rows: Iterable[dict[str, Any]]) -> None:
    """A file of coefficients."""
    with (DIRECTORY / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def value_rows(fold: str, values: Values, count: int) -> list[dict[str, Any]]:
    """Rows of serving.csv."""
    sources = {(prior.name, prior.level): prior for prior in PRIORS}
    return [
        {
            "fold": fold,
            "name": name,
            "level": level,
            "value": f"{value:.6g}",
            "n": count if sources[name, level].spread else "",
            "source": f"{SOURCE}; prior {sources[name, level].source}"
            if sources[name, level].spread
            else sources[name, level].source,
        }
        for (name, level), value in values.items()
    ]


def effect_rows(fold: str, effects: Effects) -> list[dict[str, Any]]:
    """Rows of serving_corrections.csv."""
    rows = []
    for (quantity, group, level), values in effects.items():
        short = {name: f"{value:.4f}".rstrip("0").rstrip(".") for name, value in zip(FEATURES, values, strict=True)}
        rows.append({"fold": fold, "quantity": quantity, "group": group, "level": level, **short})
    return rows


def main(log: Callable[[str], Any] = lambda text: sys.stderr.write(text + "\n")) -> None:
    """Fit, cross-validate, write."""
    measured, _ = runs(shipped_rows())
    p = problem(measured)
    fold = folds_of(p)
    values = []
    for k in (*range(FOLDS), -1):
        values.append({name: float(f"{value:.6g}") for name, value in fit(p, fold != k).items()})
        log(f"fold {k}: {int((fold != k).sum())} comparisons")
    finish(p, values, log)


def folds_of(p: Problem) -> NDArray[np.intp]:
    """Fold of every comparison."""
    return np.array([fold_of(run) for run in p.runs])[p.rows]


def finish(p: Problem, values: Sequence[Values], log: Callable[[str], Any]) -> None:
    """Corrections on top of the physics `values` of each fold and of all points (last), intervals, files and a summary."""
    known, fold = kinds(p.runs), folds_of(p)
    effects = [effects_of(p, values[k], fold != k) for k in (*range(FOLDS), -1)]
    predicted, near = np.empty(len(p.rows)), np.zeros(len(p.rows))
    for k in range(FOLDS):
        held = fold == k
        found, distance = corrected(p, values[k], effects[k], known)
        predicted[held], near[held] = found[held], distance[held]
    far = [
        left_out(p, known, group)
        for group in (lambda run: fold_of_text(run.gpu.slug), lambda run: fold_of_text(run.model))
    ]
    names = [*(str(k) for k in range(FOLDS)), ""]
    counted = [row for name, found in zip(names, values, strict=True) for row in value_rows(name, found, len(p.rows))]
    write("serving.csv", ("fold", "name", "level", "value", "n", "source"), counted)
    shrunk = [row for name, found in zip(names, effects, strict=True) for row in effect_rows(name, found)]
    write("serving_corrections.csv", ("fold", "quantity", "group", "level", *FEATURES), shrunk)
    models = [{"total_params": size, "kind": known[size]} for size in sorted(known, key=int)]
    write("serving_models.csv", ("total_params", "kind"), models)
    bounds = interval_rows(p, [(predicted, near)], [(predicted, near), *far])
    write("serving_intervals.csv", ("quantity", "nearness", "engine", "kind", "low", "high", "n"), bounds)
    for name, found in (("configuration", predicted), ("GPU", far[0][0]), ("model", far[1][0])):
        for quantity in INFORMS:
            error = 100.0 * np.abs(found / p.measured - 1.0)[p.quantity == quantity]
            log(
                f"left out: {name:14s} {quantity:22s} n {len(error):5d} {np.median(error):6.1f} / {np.quantile(error, 0.9):6.1f} %"
            )


if __name__ == "__main__":
    main()
