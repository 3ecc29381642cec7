"""Operator timings as arrays: one reader for the shipped tables and for any other with the same columns."""

import csv
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roofline import columns
from roofline.attention import attention_decode, attention_prefill
from roofline.ceilings import compute_peak
from roofline.collectives import all_gather, all_reduce, all_to_all, reduce_scatter
from roofline.fitting.operator_kernels import kernels
from roofline.fitting.operator_names import (
    ACTIVATION_BYTES,
    COLLECTIVE_OPS,
    ENGINES,
    PRECISIONS,
    WEIGHT_BYTES,
    gpu_slug,
)
from roofline.gemm import gemm
from roofline.grouped_gemm import moe
from roofline.hardware import gpu_columns, presets
from roofline.units import MILLISECOND

Strings = NDArray[np.str_]
Floats = NDArray[np.float64]

FOLDS = 5
SHIPPED = ("gemm", "attention_prefill", "attention_decode", "moe", "collective", "custom_allreduce")

COLLECTIVE_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "all_reduce": all_reduce,
    "custom_all_reduce": all_reduce,
    "all_gather": all_gather,
    "reduce_scatter": reduce_scatter,
    "all_to_all": all_to_all,
}


@dataclass(slots=True)
class OpTable:
    """Timings of operator classes of one kind of table. All arrays are of shape (N,)."""

    kind: str  # file the columns are of
    op: Strings  # operator class: key of coefficients.KINDS
    slug: Strings
    engine: Strings
    precision: Strings
    kernel: Strings
    shape: Strings  # the inputs as text; rows of the same op, GPU, precision and shape are the same measurement
    fold: NDArray[np.intp]
    gpu: columns.Gpu
    inputs: dict[str, Any]
    peak: Floats  # dense FLOP/s of the compute type; 0 for collectives
    measured: Floats  # s
    row: NDArray[np.intp]  # line in the file, the first is 1

    def take(self, index: NDArray[Any]) -> "OpTable":
        """The rows at `index` (a mask or integers)."""
        parts = {
            name: getattr(self, name)[index]
            for name in ("op", "slug", "engine", "precision", "kernel", "shape", "fold", "peak", "measured", "row")
        }
        where = np.flatnonzero(index) if index.dtype == bool else index
        return OpTable(
            kind=self.kind, gpu=self.gpu.take(where), inputs={k: v[index] for k, v in self.inputs.items()}, **parts
        )


def read_rows(path: str | Path) -> list[dict[str, str]]:
    """Rows of a CSV file as they stand."""
    with open(path, encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


@cache
def shipped(kind: str) -> OpTable:
    """The table of measurements that ships under data/measurements/ops."""
    with resources.as_file(resources.files("roofline").joinpath(f"data/measurements/ops/{kind}.csv")) as path:
        return read(read_rows(path))


def table_kind(names: Iterable[str]) -> str:
    """Which operator table has these columns. Raises ValueError if none."""
    have = set(names)
    marks = (
        ("gemm", {"gemm_dtype", "m", "n", "k"}),
        ("moe", {"moe_dtype", "num_tokens"}),
        ("attention_decode", {"attn_dtype", "step"}),
        ("attention_prefill", {"attn_dtype", "isl"}),
        ("custom_allreduce", {"allreduce_dtype", "message_size"}),
        ("collective", {"op_name", "message_size"}),
    )
    for kind, needed in marks:
        if needed <= have:
            return kind
    raise ValueError(f"no operator table has the columns {', '.join(sorted(have))}")


def read(rows: Sequence[Mapping[str, str]]) -> OpTable:
    """Arrays out of rows with the columns of one operator table. Rows of unknown GPUs or precisions must have been taken out before."""
    kind = table_kind(rows[0])
    text = {name: np.array([row.get(name) or "" for row in rows]) for name in rows[0]}
    slugs = np.array([gpu_slug(name) for name in text["gpu"]])
    catalogue = sorted(set(slugs.tolist()))
    gpu = gpu_columns([presets()[slug] for slug in catalogue]).take(np.searchsorted(catalogue, slugs))
    parts = READERS[kind](text)
    shape, precision = parts.pop("shape"), parts.pop("precision")
    engine = np.array([ENGINES.get(name, name) for name in text["framework"]])
    return OpTable(
        kind=kind,
        op=parts.pop("op"),
        slug=slugs,
        engine=engine,
        precision=precision,
        kernel=kernels(kind, engine, text["kernel_source"], parts),
        shape=shape,
        fold=np.array([zlib.crc32(value.encode()) % FOLDS for value in shape], dtype=np.intp),
        gpu=gpu,
        inputs=parts,
        peak=peaks(gpu, precision) if "nbytes" not in parts else np.zeros(len(shape)),
        measured=numbers(text["latency_ms"]) * MILLISECOND,
        row=np.arange(1, len(rows) + 1),
    )


def numbers(values: Strings, missing: float = 0.0) -> Floats:
    """Numbers out of text; blanks become `missing`."""
    return np.array([float(value) if value else missing for value in values.tolist()])


def _shape(text: Mapping[str, Strings], *names: str) -> Strings:
    return np.array(["|".join(values) for values in zip(*(text[name].tolist() for name in names), strict=True)])


def _words(values: Strings) -> Strings:
    return np.array([PRECISIONS[value] for value in values.tolist()])


def _per(precision: Strings, by: Mapping[str, float]) -> Floats:
    return np.array([by[value] for value in precision.tolist()])


def _gemm(text: Mapping[str, Strings]) -> dict[str, Any]:
    precision = _words(text["gemm_dtype"])
    return {
        "op": np.full(len(precision), "gemm"),
        "precision": precision,
        "shape": _shape(text, "m", "n", "k"),
        **{name: numbers(text[name]) for name in ("m", "n", "k")},
        "weight_bytes": _per(precision, WEIGHT_BYTES),
        "act_bytes": _per(precision, ACTIVATION_BYTES),
    }


def _heads(text: Mapping[str, Strings]) -> dict[str, Any]:
    heads, kv_heads, window = (
        numbers(text["num_heads"]),
        numbers(text["num_key_value_heads"]),
        numbers(text["window_size"]),
    )
    compute = _words(text["attn_dtype"])
    cache_type = _words(text["kv_cache_dtype"])
    return {
        "precision": np.array([f"{a}/{b}" for a, b in zip(compute.tolist(), cache_type.tolist(), strict=True)]),
        "batch": numbers(text["batch_size"]),
        "heads": heads,
        "kv_heads": np.where(kv_heads > 0, kv_heads, heads),
        "head_dim": numbers(text["head_dim"]),
        "window": np.where(window > 0, window, np.inf),
        "kv_bytes": _per(cache_type, WEIGHT_BYTES),
        "act_bytes": _per(compute, WEIGHT_BYTES),
    }


def _prefill(text: Mapping[str, Strings]) -> dict[str, Any]:
    shape = _shape(text, "batch_size", "isl", "num_heads", "num_key_value_heads", "head_dim", "window_size")
    return {
        "op": np.full(len(shape), "attention_prefill"),
        "shape": shape,
        "new": numbers(text["isl"]),
        **_heads(text),
    }


def _decode(text: Mapping[str, Strings]) -> dict[str, Any]:
    shape = _shape(text, "batch_size", "isl", "step", "num_heads", "num_key_value_heads", "head_dim", "window_size")
    return {
        "op": np.full(len(shape), "attention_decode"),
        "shape": shape,
        "context": numbers(text["isl"]) + numbers(text["step"]),
        **_heads(text),
    }


def _moe(text: Mapping[str, Strings]) -> dict[str, Any]:
    precision = _words(text["moe_dtype"])
    names = ("num_tokens", "hidden_size", "inter_size", "topk", "num_experts", "moe_tp_size", "moe_ep_size")
    return {
        "op": np.full(len(precision), "moe"),
        "precision": precision,
        "shape": _shape(text, *names, "distribution"),
        **{name: numbers(text[name]) for name in names},
        "matrices": np.where(np.char.find(text["kernel_source"], "nongated") >= 0, 2.0, 3.0),
        "skew": np.array(
            [
                float(value.rpartition("_")[2]) if value.startswith("power_law") else 0.0
                for value in text["distribution"].tolist()
            ]
        ),
        "weight_bytes": _per(precision, WEIGHT_BYTES),
    }


def _collective(text: Mapping[str, Strings]) -> dict[str, Any]:
    element = np.where(
        text["nccl_dtype"] == "int8", 1.0, np.where(np.isin(text["nccl_dtype"], ["float", "float32"]), 4.0, 2.0)
    )
    return {
        "op": np.array([COLLECTIVE_OPS[value] for value in text["op_name"].tolist()]),
        "precision": np.full(len(element), ""),
        "shape": _shape(text, "op_name", "nccl_dtype", "num_gpus", "message_size"),
        "ranks": numbers(text["num_gpus"]),
        "nbytes": numbers(text["message_size"]) * element,
    }


def _custom(text: Mapping[str, Strings]) -> dict[str, Any]:
    shape = _shape(text, "num_gpus", "message_size")
    return {
        "op": np.full(len(shape), "custom_all_reduce"),
        "precision": np.full(len(shape), ""),
        "shape": shape,
        "ranks": numbers(text["num_gpus"]),
        "nbytes": numbers(text["message_size"]) * 2.0,
    }


READERS: Mapping[str, Callable[[Mapping[str, Strings]], dict[str, Any]]] = {
    "gemm": _gemm,
    "attention_prefill": _prefill,
    "attention_decode": _decode,
    "moe": _moe,
    "collective": _collective,
    "custom_allreduce": _custom,
}


def link(gpu: columns.Gpu) -> Floats:
    """Bytes/s of one direction of the link that joins GPUs of a node: NVLink and the like where there is one, else PCIe."""
    fast = np.asarray(gpu.link_bandwidth, dtype=float)
    return np.where(fast > 0, fast, gpu.pcie_bandwidth)


def peaks(gpu: columns.Gpu, precision: Strings) -> Floats:
    """Dense FLOP/s of the compute type of each row."""
    found = np.zeros(len(precision))
    for word in set(precision.tolist()):
        at = np.flatnonzero(precision == word)
        found[at] = compute_peak(gpu.take(at), word.partition("/")[0])
    return found


def predicted(table: OpTable, coef: Any) -> Floats:
    """Seconds of each row by the engine's own operators. `coef` broadcasts against the rows; all rows are of one operator class."""
    x, gpu = table.inputs, table.gpu
    hardware = {"peak": table.peak, "bandwidth": gpu.bandwidth, "sms": gpu.sms}
    match table.kind:
        case "gemm":
            return np.asarray(gemm(**x, **hardware, coef=coef, warm=True).time)
        case "attention_prefill":
            dims = {"qk_dim": x["head_dim"], "v_dim": x["head_dim"]}
            given = {name: value for name, value in x.items() if name != "head_dim"}
            return np.asarray(attention_prefill(**given, **dims, **hardware, coef=coef).time)
        case "attention_decode":
            dims = {"qk_dim": x["head_dim"], "v_dim": x["head_dim"]}
            given = {name: value for name, value in x.items() if name not in ("head_dim", "act_bytes")}
            return np.asarray(attention_decode(**given, **dims, **hardware, coef=coef, warm=True).time)
        case "moe":
            given = {
                "hidden": x["hidden_size"],
                "width": x["inter_size"],
                "experts": x["num_experts"],
                "top_k": x["topk"],
                "ep": x["moe_ep_size"],
                "tp": x["moe_tp_size"],
                **{k: x[k] for k in ("matrices", "skew", "weight_bytes")},
            }
            return np.asarray(
                moe(x["num_tokens"], **given, peak=table.peak, bandwidth=gpu.bandwidth, coef=coef, warm=True).time
            )
    function = COLLECTIVE_FUNCTIONS[str(table.op[0])]
    return np.asarray(function(x["nbytes"], x["ranks"], bandwidth=link(gpu), coef=coef).time)
