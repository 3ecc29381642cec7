"""Physical ceilings of a run: what its hardware cannot do, whatever the software. Roofs alone, no fitted number."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks_ingest.parsers import Run
from benchmarks_ingest.precisions import weight_format
from benchmarks_ingest.resolving import Books
from roofline import precision
from roofline.columns import Model
from roofline.hardware import Gpu
from roofline.units import TERA

ABOVE = "above the physical ceiling"
SLACK = 1.02  # datasheet figures are rounded
FEWEST_BYTES = 0.5  # of a weight, where its format is not known: 4 bits
FROZEN_WEIGHTS = 4.0  # FLOPs a parameter and token where the base model is not updated (adapters)


def ceiling_check(books: Books) -> Callable[[Run], list[str]]:
    """The check that parsers run on each run whose hardware and model are stated."""
    return lambda run: ceiling_warnings(run, books, books.gpu_slug(run.gpu), books.model_name(run.model), run.gpu_count)


def ceiling_warnings(run: Run, books: Books, slug: str, model: str, count: int | None) -> list[str]:
    """Sentences on what is above a ceiling; empty where nothing is, or where the hardware is not known."""
    found = [f"MFU {run.mfu_reported:.3g} is {ABOVE} of 1"] if run.mfu_reported and run.mfu_reported > 1 else []
    gpu, architecture = books.gpu(slug), books.architecture(model)
    if gpu is None or architecture is None or not count:
        return found
    columns = architecture.columns()
    check = _training if run.kind == "training" else _serving
    return [*found, *check(run, gpu, columns, count)]


def is_ceiling(warning: str) -> bool:
    """Whether a warning says that a run is impossible."""
    return ABOVE in warning


def fastest_peak(gpu: Gpu) -> float:
    """The highest dense peak of the hardware, FLOP/s."""
    return max(value for _dtype, value in gpu.peaks)


def matrix_params(model: Model) -> float:
    """Parameters that a token is multiplied with."""
    return float(model.flops_per_token) / 2.0


def _training(run: Run, gpu: Gpu, model: Model, count: int) -> Iterator[str]:
    speed = run.tokens_per_s_per_gpu or (run.tokens_per_s or 0.0) / count
    if not speed:
        return
    roof = fastest_peak(gpu) / (FROZEN_WEIGHTS * matrix_params(model))
    if speed > roof * SLACK:
        yield (
            f"{speed:,.4g} tokens/s per GPU is {ABOVE} of {roof:,.4g} (fastest peak "
            f"{fastest_peak(gpu) / TERA:,.4g} TFLOP/s, {FROZEN_WEIGHTS:g} FLOPs per parameter and token)"
        )


def _serving(run: Run, gpu: Gpu, model: Model, count: int) -> Iterator[str]:
    read_s = matrix_params(model) * _weight_bytes(run) / (gpu.bandwidth * count)
    if run.tpot_mean_s and run.tpot_mean_s * SLACK < read_s:
        yield (
            f"TPOT {run.tpot_mean_s * 1e3:.4g} ms is {ABOVE}: reading the active weights takes {read_s * 1e3:.4g} ms "
            "(several tokens a step, as with speculation, would explain it)"
        )
    output = run.output_tokens_per_s or run.decode_tokens_per_s
    together = run.concurrency or run.batch_size or (1 if run.kind == "single_stream" else None)
    if output and together and output > together / read_s * SLACK:
        yield (
            f"{output:,.5g} output tokens/s is {ABOVE} of {together / read_s:,.5g} at concurrency {together:g} "
            "(memory bandwidth)"
        )
    roof = fastest_peak(gpu) * count / float(model.flops_per_token)
    if output and output > roof * SLACK:
        yield f"{output:,.5g} output tokens/s is {ABOVE} of {roof:,.5g} (fastest peak of the hardware)"


def _weight_bytes(run: Run) -> float:
    known = weight_format(run.weights, run.model or "")
    return precision.FORMATS[known].body if known else FEWEST_BYTES
