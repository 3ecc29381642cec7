"""Measured peak memory of training runs: which definition a row means, which rows say enough, and their predictions."""

import math
import zlib
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from roofline import codes
from roofline.columns import Batch
from roofline.memory.constants import TrainingConstants, spreads
from roofline.memory.training import DEFINITIONS, peak_memory
from roofline.units import GIB
from roofline.validation.residuals import Residual
from roofline.validation.training_batch import batch_of
from roofline.validation.training_table import Row, Run, runs, shipped_rows

ALLOCATED, RESERVED, NVIDIA_SMI = range(len(DEFINITIONS))
# Words of notes and sources that name a definition; the first that is found decides.
DEFINITION_WORDS = (
    ("nvidia-smi", NVIDIA_SMI),
    ("peak allocated", ALLOCATED),
    ("max allocated", ALLOCATED),
    ("max_memory_allocated", ALLOCATED),
    ("allocated gib", ALLOCATED),
    ("gib allocated", ALLOCATED),
    ("max_memory_usage", ALLOCATED),
    ("reserved gib", RESERVED),
    ("peak reserved", RESERVED),
    ("mem_reserved", RESERVED),
    ("max_memory_reserved", RESERVED),
)
# What a source means where a row's own notes are silent (its documentation).
SOURCE_DEFINITIONS = (
    ("simumax", ALLOCATED),
    ("mlcommons", ALLOCATED),
    ("torchtitan", RESERVED),
    ("pytorch/ao", RESERVED),
    ("torchtune", RESERVED),
    ("megatron-bridge", ALLOCATED),
)
FP32_ACCUMULATION = "fp32 grad accumulation"
FP32_SOURCES = ("prime-rl",)  # whose trainer keeps parameters in fp32 and reduces gradients in it (its documentation)
# Words of notes of runs that held less than the memory model has recipes for.
LEANER = ("states in bf16", "loss in pieces")
REDUCED_IN_16_BIT = ("nemo",)  # recipes of NeMo and Megatron-Bridge reduce gradients in bf16

# Where the fit of the overheads starts and what it is drawn to.
PRIOR = TrainingConstants(
    context=1.0 * GIB,
    communicator=0.5 * GIB,
    fragmentation=0.05,
    logit_fused=8.0,
    logit_in_place=4.0,
    logit_compiled=8.0,
    logit_outside=12.0,
    logit_eager=16.0,
    workspace=0.25 * GIB,
    unfused=1.5,
    deepspeed_fragmentation=0.1,
    deepspeed_buckets=3.0 * GIB,
)
UNUSABLE = ("OUTLIER", "WARNING", "SUSPECT", "CHECK", "PROXY", "truncated", "rounded")
FOLDS = 10


def definition_of(row: Row) -> int:
    """Index into DEFINITIONS: what the row's peak_mem_gib counts; nvidia-smi where nothing tells."""
    notes, source = row.get("notes", "").lower(), row.get("source", "").lower()
    found = next((code for word, code in DEFINITION_WORDS if word in notes), None)
    if found is None:
        found = next((code for word, code in SOURCE_DEFINITIONS if word in source), NVIDIA_SMI)
    return found


def why_underspecified(row: Row) -> str:
    """What a row leaves out that its memory depends on; empty where it says enough."""
    if not (row.get("seq_len") or "").strip() or "ASSUMED seq_len" in row.get("notes", ""):
        return "sequence length not stated"
    if (row.get("recompute") or "") not in codes.RECOMPUTES:
        return "activation recomputation not stated"
    if not (row.get("micro_batch_per_gpu") or "").strip() and not (row.get("global_batch_seqs") or "").strip():
        return "batch not stated"
    if is_leaner(row):
        return "optimizer or loss of another kind"
    return ""


def is_leaner(row: Row) -> bool:
    """Whether a run held less than the memory model has recipes for: what it held is not compared, nor is it refused for lack of memory."""
    return any(words in row.get("notes", "") for words in LEANER)


def _compiled(run: Run) -> bool:
    """Whether the loss is compiled: rows of torchtitan say so, MaxText always is."""
    return run.framework == "maxtext" or "compile" in run.row.get("notes", "").lower()


def _accumulates_in_fp32(run: Run) -> bool:
    return FP32_ACCUMULATION in run.row.get("notes", "") or any(name in run.source for name in FP32_SOURCES)


def memory_batch(runs: Sequence[Run]) -> tuple[Batch, NDArray[np.intp]]:
    """The batch of `runs` with gradients as their recipes keep them, and what each row's peak counts."""
    batch = batch_of(runs)[0]
    assert batch.training is not None
    bf16, fp32 = codes.GRADIENT_DTYPES.index("bf16"), codes.GRADIENT_DTYPES.index("fp32")
    chosen = [
        fp32
        if _accumulates_in_fp32(run)
        else bf16
        if run.framework in ("deepspeed", *REDUCED_IN_16_BIT)
        else int(stated)
        for run, stated in zip(runs, np.broadcast_to(batch.training.gradient_dtype, len(runs)), strict=True)
    ]
    batch.training.gradient_dtype = np.array(chosen)
    batch.levers.torch_compile = np.array([float(_compiled(run)) for run in runs])
    return batch, np.array([definition_of(run.row) for run in runs], dtype=np.intp)


def usable(selected: Sequence[Run]) -> list[Run]:
    """The runs that a fit may use: peak stated, everything that memory depends on stated, no doubt noted.

    nanotron's runs do not say whether they recompute; its benchmark script does not.
    """
    return [
        run
        for run in selected
        if run.peak_memory_bytes > 0
        and not run.guessed
        and (not why_underspecified(run.row) or run.framework == "nanotron")
        and not any(word in run.row.get("notes", "") for word in UNUSABLE)
    ]


def fold_of(run: Run) -> int:
    """The fold of a run: all runs of one model, GPU, number of GPUs, precision and framework share it."""
    row = run.row
    key = (
        row.get("model_id") or row.get("model_name", ""),
        run.gpu.slug,
        f"{run.gpus:g}",
        run.precision,
        run.framework,
    )
    return zlib.crc32("\x1f".join(key).encode()) % FOLDS


@cache
def _fold_constants() -> tuple[TrainingConstants, ...]:
    from roofline.fitting.training_memory import fit  # the fit reads rows through this module

    known = usable(runs(shipped_rows())[0])
    return tuple(fit([run for run in known if fold_of(run) != fold])[0] for fold in range(FOLDS))


def predicted_peaks(selected: Sequence[Run]) -> NDArray[np.float64]:
    """Peak bytes of each run by the definition that its row means, with constants fitted without the run's fold.
    Shape (len(selected),).
    """
    batch, definition = memory_batch(selected)
    folds = np.array([fold_of(run) for run in selected], dtype=np.intp)
    columns: NDArray[np.float64] = np.array(_fold_constants())[folds].T
    peaks: NDArray[np.float64] = np.asarray(peak_memory(batch, definition, TrainingConstants(*columns)))
    return peaks


def residuals(selected: Sequence[Run]) -> list[Residual]:
    """Measured and predicted peaks of the runs that state a peak and all that it depends on."""
    held = [run for run in selected if run.peak_memory_bytes > 0 and not why_underspecified(run.row)]
    if not held:
        return []
    spread = math.exp(spreads()["peak_memory"])
    return [_residual(run, float(peak), spread) for run, peak in zip(held, predicted_peaks(held), strict=True)]


def _residual(run: Run, peak: float, spread: float) -> Residual:
    return Residual(
        id=run.id,
        quantity="peak_memory",
        measured=run.peak_memory_bytes,
        predicted=peak,
        low=peak / spread,
        high=peak * spread,
        gpu=run.gpu.slug,
        source=run.source,
        architecture=run.kind,
        engine=run.framework,
        model=run.row.get("model_name", ""),
        precision=run.precision,
    )
