"""Fit of what frameworks add to the tensors of a training run, to the measured peaks of rows that say all that memory
depends on.

Robust least squares in ln(predicted / measured), drawn to starting values so that a constant without rows keeps its
own. `python -m roofline.fitting.training_memory` writes the training lines of coefficients/memory.csv again, to the
digit.
"""

import csv
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from roofline.memory.constants import TrainingConstants
from roofline.memory.training import peak_memory
from roofline.validation.training_memory import PRIOR, memory_batch, predicted_peaks, usable
from roofline.validation.training_table import Run, runs, shipped_rows

SPREAD = "spread.peak_memory"
PRIOR_WEIGHT = 0.05  # of ln for a change of a constant by its whole starting value
LOSS_SCALE = 0.05
FITTED = ("context", "communicator", "deepspeed_fragmentation", "deepspeed_buckets", "unfused")
SOURCES = {
    "logit_fused": "bf16 logits, fp32 copy that becomes softmax and gradient, bf16 gradient (Megatron-LM)",
    "logit_in_place": "bf16 logits and their gradient (llm-foundry's default loss, flash-attn)",
    "logit_compiled": "bf16 logits, fp32 copy that becomes softmax and gradient, bf16 gradient (torch.compile fuses the rest)",
    "logit_outside": "fp32 log-softmax, fp32 gradients of it and of the logits (torchtitan before pull request 1033)",
    "logit_eager": "fp32 logits and log-softmax, fp32 gradients of both (PyTorch cross-entropy)",
    "fragmentation": "usual share of PyTorch's caching allocator, 3 to 8 %",
    "workspace": "cuBLAS and Transformer Engine workspaces",
}
UNITS = {
    "unfused": "share",
    "fragmentation": "share",
    "deepspeed_fragmentation": "share",
    "logit_fused": "bytes/logit",
    "logit_in_place": "bytes/logit",
    "logit_compiled": "bytes/logit",
    "logit_outside": "bytes/logit",
    "logit_eager": "bytes/logit",
}


def fit(selected: Sequence[Run]) -> tuple[TrainingConstants, float]:
    """Constants fitted to the measured peaks of `selected`, and the median of |ln(predicted / measured)|."""
    prior = np.array(PRIOR)
    if not selected:
        return PRIOR, float("nan")
    batch, definition = memory_batch(selected)
    measured = np.array([run.peak_memory_bytes for run in selected])
    free = np.array([name in FITTED for name in TrainingConstants._fields])

    def constants(scales: NDArray[np.float64]) -> TrainingConstants:
        values = prior.copy()
        values[free] *= scales
        return TrainingConstants(*(float(value) for value in values))

    def error(scales: NDArray[np.float64]) -> NDArray[np.float64]:
        logarithm: NDArray[np.float64] = np.log(peak_memory(batch, definition, constants(scales)) / measured)
        return logarithm

    def cost(scales: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.concatenate([error(scales), PRIOR_WEIGHT * (scales - 1)])

    found = least_squares(cost, np.ones(int(free.sum())), loss="soft_l1", f_scale=LOSS_SCALE, bounds=(0.0, 4.0))
    return constants(found.x), float(np.median(np.abs(error(found.x))))


def main(path: Path | None = None) -> None:
    """Fit to the shipped rows and write the training lines of coefficients/memory.csv; the other lines stay as they
    are.
    """
    selected = usable(runs(shipped_rows())[0])
    constants, error = fit(selected)
    target = path or Path(str(resources.files("roofline").joinpath("coefficients/memory.csv")))
    with target.open(encoding="utf-8", newline="") as lines:
        kept = [row for row in csv.DictReader(lines) if not row["name"].startswith(("training.", SPREAD))]
    source = "fit to the runs of data/measurements/training.csv that state all that memory depends on"
    fitted = [
        {
            "name": f"training.{name}",
            "value": f"{value:.5g}",
            "unit": UNITS.get(name, "bytes"),
            "source": SOURCES.get(name, source),
            "rows": len(selected) if name in FITTED else "",
            "fit_error": f"{error:.3f} ln (median)" if name in FITTED else "",
        }
        for name, value in zip(TrainingConstants._fields, constants, strict=True)
    ]
    with target.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.DictWriter(lines, fieldnames=list(fitted[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows([*kept, *fitted, _spread(selected)])


def _spread(selected: Sequence[Run]) -> dict[str, object]:
    """80th percentile of the error of left-out runs: of configurations and of whole sources, together."""
    measured = np.array([run.peak_memory_bytes for run in selected])
    predicted = np.concatenate([predicted_peaks(selected), _without_source(selected)])
    value = float(np.percentile(np.abs(np.log(predicted / np.tile(measured, 2))), 80))
    source = "left-out configurations and left-out sources of data/measurements/training.csv, 80th percentile"
    return {
        "name": SPREAD,
        "value": f"{value:.4g}",
        "unit": "ln",
        "source": source,
        "rows": len(selected),
        "fit_error": "",
    }


def _without_source(selected: Sequence[Run]) -> NDArray[np.float64]:
    """Peak bytes of each run with constants fitted to the runs of all other sources. Shape (len(selected),)."""
    peaks = np.empty(len(selected))
    sources = np.array([run.source for run in selected])
    for source in sorted(set(sources)):
        constants, _ = fit([run for run in selected if run.source != source])
        batch, definition = memory_batch([run for run in selected if run.source == source])
        peaks[sources == source] = peak_memory(batch, definition, constants)
    return peaks


if __name__ == "__main__":
    main()
