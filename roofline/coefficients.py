"""Measured coefficients: loaded from coefficients/*.csv, looked up by (GPU, engine, precision) with stated inheritance.

One file for each operator class, one row for each (level, GPU or family, engine, precision, kernel, fold). A lookup walks from the
most to
the least specific row and says how it ended (`basis`) and how far off predictions with it were on measurements that the fit had not seen
(`spread`: the 80th percentile of |ln(predicted / measured)|, so that prediction x exp(+-spread) is an 80 % interval).

    rows = grid("gemm", gpus, engines, precisions)       # integers of shape (G, E, P), cached; once for a catalogue
    coef = take("gemm", rows[gpu.code, engine, precision])  # a NamedTuple of columns, ready for roofline.operators.gemm
    spread("gemm", rows[...]), basis("gemm", rows[...])
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from roofline.attention import DecodeCoefficients, PrefillCoefficients
from roofline.collectives import CollectiveCoefficients
from roofline.elementwise import ElementwiseCoefficients
from roofline.gemm import GemmCoefficients
from roofline.grouped_gemm import MoeCoefficients
from roofline.hardware import Gpu

KINDS: Mapping[str, Any] = {
    "gemm": GemmCoefficients,
    "attention_prefill": PrefillCoefficients,
    "attention_decode": DecodeCoefficients,
    "moe": MoeCoefficients,
    "elementwise": ElementwiseCoefficients,
    "all_reduce": CollectiveCoefficients,
    "custom_all_reduce": CollectiveCoefficients,
    "all_gather": CollectiveCoefficients,
    "reduce_scatter": CollectiveCoefficients,
    "all_to_all": CollectiveCoefficients,
    "network": CollectiveCoefficients,
}
ANY = ""  # an empty cell: any engine, any kernel
VARIANT = "::"  # between a kernel's program and its variant (head size, mask, layout)
BASES = ("measured", "inherited-engine", "inherited-family", "inherited-generation", "default")
MEASURED, INHERITED_ENGINE, INHERITED_FAMILY, INHERITED_GENERATION, DEFAULT = range(len(BASES))

# Where a precision was not measured. Same kernels at the same peak: as good as measured.
SAME_KERNELS: Mapping[str, tuple[str, ...]] = {
    "fp16": ("bf16",),
    "int8": ("fp8",),
    "mxfp8": ("fp8_block", "fp8"),
    "fp8_block": ("fp8",),
    "fp8": ("int8",),
    "fp8/fp8": ("bf16/fp8",),
    "bf16/fp8": ("bf16/bf16",),
}
# Kernels that work alike: only where the precision was measured nowhere.
NEAREST_PRECISION: Mapping[str, tuple[str, ...]] = {
    "fp32": ("bf16",),
    "tf32": ("bf16",),
    "fp8_block": ("fp8",),
    "fp8": ("fp8_block",),
    "int8": ("fp8",),
    "int8_wo": ("int4_wo", "bf16"),
    "int4_wo": ("bf16",),
    "mxfp4": ("int4_wo", "bf16"),
    "mxfp4_mxfp8": ("nvfp4", "fp8_block"),
    "nvfp4": ("mxfp4_mxfp8", "fp8_block", "fp8"),
}
WEIGHT_ONLY = {"mxfp4": "mxfp4", "fp8": "int8_wo", "fp8_block": "int8_wo", "int8": "int8_wo", "mxfp8": "int8_wo"}
SIXTEEN_BIT = ("bf16", "fp16", "fp32")


def gemm_precision(weights: str, activations: str) -> str:
    """The precision under which a GEMM is looked up, from the scenario's words for weights and activations.

    >>> gemm_precision("fp8_block", "fp8"), gemm_precision("q4_k_m", "bf16"), gemm_precision("mxfp4", "fp8")
    ('fp8_block', 'int4_wo', 'mxfp4_mxfp8')
    """
    if weights in SIXTEEN_BIT:
        return weights
    if activations in SIXTEEN_BIT:
        return WEIGHT_ONLY.get(weights, "int8_wo" if weights.startswith("q8") else "int4_wo")
    if weights == "mxfp4":
        return "mxfp4_mxfp8"
    return weights if weights in {*SAME_KERNELS, *NEAREST_PRECISION} else "int8"


def attention_precision(compute: str, kv_cache: str) -> str:
    """The precision under which attention is looked up: that of the arithmetic and that of the cache.

    >>> attention_precision("fp16", "fp8")
    'bf16/fp8'
    """
    eight = {"fp8": "fp8", "int8": "fp8", "nvfp4": "fp8", "mxfp8": "fp8", "q8_0": "fp8"}
    return f"{eight.get(compute, 'bf16')}/{eight.get(kv_cache, 'bf16')}"


def program(kernel: str) -> str:
    """The part of a kernel's name that its variants share.

    >>> program("flash_attention|window::grouped|d128")
    'flash_attention|window'
    """
    return kernel.partition(VARIANT)[0]


class Key(NamedTuple):
    """What a row of coefficients holds for."""

    level: str  # gpu, family, generation, global
    where: str  # GPU slug, family, generation or nothing
    engine: str
    precision: str
    kernel: str
    fold: str


@dataclass(frozen=True)
class Table:
    """The rows of one operator class: `values` of shape (parameters, rows)."""

    kind: Any
    values: NDArray[np.float64]
    spread: NDArray[np.float64]
    keys: tuple[Key, ...]
    index: Mapping[Key, int]
    records: tuple[Mapping[str, str], ...]


@cache
def table(op: str) -> Table:
    """The coefficients of one operator class as shipped. Raises KeyError for an unknown class."""
    kind = KINDS[op]
    with resources.files("roofline").joinpath(f"coefficients/{op}.csv").open(encoding="utf-8") as lines:
        records = tuple(csv.DictReader(lines))
    return build(kind, records)


def build(kind: Any, records: Sequence[Mapping[str, str]]) -> Table:
    """A table out of records with the columns of Key, of `kind` and `spread`."""
    keys = tuple(Key(*(record[name] for name in Key._fields)) for record in records)
    values = np.array([[float(record[name]) for record in records] for name in kind._fields])
    spread = np.array([float(record["spread"]) for record in records])
    return Table(kind, values, spread, keys, {key: i for i, key in enumerate(keys)}, tuple(records))


@cache
def _memory_types() -> Mapping[str, str]:
    with resources.files("roofline").joinpath("data/gpus.csv").open(encoding="utf-8") as lines:
        return {row["slug"]: row["memory_type"] for row in csv.DictReader(lines)}


STACKED_BANDWIDTH = 1.9e12  # bytes/s: below it a GPU of unknown memory type is taken to have GDDR or LPDDR


def memory_class(gpu: Gpu) -> str:
    """hbm or ddr: stacked memory comes with data-centre kernels and wide buses, the rest (GDDR, LPDDR) without."""
    known = _memory_types().get(gpu.slug)
    if known is None:
        return "hbm" if gpu.bandwidth > STACKED_BANDWIDTH else "ddr"
    return "hbm" if known.startswith("HBM") else "ddr"


def family(gpu: Gpu) -> str:
    """Architecture and memory class, for example `Hopper/hbm`; Blackwell Ultra counts as Blackwell."""
    return f"{gpu.architecture.removesuffix(' Ultra')}/{memory_class(gpu)}"


def generation(gpu: Gpu) -> str:
    """Vendor and memory class, for example `NVIDIA/ddr`."""
    return f"{gpu.vendor}/{memory_class(gpu)}"


def _places(gpu: Gpu) -> tuple[tuple[str, str, int], ...]:
    return (
        ("gpu", gpu.slug, MEASURED),
        ("family", family(gpu), INHERITED_FAMILY),
        ("generation", generation(gpu), INHERITED_GENERATION),
        ("global", "", DEFAULT),
    )


@dataclass(frozen=True)
class Match:
    """Where a lookup ended."""

    row: int
    basis: int  # code into BASES
    precision: str  # the precision whose row it is


def find(op: str, gpu: Gpu, engine: str, precision: str, *, kernel: str = ANY, fold: str = "all") -> Match:
    """The most specific row: this GPU with this engine, this GPU with any engine, its family, its generation, then the global row.

    Precisions served by the same kernels count as the one asked for; others that work alike come last. A `kernel` named comes first,
    at each place its variant before its program.
    Raises LookupError if even the global row is missing.
    """
    index = table(op).index
    same = (precision, *SAME_KERNELS.get(precision, ()))
    if kernel != ANY:
        for level, where, basis_code in _places(gpu):
            for name in dict.fromkeys((kernel, program(kernel) or kernel)):
                row = index.get(Key(level, where, engine, precision, name, fold))
                if row is not None:
                    return Match(row, basis_code, precision)
    for precisions in (same, NEAREST_PRECISION.get(precision, ()), (ANY,)):
        for level, where, basis_code in _places(gpu):
            for near in precisions:
                for with_engine in (engine, ANY):
                    row = index.get(Key(level, where, with_engine, near, ANY, fold))
                    if row is not None:
                        exact = near == ANY or (with_engine, near) == (engine, precision)
                        inherited = basis_code == MEASURED and not exact
                        return Match(row, INHERITED_ENGINE if inherited else basis_code, near)
    raise LookupError(f"no coefficients of {op} for {gpu.slug or gpu.name}, {engine}, {precision}")


@cache
def _grid(
    op: str, gpus: tuple[Gpu, ...], engines: tuple[str, ...], precisions: tuple[str, ...]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    found = [[[find(op, gpu, engine, precision) for precision in precisions] for engine in engines] for gpu in gpus]
    rows = np.array([[[m.row for m in by] for by in of] for of in found], dtype=np.intp)
    return rows, np.array([[[m.basis for m in by] for by in of] for of in found], dtype=np.intp)


def grid(op: str, gpus: Sequence[Gpu], engines: Sequence[str], precisions: Sequence[str]) -> NDArray[np.intp]:
    """Rows of the table of `op` for every (GPU, engine, precision): shape (G, E, P). Cached; index it with integer columns."""
    return _grid(op, tuple(gpus), tuple(engines), tuple(precisions))[0]


def basis_grid(op: str, gpus: Sequence[Gpu], engines: Sequence[str], precisions: Sequence[str]) -> NDArray[np.intp]:
    """Codes into BASES for every (GPU, engine, precision): shape (G, E, P)."""
    return _grid(op, tuple(gpus), tuple(engines), tuple(precisions))[1]


def take(op: str, rows: Any) -> Any:
    """The coefficients at `rows` (an integer or an integer array of any shape) as the NamedTuple of the operator class."""
    at = table(op)
    return at.kind(*at.values[:, rows])


def spread(op: str, rows: Any) -> Any:
    """80th percentile of |ln(predicted / measured)| of held-out measurements at `rows`."""
    return table(op).spread[rows]


def lookup(op: str, gpu: Gpu, engine: str, precision: str) -> tuple[Any, str, float]:
    """Coefficients, basis and spread for one GPU: the scalar form of `grid` and `take`."""
    match = find(op, gpu, engine, precision)
    return take(op, match.row), BASES[match.basis], float(spread(op, match.row))
