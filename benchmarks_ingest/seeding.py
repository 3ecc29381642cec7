"""The public reference runs, with their sources and with figures that no fit had seen, as rows of everyone."""

from __future__ import annotations

import csv
import gzip
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from benchmarks_ingest.figures import Compared
from benchmarks_ingest.models import MeasuredRun, RunFigure, RunStatus
from benchmarks_ingest.precisions import weight_format
from benchmarks_ingest.resolving import Books
from benchmarks_ingest.scenarios import load_words
from benchmarks_ingest.work import figure_row
from roofline.validation import serving_table, training_table, validate
from roofline.validation.serving_backends import stated_backend

DATA = Path(settings.BASE_DIR) / "roofline" / "data"
TABLES = {"training": DATA / "measurements" / "training.csv", "inference": DATA / "measurements" / "inference.csv"}
COMPARED = DATA / "compared.csv.gz"
DATA_FILES = [path for path in (*TABLES.values(), COMPARED) if path.exists()]
BATCH = 500
Row = Mapping[str, str]

# canonical field -> (column, factor)
TRAINING_FIELDS = {
    "seq_len": ("seq_len", 1.0),
    "global_batch": ("global_batch_seqs", 1.0),
    "micro_batch": ("micro_batch_per_gpu", 1.0),
    "tokens_per_s_per_gpu": ("tokens_per_s_per_gpu", 1.0),
    "tokens_per_s": ("tokens_per_s_total", 1.0),
    "step_time_s": ("step_time_s", 1.0),
    "tflops_per_gpu": ("tflops_per_gpu", 1.0),
    "mfu_reported": ("mfu_pct", 0.01),
    "peak_memory_bytes": ("peak_mem_gib", 2.0**30),
}
SERVING_FIELDS = {
    "input_tokens": ("isl", 1.0),
    "output_tokens": ("osl", 1.0),
    "concurrency": ("concurrency_or_batch", 1.0),
    "request_rate_per_s": ("request_rate", 1.0),
    "output_tokens_per_s": ("output_tokens_per_s_total", 1.0),
    "total_tokens_per_s": ("total_tokens_per_s_total", 1.0),
    "requests_per_s": ("requests_per_s", 1.0),
    "ttft_mean_s": ("ttft_ms", 1e-3),
    "tpot_mean_s": ("tpot_ms", 1e-3),
    "e2e_mean_s": ("e2e_latency_s", 1.0),
}
SIZES = ("tp", "pp", "cp", "ep", "dp")
COUNTS = frozenset({"seq_len", "global_batch", "micro_batch"})


def seed() -> str:
    """Replace the reference runs and their figures by those of the shipped tables."""
    books = Books.now()
    runs = [_run(kind, row, books) for kind, path in TABLES.items() for row in _rows(path)]
    with transaction.atomic():
        RunFigure.objects.filter(reference=True).delete()
        MeasuredRun.objects.filter(reference=True).delete()
        MeasuredRun.objects.bulk_create(runs, batch_size=BATCH)
        figures = list(_figures(runs))
        RunFigure.objects.bulk_create(figures, batch_size=BATCH)
    return f"{len(runs):,} reference runs, {len(figures):,} of their figures beside predictions"


def _rows(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def _run(kind: str, row: Row, books: Books) -> MeasuredRun:
    data = canonical_data(kind, row)
    engine = (
        (training_table.framework_of(row["framework"]))
        if kind == "training"
        else serving_table.engine_of(row["engine"])
    )
    model = row["model_id"]
    return MeasuredRun(
        reference=True,
        source_id=row["id"],
        source=row["source"][:500],
        source_date=row["source_date"][:20],
        format="reference",
        status=RunStatus.CONFIRMED,
        fingerprint=f"{kind}:{row['id']}"[:64],
        workload=kind,
        label=row["model_name"][:300],
        model=model,
        architecture=books.kind(model),
        gpu=row["gpu_slug"],
        gpu_count=_number(row, "n_gpus", int),
        engine=engine,
        precision=weight_format(row["precision" if kind == "training" else "precision_weights"], model),
        load=load_words(data),
        data=data,
        warnings=[],
        compared_at=timezone.now(),
        confirmed_at=timezone.now(),
    )


def canonical_data(kind: str, row: Row) -> dict[str, Any]:
    """A row of a shipped table as a canonical run."""
    data: dict[str, Any] = {
        "kind": "training" if kind == "training" else _serving_kind(row),
        "model": row["model_name"],
        "engine": row["framework" if kind == "training" else "engine"] or None,
        "engine_version": row.get("engine_version") or None,
        "gpu": row["gpu"],
        "gpu_count": _number(row, "n_gpus", int),
        "weights": row["precision" if kind == "training" else "precision_weights"] or None,
        "notes": [row["notes"][:1000]] if row["notes"] else [],
    }
    if kind == "inference" and serving_table.engine_of(row["engine"]) == "llama_cpp":
        data["backend"] = stated_backend(row["engine"], row["notes"]) or None
    data |= {name: _number(row, name, int) for name in SIZES}
    for name, (column, factor) in (TRAINING_FIELDS if kind == "training" else SERVING_FIELDS).items():
        value = _number(row, column, float)
        data[name] = value if value is None else round(value) if name in COUNTS else value * factor
    return {name: value for name, value in data.items() if value not in (None, [])}


def _serving_kind(row: Row) -> str:
    scenario = row["scenario"]
    if scenario in ("prefill", "batch-1 decode"):
        return "single_stream"
    return "offline" if scenario == "offline max throughput" else "serving"


def _number(row: Row, column: str, made: Any) -> Any:
    value = float(row.get(column) or "nan")
    return made(value) if math.isfinite(value) else None


def _figures(runs: Iterable[MeasuredRun]) -> Iterator[RunFigure]:
    found = _compared()
    for run in runs:
        for one in found.get((run.workload, run.source_id), {}).values():
            yield figure_row(run, one)


def _compared() -> dict[tuple[str, str], dict[str, Compared]]:
    """(kind, id) -> quantity -> figure; of the shipped comparison, made anew where it is not there."""
    found: dict[tuple[str, str], dict[str, Compared]] = defaultdict(dict)
    for kind, key, quantity, *numbers in _shipped() if COMPARED.exists() else _validated():
        measured, predicted, low, high = (float(number) for number in numbers)
        if measured > 0:
            bounds = (low, high) if low == low and high == high else (None, None)
            found[kind, key][quantity] = Compared(quantity, measured, predicted, *bounds)
    return found


def _shipped() -> Iterator[tuple[Any, ...]]:
    with gzip.open(COMPARED, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            yield tuple(row[name] for name in ("kind", "id", "quantity", "measured", "predicted", "low", "high"))


def _validated() -> Iterator[tuple[Any, ...]]:
    for kind, path in TABLES.items():
        for one in validate(path, kind).residuals:
            yield kind, one.id, one.quantity, one.measured, one.predicted, one.low, one.high
