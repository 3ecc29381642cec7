"""Fits the coefficients of every operator class to its timings: robust least squares on ln(time), held-out errors, a row of CSV each.

`python -m roofline.fitting.ops [operator class ...]` writes roofline/coefficients/<class>.csv anew from the shipped measurements. The result depends
on nothing but those measurements: no random numbers, fixed starting points, fixed folds (CRC-32 of the shape).
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
    "k_step": Parameter(1e-10, 1e-12, 1e-8),
    "quant_passes": Parameter(1.0, 0.01, 10.0),
    "activation_share": Parameter(0.9, 0.05, 1.0),
}
PREFILL: Mapping[str, Parameter] = {
    "eta_compute": Parameter(0.6, 0.05, 1.0),
    "eta_memory": Parameter(0.4, 0.02, 1.0),
    "overlap": Parameter(0.5, 0.001, 1.0),
    "launch": Parameter(10 * MICRO, 1 * MICRO, 300 * MICRO),
    "softmax_dims": Parameter(10.0, 0.01, 300.0),
    "block": Parameter(1 * MICRO, 0.001 * MICRO, 30 * MICRO),
    "diagonal": Parameter(0.5, 0.01, 4.0),
}
DECODE: Mapping[str, Parameter] = {
    "eta_compute": Parameter(0.3, 0.01, 1.0),
    "eta_memory": Parameter(0.8, 0.1, 1.0),
    "overlap": Parameter(0.1, 0.001, 1.0),
    "launch": Parameter(8 * MICRO, 1 * MICRO, 300 * MICRO),
    "kv_head_block": Parameter(2 * MICRO, 0.001 * MICRO, 50 * MICRO),
    "head_block": Parameter(0.1 * MICRO, 0.0001 * MICRO, 20 * MICRO),
    "length_step": Parameter(0.5 * MICRO, 0.001 * MICRO, 10 * MICRO),
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
        Spec("custom_all_reduce", "custom_allreduce", lambda _: CUSTOM, by_kernel=True),
    )
}
MIN_ROWS = 60  # rows that a group needs for coefficients of its own
MIN_KERNEL_ROWS = 40
LONE_GPU_SPREAD = 0.35  # least spread of a family of which one GPU was measured: what leaving out a GPU costs elsewhere
POOL_ROWS = 1500  # pooled fits over GPUs look at no more rows than this, evenly taken


def fit(table: OpTable, parameters: Mapping[str, Parameter], kind: Any) -> Any:
    """The coefficients (a `kind` of numbers) that minimise a soft-L1 loss of ln(predicted / measured), found in logarithms within bounds."""
    free = [name for name, p in parameters.items() if p.low < p.high]
    values = {name: p.start for name, p in parameters.items()}
    target = np.log(table.measured)

    def residuals(x: Floats) -> Floats:
        return np.log(predicted(table, kind(**{**values, **dict(zip(free, np.exp(x), strict=True))}))) - target

    bounds = tuple(np.log([getattr(parameters[name], edge) for name in free]) for edge in ("low", "high"))
    start = np.log([values[name] for name in free])
    found = least_squares(residuals, start, bounds=bounds, loss="soft_l1", f_scale=0.1, max_nfev=80)
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
    """Coefficients over several GPUs or engines; the ratios are of GPUs (of engines where there is one GPU) left out whole: what inheriting costs."""
    by_gpu = len(set(table.slug.tolist())) > 1
    groups = table.slug if by_gpu else table.engine if len(set(table.engine.tolist())) > 1 else table.fold.astype(str)
    ratio = np.ones(len(table.measured))
    for inside, others in without(table, groups):
        ratio[inside] = predicted(table.take(inside), fit(thinned(others), parameters, kind)) / table.measured[inside]
    return Fitted(fit(thinned(table), parameters, kind), (), ratio)


def of_class(spec: Spec) -> OpTable:
    """The shipped rows of one operator class; of rows with the same inputs by the same engine and kernel the fastest, and no artefacts."""
    table = shipped(spec.kind)
    return without_artefacts(table.take(table.op == spec.op))


ARTEFACT_RATIO = 4.0
ARTEFACT_FLOOR = 40 * MICRO


def without_artefacts(table: OpTable) -> OpTable:
    """Drops floors that are compilation or autotuning and not the kernel.

    The rule: a group (GPU, engine, precision, kernel) is dropped if its fastest twentieth takes more than 40 microseconds and more than
    4 times what the fastest engine's fastest twentieth takes on the same GPU and precision.
    """
    place = np.char.add(np.char.add(table.slug, "|"), table.precision)
    group = np.char.add(np.char.add(place, "|"), np.char.add(np.char.add(table.engine, "|"), table.kernel))
    floors = {name: float(np.percentile(table.measured[group == name], 5)) for name in set(group.tolist())}
    places = dict(zip(group.tolist(), place.tolist(), strict=True))
    best: dict[str, float] = {}
    for name, floor in floors.items():
        best[places[name]] = min(floor, best.get(places[name], np.inf))
    bad = [
        name for name, floor in floors.items() if floor > ARTEFACT_FLOOR and floor > ARTEFACT_RATIO * best[places[name]]
    ]
    return table.take(~np.isin(group, bad))


def records(spec: Spec) -> list[dict[str, Any]]:
    """All rows of the class's CSV, most specific first."""
    table = of_class(spec)
    kind = coefficients.KINDS[spec.op]
    rows: list[dict[str, Any]] = []
    for precision in sorted(set(table.precision.tolist())):
        rows += _precision_records(spec, kind, precision, table.take(table.precision == precision))
    return rows


def _precision_records(spec: Spec, kind: Any, precision: str, table: OpTable) -> Iterator[dict[str, Any]]:
    parameters = spec.parameters(precision)
    row = partial(_record, precision=precision)
    for slug in sorted(set(table.slug.tolist())):
        of_gpu = table.take(table.slug == slug)
        for engine in sorted(set(of_gpu.engine.tolist())):
            of_engine = of_gpu.take(of_gpu.engine == engine)
            yield from _group_records(
                row, of_engine, parameters, kind, level="gpu", where=slug, engine=engine, kernel=ANY
            )
            kernels = sorted(set(of_engine.kernel.tolist()))
            for kernel in kernels if spec.by_kernel and len(kernels) > 1 else ():
                of_kernel = of_engine.take(of_engine.kernel == kernel)
                if len(of_kernel.measured) >= MIN_KERNEL_ROWS:
                    yield from _group_records(
                        row, of_kernel, parameters, kind, level="gpu", where=slug, engine=engine, kernel=kernel
                    )
        if ANY not in of_gpu.engine:
            yield from _pooled_record(row, of_gpu, parameters, kind, level="gpu", where=slug, engine=ANY)
    for level, place in (
        ("family", coefficients.family),
        ("generation", coefficients.generation),
        ("global", lambda _: ""),
    ):
        places = np.array([place(presets()[slug]) for slug in table.slug.tolist()])
        for where in sorted(set(places.tolist())):
            inside = table.take(places == where)
            for engine in sorted({*inside.engine.tolist(), ANY}):
                chosen = inside if engine == ANY else inside.take(inside.engine == engine)
                yield from _pooled_record(row, chosen, parameters, kind, level=level, where=where, engine=engine)


def _group_records(
    row: Callable[..., dict[str, Any]], table: OpTable, parameters: Mapping[str, Parameter], kind: Any, **key: str
) -> Iterator[dict[str, Any]]:
    if len(table.measured) < MIN_KERNEL_ROWS:
        return
    fitted = cross_validated(table, parameters, kind)
    yield row(coef=fitted.whole, ratio=fitted.ratio, fold="all", **key)
    for fold, coef in enumerate(fitted.folds):
        yield row(coef=coef, ratio=fitted.ratio, fold=str(fold), **key)


def _pooled_record(
    row: Callable[..., dict[str, Any]], table: OpTable, parameters: Mapping[str, Parameter], kind: Any, **key: str
) -> Iterator[dict[str, Any]]:
    if len(table.measured) >= MIN_ROWS:
        fitted = pooled(table, parameters, kind)
        floor = 0.0 if key["level"] == "gpu" or len(set(table.slug.tolist())) > 1 else LONE_GPU_SPREAD
        yield row(coef=fitted.whole, ratio=fitted.ratio, fold="all", kernel=ANY, floor=floor, **key)


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
    for name, count in fit_all(sys.argv[1:] or tuple(SPECS)).items():
        print(f"{name}: {count} rows")
