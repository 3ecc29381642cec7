"""Single operators against their timings: every row by coefficients that saw no row of its fold (folds are by shape)."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from roofline import coefficients
from roofline.fitting import operator_names as words
from roofline.fitting import operator_tables as tables
from roofline.fitting.operator_tables import Floats, OpTable
from roofline.hardware import presets
from roofline.validation.gpu_labels import gpu_labelled
from roofline.validation.model_labels import number
from roofline.validation.report import Outcome
from roofline.validation.residuals import Residual
from roofline.validation.tables import read as read_table


def validate(rows_or_path: Sequence[Mapping[str, str]] | str | Path) -> Outcome:
    """Residuals of a table of operator timings. Of rows of one operator, GPU, precision and shape the fastest counts; the rest are repeats.

    The kind of table follows from its columns. Raises ValueError for columns of no operator table, OSError for a file that cannot be read.
    """
    rows = read_table(rows_or_path, "ops") if isinstance(rows_or_path, str | Path) else list(rows_or_path)
    if not rows:
        return Outcome(rows=0, predicted=0, residuals=[])
    usable, skipped = [], Counter[str]()
    kind = tables.table_kind(rows[0])
    for line, given in enumerate(rows, start=1):
        row = completed(given)
        why = unusable(kind, row)
        if why:
            skipped[why] += 1
        else:
            usable.append((line, row))
    if not usable:
        return Outcome(rows=len(rows), predicted=0, residuals=[], skipped=skipped)
    table = tables.read([row for _, row in usable])
    table.row = np.array([line for line, _ in usable])
    return Outcome(
        rows=len(rows), predicted=len(usable), residuals=residuals(table.take(fastest(table))), skipped=skipped
    )


DTYPE_COLUMNS = {"gemm": ("gemm_dtype",), "moe": ("moe_dtype",), "custom_allreduce": ("allreduce_dtype",)}
ATTENTION_DTYPES = ("attn_dtype", "kv_cache_dtype")
# What a shape is made of, by kind of table; the window may be blank.
ATTENTION_SHAPE = ("batch_size", "isl", "num_heads", "num_key_value_heads", "head_dim")
SHAPES = {
    "gemm": ("m", "n", "k"),
    "attention_prefill": ATTENTION_SHAPE,
    "attention_decode": (*ATTENTION_SHAPE, "step"),
    "moe": ("num_tokens", "hidden_size", "inter_size", "topk", "num_experts", "moe_tp_size", "moe_ep_size"),
    "collective": ("num_gpus", "message_size"),
    "custom_allreduce": ("num_gpus", "message_size"),
}
MAY_BE_ZERO = ("step", "num_key_value_heads")
# Columns that a table may leave out.
OPTIONAL = ("framework", "kernel_source", "distribution", "backend", "implementation", "window_size", "nccl_dtype")
DTYPE_WORDS = {"bf16": "bfloat16", "fp16": "float16", "fp8_e4m3": "fp8", "float8_e4m3fn": "fp8", "fp4": "nvfp4"}


def completed(row: Mapping[str, str]) -> dict[str, str]:
    """A row with blanks for optional columns that it lacks, its GPU's label as a slug and its data types as the shipped
    tables write them."""
    whole = {**dict.fromkeys(OPTIONAL, ""), **row}
    gpu = whole.get("gpu", "")
    if not words.known_gpu(gpu) and (meant := gpu_labelled(gpu.replace("_", " "))):
        whole["gpu"] = meant.slug
    for name in ("gemm_dtype", "moe_dtype", "allreduce_dtype", *ATTENTION_DTYPES):
        if name in whole:
            word = whole[name].lower()
            whole[name] = DTYPE_WORDS.get(word, word)
    for name in {name for names in SHAPES.values() for name in names}.intersection(whole):
        value = number(whole[name])
        # One shape is one text, however its numbers are written: folds and repeats go by it.
        whole[name] = f"{value:.0f}" if value.is_integer() else whole[name]
    return whole


def unusable(kind: str, row: Mapping[str, str]) -> str:
    """Why a row cannot be predicted; nothing if it can."""
    if not words.known_gpu(row.get("gpu", "")):
        return "GPU not in the catalogue" if row.get("gpu") else "GPU not stated"
    dtypes = ATTENTION_DTYPES if kind.startswith("attention") else DTYPE_COLUMNS.get(kind, ())
    if any(row.get(name, "") not in words.PRECISIONS for name in dtypes):
        return "precision not known"
    if kind == "collective" and row["op_name"] not in words.COLLECTIVE_OPS:
        return "collective not known"
    if any(not number(row.get(name, "")) >= (0 if name in MAY_BE_ZERO else 1) for name in SHAPES[kind]):
        return "shape not stated"
    if row.get("window_size") and math.isnan(number(row["window_size"])):
        return "shape not stated"
    return "" if number(row.get("latency_ms", "")) > 0 else "no latency"


def fastest(table: OpTable) -> NDArray[np.intp]:
    """Index of the fastest of the rows that share operator, GPU, precision and shape, in the order of the table."""
    same = [f"{a}|{b}|{c}|{d}" for a, b, c, d in zip(table.op, table.slug, table.precision, table.shape, strict=True)]
    order = np.lexsort((table.measured, np.array(same)))
    ordered = np.array(same)[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = ordered[1:] != ordered[:-1]
    return np.sort(order[first])


def held_out_rows(table: OpTable) -> tuple[dict[str, NDArray[np.intp]], NDArray[np.intp]]:
    """Rows of the coefficient tables that predict each timing: positions by operator class, and the coefficient row of each timing."""
    found = np.zeros(len(table.measured), dtype=np.intp)
    cache: dict[tuple[str, ...], int] = {}
    keys = zip(
        *(getattr(table, n).tolist() for n in ("op", "slug", "engine", "precision", "kernel")),
        table.fold.astype(str).tolist(),
        strict=True,
    )
    for position, key in enumerate(keys):
        if key not in cache:
            cache[key] = _row(*key)
        found[position] = cache[key]
    by_class = {op: np.flatnonzero(table.op == op) for op in sorted(set(table.op.tolist()))}
    return by_class, found


def _row(op: str, slug: str, engine: str, precision: str, kernel: str, fold: str) -> int:
    """The row of this fold if the group was fitted; a GPU, engine or precision that was not inherits from rows that cannot have seen it."""
    gpu = presets()[slug]
    whole = coefficients.find(op, gpu, engine, precision, kernel=kernel)
    key = coefficients.table(op).keys[whole.row]
    return coefficients.table(op).index.get(key._replace(fold=fold), whole.row)


def predict(table: OpTable) -> tuple[Floats, Floats]:
    """Seconds of each row, and the spread of its coefficients."""
    time, spread = np.zeros(len(table.measured)), np.zeros(len(table.measured))
    by_class, rows = held_out_rows(table)
    for op, at in by_class.items():
        time[at] = tables.predicted(table.take(at), coefficients.take(op, rows[at]))
        spread[at] = coefficients.spread(op, rows[at])
    return time, spread


def residuals(table: OpTable) -> list[Residual]:
    """Measured and predicted seconds with the 80 % interval of each row."""
    time, spread = predict(table)
    return [
        Residual(
            id=str(table.row[i]),
            quantity="latency",
            measured=float(table.measured[i]),
            predicted=float(time[i]),
            low=float(time[i] * np.exp(-spread[i])),
            high=float(time[i] * np.exp(spread[i])),
            gpu=str(table.slug[i]),
            source="",
            architecture="",
            engine=str(table.engine[i]),
            model=f"{table.op[i]} {table.shape[i]}",
            precision=str(table.precision[i]),
            operator=str(table.op[i]),
        )
        for i in range(len(table.measured))
    ]
