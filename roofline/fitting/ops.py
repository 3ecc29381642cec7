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
from scipy.optimize import least_squares

from roofline import coefficients
from roofline.coefficients import ANY
from roofline.fitting.operator_tables import FOLDS, Floats, OpTable, predicted, shipped
from roofline.hardware import presets
from roofline.units import MEGA

SOURCE = "operator timings of aiconfigurator-core (Apache-2.0), data/measurements/ops"
MICRO = 1e-6


@dataclass(frozen=True)
class Parameter:
    """One coefficient: where the fit starts and the bounds it keeps. A parameter with low = high is fixed."""

    start: float
    low: float
    high: float


def fixed(value: float) -> Parameter:
    """A coefficient that is not fitted."""
    return Parameter(value, value, value)


GEMM: Mapping[str, Parameter] = {
    "eta_compute": Parameter(0.7, 0.1, 1.0),
    "eta_memory": Parameter(0.8, 0.1, 1.0),
    "overlap": Parameter(0.1, 0.001, 1.0),
    "wave": Parameter(0.1, 0.001, 1.0),
    "launch": Parameter(4 * MICRO, 0.3 * MICRO, 400 * MICRO),
    "k_step": Parameter(1e-8, 1e-11, 1e-6),
    "quant_passes": Parameter(1.0, 0.01, 10.0),
    "output_share": Parameter(0.9, 0.05, 3.0),
    "warm_bytes": Parameter(20 * MEGA, 2 * MEGA, 200 * MEGA),
    "warm_speed": Parameter(1.3, 1.0001, 6.0),
}
PREFILL: Mapping[str, Parameter] = {
    "eta_compute": Parameter(0.6, 0.05, 1.0),
    "eta_memory": Parameter(0.4, 0.02, 1.0),
    "overlap": Parameter(0.5, 0.001, 1.0),
    "launch": Parameter(10 * MICRO, 1 * MICRO, 300 * MICRO),
    "softmax_dims": Parameter(10.0, 0.01, 300.0),
    "block": Parameter(1 * MICRO, 0.001 * MICRO, 30 * MICRO),
    "diagonal": Parameter(0.3, 0.01, 1.0),
    "tail": Parameter(0.5, 0.01, 2.0),
    "packed": Parameter(0.3, 0.01, 1.0),
    "unskipped": Parameter(0.03, 0.001, 1.0),
}
DECODE: Mapping[str, Parameter] = {
    "eta_compute": Parameter(0.3, 0.001, 1.0),
    "eta_memory": Parameter(0.8, 0.1, 1.0),
    "overlap": Parameter(0.1, 0.001, 1.0),
    "launch": Parameter(8 * MICRO, 1 * MICRO, 300 * MICRO),
    "kv_head_block": Parameter(1 * MICRO, 0.001 * MICRO, 50 * MICRO),
    "head_block": Parameter(0.1 * MICRO, 0.0001 * MICRO, 20 * MICRO),
    "length_step": Parameter(0.5 * MICRO, 0.001 * MICRO, 10 * MICRO),
    "key_step": Parameter(1e-10, 1e-12, 1e-8),
    "dim_step": Parameter(0.5 * MICRO, 0.0001 * MICRO, 20 * MICRO),
    "query_padding": Parameter(16.0, 0.1, 128.0),
    "key_padding": Parameter(32.0, 1.0, 256.0),
    "warm_bytes": Parameter(40 * MEGA, 2 * MEGA, 400 * MEGA),
    "warm_speed": Parameter(1.3, 1.0001, 6.0),
}
MOE: Mapping[str, Parameter] = {
    "eta_compute": Parameter(0.4, 0.02, 1.0),
    "eta_memory": Parameter(0.7, 0.05, 1.0),
    "overlap": Parameter(0.3, 0.001, 1.0),
    "launch": Parameter(30 * MICRO, 1 * MICRO, 600 * MICRO),
    "permute_passes": Parameter(3.0, 0.01, 40.0),
    "tile_rows": Parameter(32.0, 1.0, 400.0),
    "skew": Parameter(1.0, 0.01, 6.0),
    "expert": Parameter(0.05 * MICRO, 0.0001 * MICRO, 5 * MICRO),
    "all_rows_passes": Parameter(0.5, 0.001, 20.0),
    "warm_bytes": Parameter(30 * MEGA, 2 * MEGA, 400 * MEGA),
    "warm_speed": Parameter(1.3, 1.0001, 6.0),
}
RING: Mapping[str, Parameter] = {
    "eta": Parameter(0.7, 0.05, 1.0),
    "launch": Parameter(4 * MICRO, 0.5 * MICRO, 60 * MICRO),
    "rank_step": Parameter(1 * MICRO, 0.001 * MICRO, 40 * MICRO),
    "ramp": Parameter(5 * MICRO, 0.001 * MICRO, 1000 * MICRO),
    "pair": Parameter(0.1, 0.001, 3.0),
    "contention": Parameter(0.01, 0.0001, 4.0),
    "direct_eta": fixed(0.0),
    "direct_launch": fixed(0.0),
    "switch_eta": fixed(0.0),
    "switch_launch": fixed(0.0),
}
ALL_REDUCE = {
    **RING,
    "switch_eta": Parameter(0.5, 0.02, 1.0),
    "switch_launch": Parameter(30 * MICRO, 1 * MICRO, 500 * MICRO),
}
CUSTOM = {
    **RING,
    "direct_eta": Parameter(0.5, 0.02, 1.0),
    "direct_launch": Parameter(4 * MICRO, 1 * MICRO, 100 * MICRO),
}

# 16-bit weights and weight-only quantisation leave the activations as they are.
UNQUANTISED = ("bf16", "fp16", "int4_wo", "int8_wo", "mxfp4")


@dataclass(frozen=True)
class Spec:
    """How one operator class is fitted."""

    op: str
    kind: str  # table
    parameters: Callable[[str], Mapping[str, Parameter]]  # by precision
    by_kernel: bool = False  # whether kernels of one table get rows of their own
    least: int = 40  # rows that a group needs for coefficients of its own


def _gemm_parameters(precision: str) -> Mapping[str, Parameter]:
    return {**GEMM, "quant_passes": fixed(0.0)} if precision in UNQUANTISED else GEMM


SPECS = {
    spec.op: spec
    for spec in (
        Spec("gemm", "gemm", _gemm_parameters, by_kernel=True),
        Spec("attention_prefill", "attention_prefill", lambda _: PREFILL, by_kernel=True),
        Spec("attention_decode", "attention_decode", lambda _: DECODE, by_kernel=True),
        Spec("moe", "moe", lambda _: MOE, by_kernel=True),
        Spec("all_reduce", "collective", lambda _: ALL_REDUCE),
        Spec("all_gather", "collective", lambda _: RING),
        Spec("reduce_scatter", "collective", lambda _: RING),
        Spec("all_to_all", "collective", lambda _: RING),
        Spec("custom_all_reduce", "custom_allreduce", lambda _: CUSTOM, by_kernel=True, least=15),
    )
}
FLAT = 1e-4  # relative gain of the loss below which a fit is done
STEP = 1e-6  # of a logarithm, in the differences that make the Jacobian
PRIOR = 0.03  # pull of a coefficient's starting value: a factor of e away weighs like one row that is 3 % off
MIN_ROWS = 60  # rows that a group of several GPUs or engines needs
LONE_GPU_SPREAD = 0.35  # least spread of a family of which one GPU was measured: what leaving out a GPU costs elsewhere
POOL_ROWS = 600  # pooled fits over GPUs look at no more rows than this, evenly taken


def fit(table: OpTable, parameters: Mapping[str, Parameter], kind: Any) -> Any:
    """The coefficients (a `kind` of numbers) with the least soft-L1 loss of ln(predicted / measured), in logarithms, within bounds."""
    free = [name for name, p in parameters.items() if p.low < p.high]
    values = {name: p.start for name, p in parameters.items()}
    target = np.log(table.measured)

    low, high = (np.log([getattr(parameters[name], edge) for name in free]) for edge in ("low", "high"))
    start = np.log([values[name] for name in free])

    def logs(x: Floats) -> Floats:
        coef = kind(**{**values, **dict(zip(free, np.exp(x), strict=True))})
        return np.log(predicted(table, coef)) - target

    def residuals(x: Floats) -> Floats:
        return np.concatenate([logs(x), PRIOR * (x - start)])

    def jacobian(x: Floats) -> Floats:
        # All forward differences in one call: coefficients of shape (parameters, 1) against rows.
        shifted = logs((x + STEP * np.eye(len(x))).T[:, :, np.newaxis])
        return np.concatenate([(shifted - logs(x)).T / STEP, PRIOR * np.eye(len(x))])

    found = least_squares(
        residuals, start, jac=jacobian, bounds=(low, high), loss="soft_l1", f_scale=0.1, ftol=FLAT, max_nfev=80
    )
    return kind(**{**values, **{name: rounded(v) for name, v in zip(free, np.exp(found.x), strict=True)}})


def rounded(value: float) -> float:
    """Five significant digits: what the CSV holds, so that a fit and its file predict the same."""
    return float(f"{value:.4e}")


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


def thinned(table: OpTable) -> OpTable:
    """At most about POOL_ROWS rows, evenly taken."""
    step = max(len(table.measured) // POOL_ROWS, 1)
    return table.take(np.arange(0, len(table.measured), step))


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
    place = _joined(table.slug, table.precision)
    group = _joined(place, table.engine, table.kernel)
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


def _joined(*columns: NDArray[np.str_]) -> NDArray[np.str_]:
    joined = columns[0]
    for column in columns[1:]:
        joined = np.char.add(np.char.add(joined, "|"), column)
    return joined


Row = Callable[..., dict[str, Any]]


def records(spec: Spec) -> list[dict[str, Any]]:
    """All rows of the class's CSV, most specific first. Artefacts count only for the kernel that has them."""
    table = of_class(spec)
    clean = ~artefacts(table)
    rows: list[dict[str, Any]] = []
    for precision in sorted(set(table.precision.tolist())):
        chosen = table.precision == precision
        row = partial(_record, precision=precision)
        fitter = Fitter(row, spec.parameters(precision), coefficients.KINDS[spec.op], spec.least)
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
    odd = artefacts(table)
    for engine, of_engine in _split(table, table.engine):
        for kernel, of_kernel in _split(of_engine, of_engine.kernel):
            small = []
            for slug, rows in _split(of_kernel, of_kernel.slug):
                of_gpu = (table.slug == slug) & (table.engine == engine)
                alone = len(set(table.kernel[of_gpu].tolist())) == 1 and not odd[of_gpu].any()
                if len(rows.measured) >= fitter.least and not alone:
                    yield from fitter.by_fold(rows, level="gpu", where=slug, engine=engine, kernel=kernel)
                elif not alone:
                    small.append(slug)
            if small:
                few = of_kernel.take(np.isin(of_kernel.slug, small))
                yield from _small(fitter, few, engine, kernel)


def _small(fitter: Fitter, table: OpTable, engine: str, kernel: str) -> Iterator[dict[str, Any]]:
    """Rows of a kernel of which no GPU has many: together by family, else by generation, else all."""
    for level, place in PLACES:
        places = np.array([place(presets()[slug]) for slug in table.slug.tolist()])
        left = np.zeros(len(places), dtype=bool)
        for where, rows in _split(table, places):
            if len(rows.measured) >= fitter.least:
                yield from fitter.by_fold(rows, level=level, where=where, engine=engine, kernel=kernel)
            else:
                left |= places == where
        table = table.take(left)
        if not left.any():
            return


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
