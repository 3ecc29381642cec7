"""Fits the coefficients of every operator class to its timings: robust least squares on ln(time), held-out errors, a row of CSV each.

`python -m roofline.fitting.ops [operator class ...]` writes roofline/coefficients/<class>.csv anew from the shipped measurements.
The result depends on nothing but those measurements: no random numbers, fixed starting points, fixed folds (CRC-32 of the shape).
"""

import csv
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roofline import coefficients
from roofline.coefficients import ANY
from roofline.fitting import operator_chain
from roofline.fitting.operator_fit import fit, joined, thinned
from roofline.fitting.operator_parameters import MICRO, SPECS, Parameter, Spec
from roofline.fitting.operator_tables import FOLDS, Floats, OpTable, predicted, shipped
from roofline.hardware import presets

SOURCE = "operator timings of aiconfigurator-core (Apache-2.0), data/measurements/ops"
MIN_ROWS = 60  # rows that a group of several GPUs or engines needs
LONE_GPU_SPREAD = 0.35  # least spread of a family of which one GPU was measured: what leaving out a GPU costs elsewhere


@dataclass(frozen=True)
class Fitted:
    """One group's coefficients: over all its rows, by fold, and the ratios predicted / measured of held-out rows."""

    whole: Any
    folds: tuple[Any, ...]
    ratio: Floats


def cross_validated(table: OpTable, parameters: Mapping[str, Parameter], kind: Any) -> Fitted:
    """Fits once on all rows and once without each fold."""
    ratio = np.zeros(len(table.measured))
    folds = []
    for fold in range(FOLDS):
        held = table.fold == fold
        coef = fit(table.take(~held), parameters, kind)
        folds.append(coef)
        if held.any():
            ratio[held] = predicted(table.take(held), coef) / table.measured[held]
    return Fitted(fit(table, parameters, kind), tuple(folds), ratio)


def without(table: OpTable, groups: NDArray[np.str_]) -> Iterator[tuple[NDArray[np.bool_], OpTable]]:
    """Every group of rows with the table of all other rows."""
    for group in sorted(set(groups.tolist())):
        inside = groups == group
        yield inside, table.take(~inside)


def pooled(table: OpTable, parameters: Mapping[str, Parameter], kind: Any) -> Fitted:
    """Coefficients over several GPUs or engines; the ratios are of GPUs (engines where there is one) left out: the cost of inheriting."""
    by_gpu = len(set(table.slug.tolist())) > 1
    groups = table.slug if by_gpu else table.engine if len(set(table.engine.tolist())) > 1 else table.fold.astype(str)
    ratio = np.ones(len(table.measured))
    for inside, others in without(table, groups):
        ratio[inside] = predicted(table.take(inside), fit(thinned(others), parameters, kind)) / table.measured[inside]
    return Fitted(fit(thinned(table), parameters, kind), (), ratio)


def of_class(spec: Spec) -> OpTable:
    """The shipped rows of one operator class."""
    table = shipped(spec.kind)
    return table.take(table.op == spec.op)


ARTEFACT_RATIO = 4.0
ARTEFACT_FLOOR = 40 * MICRO


def artefacts(table: OpTable) -> NDArray[np.bool_]:
    """Rows whose floor is compilation or autotuning and not the kernel: a mask.

    The rule: a group (GPU, engine, precision, kernel) is one if its fastest twentieth takes more than 40 microseconds and more
    than 4 times
    what the fastest group's fastest twentieth takes on the same GPU and precision.
    """
    place = joined(table.slug, table.precision)
    group = joined(place, table.engine, operator_chain.programs(table))
    floors = {name: float(np.percentile(table.measured[group == name], 5)) for name in set(group.tolist())}
    best: dict[str, float] = {}
    for name, where in set(zip(group.tolist(), place.tolist(), strict=True)):
        best[where] = min(floors[name], best.get(where, np.inf))
    slow = [
        n
        for n, w in set(zip(group.tolist(), place.tolist(), strict=True))
        if floors[n] > max(ARTEFACT_FLOOR, ARTEFACT_RATIO * best[w])
    ]
    return np.isin(group, slow)


Row = Callable[..., dict[str, Any]]


def records(spec: Spec) -> list[dict[str, Any]]:
    """All rows of the class's CSV, most specific first. Artefacts count only for the kernel that has them."""
    table = of_class(spec)
    clean = ~artefacts(table)
    rows: list[dict[str, Any]] = []
    for precision in sorted(set(table.precision.tolist())):
        chosen = table.precision == precision
        row = partial(_record, precision=precision)
        fitter = Fitter(row, spec.parameters(precision), coefficients.KINDS[spec.op], spec.least, spec.pull)
        rows += _measured(fitter, table.take(chosen & clean))
        rows += _kernels(fitter, table.take(chosen)) if spec.by_kernel else ()
        rows += _inherited(fitter, table.take(chosen & clean))
    return rows


@dataclass(frozen=True)
class Fitter:
    """Turns groups of rows of one precision into records."""

    row: Row
    parameters: Mapping[str, Parameter]
    kind: Any
    least: int
    pull: float

    def by_fold(self, table: OpTable, **key: str) -> Iterator[dict[str, Any]]:
        """One record over all rows and one without each fold; nothing of too few rows."""
        if len(table.measured) >= self.least:
            fitted = cross_validated(table, self.parameters, self.kind)
            yield self.row(coef=fitted.whole, ratio=fitted.ratio, fold="all", **key)
            for fold, coef in enumerate(fitted.folds):
                yield self.row(coef=coef, ratio=fitted.ratio, fold=str(fold), **key)

    def pooled(self, table: OpTable, **key: str) -> Iterator[dict[str, Any]]:
        """One record over GPUs or engines; nothing of too few rows."""
        if len(table.measured) >= MIN_ROWS:
            fitted = pooled(table, self.parameters, self.kind)
            lone = key["level"] != "gpu" and len(set(table.slug.tolist())) == 1
            yield self.row(
                coef=fitted.whole,
                ratio=fitted.ratio,
                fold="all",
                kernel=ANY,
                floor=LONE_GPU_SPREAD if lone else 0.0,
                **key,
            )


def _split(table: OpTable, by: NDArray[np.str_]) -> Iterator[tuple[str, OpTable]]:
    for value in sorted(set(by.tolist())):
        yield value, table.take(by == value)


def _measured(fitter: Fitter, table: OpTable) -> Iterator[dict[str, Any]]:
    for slug, of_gpu in _split(table, table.slug):
        for engine, of_engine in _split(of_gpu, of_gpu.engine):
            yield from fitter.by_fold(_usual(of_engine), level="gpu", where=slug, engine=engine, kernel=ANY)
        if ANY not in of_gpu.engine:
            yield from fitter.pooled(_usual(of_gpu), level="gpu", where=slug, engine=ANY)


def _usual(table: OpTable) -> OpTable:
    """Rows that the engine's own choice of kernels would give: none started eagerly where there are rows of captured graphs."""
    graphs = table.kernel != "eager"
    return table.take(graphs) if graphs.any() else table


def _kernels(fitter: Fitter, table: OpTable) -> Iterator[dict[str, Any]]:
    """Rows of every kernel, each shrunk towards what is less specific: its program, family, generation, engine."""
    for engine, of_engine in _split(table, table.engine):
        for node in operator_chain.nodes(of_engine, fitter.parameters, fitter.kind, fitter.pull):
            key = {"level": node.level, "where": node.where, "engine": engine, "kernel": node.kernel}
            floor = LONE_GPU_SPREAD if node.gpus == 1 and node.level != "gpu" else 0.0
            for fold, coef in node.coefficients.items():
                yield fitter.row(coef=coef, ratio=node.ratio, fold=fold, floor=floor, **key)


PLACES: tuple[tuple[str, Callable[[Any], str]], ...] = (
    ("family", coefficients.family),
    ("generation", coefficients.generation),
    ("global", lambda _: ""),
)


def _inherited(fitter: Fitter, table: OpTable) -> Iterator[dict[str, Any]]:
    table = _usual(table)
    for level, place in PLACES:
        places = np.array([place(presets()[slug]) for slug in table.slug.tolist()])
        for where, inside in _split(table, places):
            for engine in sorted({*inside.engine.tolist(), ANY}):
                chosen = inside if engine == ANY else inside.take(inside.engine == engine)
                yield from fitter.pooled(chosen, level=level, where=where, engine=engine)


def _record(*, coef: Any, ratio: Floats, precision: str, floor: float = 0.0, **key: str) -> dict[str, Any]:
    error = np.abs(ratio - 1.0)
    return {
        **{name: {**key, "precision": precision}[name] for name in coefficients.Key._fields},
        **coef._asdict(),
        "n": len(ratio),
        "median_ape_pct": f"{100 * np.median(error):.2f}",
        "p90_ape_pct": f"{100 * np.percentile(error, 90):.2f}",
        "spread": f"{max(float(np.percentile(np.abs(np.log(ratio)), 80)), floor):.4f}",
        "source": SOURCE,
    }


def write(op: str, rows: Sequence[Mapping[str, Any]], folder: Path) -> None:
    """Writes <op>.csv into `folder`."""
    with (folder / f"{op}.csv").open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def fit_all(ops: Sequence[str] = tuple(SPECS), folder: Path | None = None) -> dict[str, int]:
    """Fits the operator classes named and writes their files; returns rows written per class. Without `folder`: into the package."""
    counts = {}
    for op in ops:
        rows = list(records(SPECS[op]))
        if folder is not None:
            write(op, rows, folder)
        else:
            with resources.as_file(resources.files("roofline").joinpath("coefficients")) as shipped_folder:
                write(op, rows, shipped_folder)
        counts[op] = len(rows)
    return counts


if __name__ == "__main__":
    fit_all(sys.argv[1:] or tuple(SPECS))
