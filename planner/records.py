"""The published record: how much of the peak the shipped reference runs reached, by model kind and architecture."""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources
from pathlib import Path
from statistics import median

from django.utils.translation import gettext as _

from gpus.selectors import gpu_book
from roofline.audit import Record

# Precisions of the table by the type whose peak their MFU is a share of; a blank precision means bf16.
PRECISIONS = {"bf16": ("bf16", "fp16", ""), "fp8": ("fp8", "mxfp8"), "fp4": ("nvfp4",)}
FEWEST = 5  # runs that make a record
# Words in a row's notes that say it is no record: doubted by whoever collected it, fewer layers than the named model, or
# an MFU of FLOPs that its source has since corrected.
DOUBTS = ("OUTLIER", "WARNING", "CHECK", "SUSPECT", "PROXY", "truncated", "MFU definition changed")
DENSE = 0.99  # active over total parameters from which on a model counts as dense


def record_of(*, moe: bool, architecture: str, dtype: str = "bf16") -> Record | None:
    """The record of training runs of dense or MoE models in a type of arithmetic (bf16, fp8, fp4) on an architecture;
    on all where it has few; None where there are few at all."""
    runs = _runs(moe, dtype)
    own = [run for run in runs if run[0] == architecture]
    kind = _("mixture-of-experts models") if moe else _("dense models")
    if dtype != "bf16":
        kind = _("%(kind)s in %(dtype)s") % {"kind": kind, "dtype": dtype.upper()}
    if len(own) >= FEWEST:
        return _record(own, _("%(kind)s on %(architecture)s") % {"kind": kind, "architecture": architecture})
    return _record(runs, str(kind)) if len(runs) >= FEWEST else None


def _record(runs: list[tuple[str, float, str]], label: str) -> Record:
    _architecture, best, source = max(runs, key=lambda run: run[1])
    return Record(label, len(runs), median(run[1] for run in runs), best, source)


@cache
def _runs(moe: bool, dtype: str) -> list[tuple[str, float, str]]:
    """(architecture, MFU as a share, source) of the runs that state it."""
    gpus = gpu_book().values
    table = Path(str(resources.files("roofline"))) / "data" / "measurements" / "training.csv"
    with table.open(encoding="utf-8", newline="") as lines:
        return [
            (
                gpus[row["gpu_slug"]].architecture if row["gpu_slug"] in gpus else "",
                float(row["mfu_pct"]) / 100,
                row["source"],
            )
            for row in csv.DictReader(lines)
            if row["mfu_pct"] and row["precision"] in PRECISIONS[dtype] and _is_moe(row) is moe and not _is_doubted(row)
        ]


def _is_doubted(row: dict[str, str]) -> bool:
    return any(word in row["notes"] for word in DOUBTS)


def _is_moe(row: dict[str, str]) -> bool:
    total, active = (float(row[key]) if row[key] else None for key in ("params_b", "active_params_b"))
    return bool(total and active and active < DENSE * total)
