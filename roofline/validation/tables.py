"""Reading a table of measurements as people send it: any order and case of columns, blank columns left out, other
separators, numbers with thousands separators. A table that is of another kind is refused with what it lacks."""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path

Row = dict[str, str]
Alternatives = tuple[str, ...]

SHIPPED = {
    "training": ("training.csv",),
    "inference": ("inference.csv",),
    "serving_memory": ("serving_memory.csv",),
    "ops": tuple(
        f"ops/{name}.csv"
        for name in ("gemm", "attention_prefill", "attention_decode", "moe", "collective", "custom_allreduce")
    ),
}
MODEL: Alternatives = ("model_id", "model_name", "config_json", "arch_hint", "params_b")
GPU: Alternatives = ("gpu", "gpu_slug")
# What a table must have to be of a kind: one column of each group.
NEEDED: Mapping[str, tuple[Alternatives, ...]] = {
    "training": (
        MODEL,
        GPU,
        ("n_gpus",),
        ("seq_len",),
        ("tokens_per_s_per_gpu", "tokens_per_s_total", "step_time_s", "peak_mem_gib", "notes"),
    ),
    "inference": (
        MODEL,
        GPU,
        ("n_gpus",),
        ("isl", "scenario"),
        (
            "output_tokens_per_s_total",
            "total_tokens_per_s_total",
            "tokens_per_s_per_gpu",
            "ttft_ms",
            "tpot_ms",
            "e2e_latency_s",
        ),
    ),
    "serving_memory": (
        ("model", "config_id", "config_json"),
        ("gpu", "gpu_slug", "gpu_total_GiB"),
        ("tp",),
        ("weights_GiB_per_gpu", "kv_tokens", "kv_cache_GiB_per_gpu"),
    ),
    "ops": (("gpu",), ("latency_ms",)),
}
MORE_COLUMNS = ("config_json", "gpu_slug")
DELIMITERS = (",", ";", "\t", "|")
ABSENT = frozenset({"nan", "n/a", "na", "null", "-", "–", "—", "?", "inf", "+inf", "-inf", "infinity"})
# Where "none" names nothing; elsewhere it is a value (no recomputation, no quantisation).
NAMES = frozenset({"model_id", "gpu_slug", "config_id", "config_json", "model", "model_name", "gpu"})
GROUPED_NUMBER = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
LONGEST_CELL = 16 * 2**20  # characters: configurations stand in cells


def read(path: str | Path, kind: str) -> list[Row]:
    """The rows of a table of `kind`, every cell without blanks around it, empty where nothing is stated; rows that
    are blank throughout are left out. Columns take the spelling of the shipped tables.

    Raises OSError for a file that cannot be read, ValueError for one that is no such table.
    """
    return parse(_text(Path(path)), kind)


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"the table is not UTF-8 text: byte {error.start + 1:,} is not") from error


def parse(text: str, kind: str) -> list[Row]:
    """As `read`, of the text of a table."""
    head = text.lstrip("\r\n").partition("\n")[0]
    if not head.strip():
        raise ValueError("the table is empty")
    known = columns(kind)
    delimiter = max(DELIMITERS, key=lambda one: sum(_column(cell, known) in known.values() for cell in head.split(one)))
    csv.field_size_limit(LONGEST_CELL)
    try:
        header, *lines = csv.reader(io.StringIO(text.lstrip("\r\n"), newline=""), delimiter=delimiter)
    except csv.Error as error:
        raise ValueError(f"the table is no CSV: {error}") from error
    names = [_column(cell, known) for cell in header]
    _check(names, kind)
    for number, line in enumerate(lines, 2):
        if any(cell.strip() for cell in line[len(names) :]):
            raise ValueError(f"line {number:,} has more cells than the header has columns ({len(names)})")
    rows = ({name: _cell(name, value) for name, value in zip(names, line, strict=False) if name} for line in lines)
    return [dict.fromkeys(filter(None, names), "") | row for row in rows if any(row.values())]


@cache
def columns(kind: str) -> dict[str, str]:
    """The columns of the shipped tables of a kind, by lower-case name."""
    names = {name.lower(): name for name in MORE_COLUMNS}
    for file in SHIPPED[kind]:
        with resources.files("roofline").joinpath(f"data/measurements/{file}").open(encoding="utf-8") as lines:
            names |= {name.lower(): name for name in next(csv.reader(lines))}
    return names


def _column(cell: str, known: Mapping[str, str]) -> str:
    name = re.sub(r"\s+", "_", cell.strip().strip('"').strip())
    return known.get(name.lower(), name)


def _check(names: Sequence[str], kind: str) -> None:
    missing = [group for group in NEEDED[kind] if not any(name in names for name in group)]
    if missing:
        lacking = "; ".join(" or ".join(group) for group in missing)
        found = ", ".join(name for name in names[:40] if name)
        raise ValueError(f"no table of kind {kind}: it lacks {lacking}. Its columns: {found[:600]}")
    twice = sorted({name for name in names if name and names.count(name) > 1})
    if twice:
        raise ValueError(f"columns that stand twice: {', '.join(twice)}")


def _cell(name: str, value: str) -> str:
    plain = value.strip()
    if plain.lower() in ABSENT or (plain.lower() == "none" and name in NAMES):
        return ""
    return plain.replace(",", "") if GROUPED_NUMBER.fullmatch(plain) else plain
