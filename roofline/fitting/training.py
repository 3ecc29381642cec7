"""Fits the coefficients of training to the shipped runs: `python -m roofline.fitting.training`.

A robust least-squares fit of the logarithm of the speed, every coefficient held near its prior; once for all runs and once for each fold
without that fold's runs. Runs that share model, GPU, number of GPUs, precision and framework are in the same fold and share one weight,
so that a configuration which was published often does not count more. Shrunken mean residuals of groups follow (see `corrections`).
"""

import csv
import sys
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from roofline.columns import Batch
from roofline.hardware import Gpu
from roofline.training.coefficients import build
from roofline.training.corrections import BASES, KINDS, LEVELS, TUNINGS, WIDTH_KINDS, Cell, key_words, locate, signature
from roofline.training.families import family
from roofline.training.parameters import BY_NAME, FAMILY_PRIORS, PARAMETERS
from roofline.training.speed import step_of
from roofline.validation.training_batch import batch_of
from roofline.validation.training_table import UNUSABLE, Run, runs, shipped_rows

Floats = NDArray[np.float64]
FOLDS = 5
OUTLIER_SCALE = 0.08  # log error from which a run counts less than quadratically
NOISE = 0.08  # log error of one configuration that a prior's spread is weighed against
STEP = 0.05  # of finite differences, in spreads
LONGEST_MOVE = 1.5  # of one coefficient in one step of the fit, in spreads
FULL_STEPS, FEW_STEPS = 14, 6
KAPPA = (60.0, 60.0, 2.0, 1.0, 1.0)  # runs' worth of doubt at each level of corrections
LARGEST_RESIDUAL = 0.5
COVERED = 0.8  # share of measurements that an interval holds
FEWEST = 30  # residuals that a quantile needs
SOURCE = "fit to data/measurements/training.csv"
FAMILY_MEANINGS = {
    "gemm": "share of the dense peak that large matrix products reach",
    "attention": "share of the 16-bit peak that attention kernels reach",
    "framework": "time on the GPU over that of the operators",
}
STORE = Path(__file__).parent.parent / "coefficients"


@dataclass(frozen=True)
class Sample:
    """The runs of a fit with their batch, measured speeds, folds and weights."""

    runs: Sequence[Run]
    batch: Batch
    gpus: Sequence[Gpu]
    measured: Floats  # log tokens/s/GPU
    folds: NDArray[np.intp]
    weights: Floats
    keys: Sequence[tuple[str, ...]]  # of the levels of corrections

    def owners(self, space: "Vector") -> list[NDArray[np.bool_]]:
        """For each coefficient the runs that it touches."""
        keyed = [set(_keys(run)) for run in self.runs]
        everywhere = np.ones(len(self.runs), dtype=bool)
        return [np.array([name in keys for keys in keyed]) if "/" in name else everywhere for name in space.names]


def fold_key(run: Run) -> str:
    """What runs of one fold share."""
    name = run.row.get("model_id") or run.row.get("model_name", "")
    return "|".join((name, run.gpu.slug, f"{run.gpus:g}", run.precision, run.framework))


def fold_of(run: Run) -> int:
    """The fold of a run, 0 to FOLDS - 1, by a hash that does not change."""
    return zlib.crc32(fold_key(run).encode()) % FOLDS


def usable(run: Run) -> bool:
    """Whether a fit may use the speed of a run."""
    guessed = run.guessed or (
        not run.row.get("model_id") and not run.row.get("config_json") and "layers=" not in run.row.get("arch_hint", "")
    )
    return run.speed == run.speed and not guessed and not any(word in run.row.get("notes", "") for word in UNUSABLE)


def sample(found: Sequence[Run]) -> Sample:
    """Everything that a fit needs to know about `found`."""
    batch, gpus = batch_of(found)
    keys = [fold_key(run) for run in found]
    often = Counter(keys)
    return Sample(
        runs=found,
        batch=batch,
        gpus=gpus,
        measured=np.log([run.speed for run in found]),
        folds=np.array([fold_of(run) for run in found], dtype=np.intp),
        weights=np.array([often[key] ** -0.5 for key in keys]),
        keys=[group_keys(run) for run in found],
    )


@dataclass(frozen=True)
class Vector:
    """Coefficients as an unbounded vector: deviations from the prior in units of its spread."""

    names: tuple[str, ...]
    priors: Floats
    spreads: Floats
    shares: NDArray[np.bool_]

    def values(self, theta: Floats) -> dict[str, float]:
        """Named values at `theta`."""
        logit = np.log(self.priors / np.where(self.shares, 1.0 - self.priors, 1.0)) + self.spreads * theta
        positive = np.exp(logit)
        return dict(zip(self.names, np.where(self.shares, positive / (1.0 + positive), positive).tolist(), strict=True))

    def groups(self) -> list[list[int]]:
        """Positions of coefficients that may be moved together: those of one kind that no run shares."""
        together: dict[str, list[int]] = {}
        for position, name in enumerate(self.names):
            kind, _, rest = name.partition("/")
            sixteen = "16" if rest.endswith("/bf16") else "other"
            together.setdefault(f"{kind}/{sixteen}" if rest else name, []).append(position)
        return list(together.values())


def vector(found: Sequence[Run]) -> Vector:
    """The coefficients that `found` can say something about."""
    keyed = sorted({name for run in found for name in _keys(run)})
    rows = [(p.name, p.prior, p.spread, p.share) for p in PARAMETERS]
    for name in keyed:
        prior, spread = _family_prior(name)
        rows.append((name, prior, spread, not name.startswith("framework/")))
    names, priors, spreads, shares = zip(*rows, strict=True)
    return Vector(names, np.array(priors), np.array(spreads), np.array(shares))


def _keys(run: Run) -> tuple[str, ...]:
    where = family(run.gpu)
    return (f"gemm/{where}/{run.precision}", f"gemm/{where}/bf16", f"attention/{where}", f"framework/{run.framework}")


def _family_prior(name: str) -> tuple[float, float]:
    if name in FAMILY_PRIORS:
        return FAMILY_PRIORS[name]
    kind, _, rest = name.partition("/")
    precision = rest.rpartition("/")[2]
    return FAMILY_PRIORS[f"gemm//{precision}" if kind == "gemm" else f"{kind}/"]


def log_speed(values: Mapping[str, float], batch: Batch, gpus: Sequence[Gpu]) -> Floats:
    """Log tokens/s/GPU that the physics gives, no group corrections."""
    training, layout = batch.training, batch.layout
    assert training is not None
    time = step_of(batch, build(values, gpus)).time
    speed: Floats = np.log(training.global_batch * training.seq_len / (time * layout.gpus))
    return speed


def fit(data: Sample, seen: NDArray[np.bool_], space: Vector, start: Floats, steps: int) -> Floats:
    """The vector that fits the runs `seen`: damped Gauss-Newton on a robust loss with the priors as further residuals."""
    index = np.flatnonzero(seen)
    batch, theta = take(data.batch, index), start.copy()
    owners = [rows[index] for rows in data.owners(space)]
    weights = (data.weights[index] / NOISE) ** 2
    for _ in range(steps):
        now = log_speed(space.values(theta), batch, data.gpus)
        error = data.measured[index] - now
        pull = weights / np.sqrt(1.0 + (error / OUTLIER_SCALE) ** 2)
        slopes = jacobian(space, theta, now, batch, data.gpus, owners)
        curvature = (slopes * pull[:, None]).T @ slopes + np.eye(len(theta))
        move = np.linalg.solve(curvature, slopes.T @ (pull * error) - theta)
        theta = theta + move * min(1.0, LONGEST_MOVE / float(np.abs(move).max()))
    return theta


def jacobian(
    space: Vector, theta: Floats, now: Floats, batch: Batch, gpus: Sequence[Gpu], owners: Sequence[NDArray[np.bool_]]
) -> Floats:
    """Derivatives of the log speed, shape (runs, coefficients). Coefficients of one group touch different runs and are moved together."""
    slopes = np.zeros((len(now), len(theta)))
    for members in space.groups():
        moved = theta.copy()
        moved[members] += STEP
        change = (log_speed(space.values(moved), batch, gpus) - now) / STEP
        for column in members:
            slopes[:, column] = np.where(owners[column], change, 0.0)
    return slopes


def take(batch: Batch, index: NDArray[np.intp]) -> Batch:
    """Rows of a batch."""
    assert batch.training is not None
    return Batch(
        batch.model.take(index),
        batch.gpu.take(index),
        batch.layout.take(index),
        batch.levers.take(index),
        batch.training.take(index),
    )


@dataclass(frozen=True)
class Fitted:
    """One fit: named values, their relative errors, and the group corrections on top."""

    values: Mapping[str, float]
    errors: Mapping[str, float]
    cells: Sequence[Cell]


def relative_errors(space: Vector, data: Sample, theta: Floats) -> dict[str, float]:
    """Standard error of the logarithm (for shares of the logit) of every coefficient, from the curvature at the fit."""
    now = log_speed(space.values(theta), data.batch, data.gpus)
    slopes = jacobian(space, theta, now, data.batch, data.gpus, data.owners(space)) * (data.weights / NOISE)[:, None]
    covariance = np.linalg.inv(slopes.T @ slopes + np.eye(len(theta)))
    return dict(zip(space.names, (space.spreads * np.sqrt(np.diag(covariance))).tolist(), strict=True))


def group_keys(run: Run) -> tuple[str, ...]:
    """Keys of the levels of corrections that a run belongs to."""
    columns = run.architecture.columns()
    kind, tuning = KINDS[int(columns.is_moe)], TUNINGS[int(run.method in ("lora", "qlora"))]
    return key_words(run.gpu, run.precision, run.framework, kind, tuning, float(signature(columns)), run.year)


def shrunken(data: Sample, seen: NDArray[np.bool_], residual: Floats) -> list[Cell]:
    """Corrections from the log residuals of the runs `seen`: each level on what the one above leaves."""
    left = np.clip(residual, -LARGEST_RESIDUAL, LARGEST_RESIDUAL)
    cells = []
    for depth, level in enumerate(LEVELS):
        groups: dict[str, list[int]] = {}
        for index in np.flatnonzero(seen).tolist():
            groups.setdefault(data.keys[index][depth], []).append(index)
        for key, members in sorted(groups.items()):
            weight = data.weights[members]
            runs = float(weight.sum())
            value = float(weight @ left[members]) / (runs + KAPPA[depth])
            cells.append(Cell(level, key, runs, value))
            left[members] -= value
    return cells


def complete_fit(data: Sample, seen: NDArray[np.bool_], start: Floats | None = None) -> tuple[Fitted, Floats]:
    """Coefficients and corrections from the runs `seen`; also the vector, as a start for the next fit."""
    space = vector(data.runs)
    theta = (
        fit(data, seen, space, np.zeros(len(space.names)), FULL_STEPS)
        if start is None
        else fit(data, seen, space, start, FEW_STEPS)
    )
    values = space.values(theta)
    residual = data.measured - log_speed(values, data.batch, data.gpus)
    errors = relative_errors(space, data, theta) if start is None else {}
    return Fitted(values, errors, shrunken(data, seen, residual)), theta


def predicted(model: Fitted, data: Sample, index: NDArray[np.intp]) -> tuple[Floats, NDArray[np.intp]]:
    """Log speed of the runs `index` and the basis of each, corrections included."""
    batch = take(data.batch, index)
    place = locate(batch, build(model.values, data.gpus, model.cells).corrections)
    return log_speed(model.values, batch, data.gpus) + place.value, place.basis


@dataclass(frozen=True)
class CrossValidation:
    """Fits with parts left out, and what they say about the runs that they did not see."""

    whole: Fitted
    folds: Sequence[Fitted]
    residual: Floats
    basis: NDArray[np.intp]


def cross_validate(data: Sample, groups: NDArray[np.intp] | None = None) -> CrossValidation:
    """Leave out each fold (or each of `groups`) in turn."""
    parts = data.folds if groups is None else groups
    whole, theta = complete_fit(data, np.ones(len(data.runs), dtype=bool))
    fits, residual, basis = [], np.zeros(len(data.runs)), np.zeros(len(data.runs), dtype=np.intp)
    for part in range(int(parts.max()) + 1):
        seen = parts != part
        left = np.flatnonzero(~seen)
        model, _ = complete_fit(data, seen, theta)
        fits.append(model)
        log_predicted, basis[left] = predicted(model, data, left)
        residual[left] = data.measured[left] - log_predicted
    return CrossValidation(whole, fits, residual, basis)


def interval_rows(data: Sample, own: CrossValidation, away: CrossValidation) -> list[dict[str, object]]:
    """Quantiles of left-out log residuals by basis and kind. Where no run of the framework on the GPU is known, sources left out count
    as well, unless a source holds most runs of a kind and nothing is left to fit. Runs weigh so that a large source does not drown the
    others; a kind with too few runs takes its neighbours' bases, then those of MoE."""
    kinds = np.array([run.kind for run in data.runs])
    often = Counter((run.source, run.kind) for run in data.runs)
    weights = np.array([often[(run.source, run.kind)] ** -0.5 for run in data.runs])
    minor = np.array([2 * often[(run.source, run.kind)] <= int((kinds == run.kind).sum()) for run in data.runs])
    everyone = np.ones(len(kinds), dtype=bool)
    rows: list[dict[str, object]] = []
    for basis in range(len(BASES)):
        for kind in WIDTH_KINDS:
            for reach, wanted in ((0, kinds == kind), (1, kinds == kind), (1, kinds != "dense"), (2, everyone)):
                near = [np.abs(found.basis - basis) <= reach for found in (own, away)]
                masks = wanted & near[0], wanted & near[1] & minor & (basis < 2)
                if int(masks[0].sum() + masks[1].sum()) >= FEWEST:
                    break
            pool = np.concatenate([own.residual[masks[0]], away.residual[masks[1]]])
            low, high = _quantiles(pool, np.concatenate([weights[masks[0]], weights[masks[1]]]))
            row = {"basis": basis, "kind": kind, "runs": len(pool), "low": f"{low:.4f}", "high": f"{high:.4f}"}
            rows.append(row | {"meaning": BASES[basis]})
    return rows


def _quantiles(values: Floats, weights: Floats) -> tuple[float, float]:
    """Weighted quantiles that leave COVERED between them."""
    order = np.argsort(values)
    share = (np.cumsum(weights[order]) - 0.5 * weights[order]) / weights.sum()
    low, high = np.interp((0.5 - COVERED / 2, 0.5 + COVERED / 2), share, values[order])
    return float(low), float(high)


def write(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """A CSV file with the keys of the first row as columns."""
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def value_rows(fold: str, model: Fitted, errors: Mapping[str, float], runs: int) -> list[dict[str, object]]:
    """One row for each coefficient."""
    rows: list[dict[str, object]] = []
    for name, value in model.values.items():
        known = BY_NAME.get(name)
        prior = known.prior if known else _family_prior(name)[0]
        unit, meaning = (known.unit, known.meaning) if known else ("1", FAMILY_MEANINGS[name.partition("/")[0]])
        rows.append(
            {
                "fold": fold,
                "name": name,
                "value": f"{value:.5g}",
                "error": f"{errors[name]:.3f}",
                "prior": f"{prior:.5g}",
                "unit": unit,
                "runs": runs,
                "meaning": meaning,
                "source": SOURCE,
            }
        )
    return rows


def cell_rows(fold: str, model: Fitted) -> list[dict[str, object]]:
    """One row for each group correction."""
    return [
        {"fold": fold, "level": c.level, "key": c.key, "runs": f"{c.runs:.2f}", "value": f"{c.value:.4f}"}
        for c in model.cells
    ]


def main() -> int:
    """Fit, validate, store and print."""
    found, _ = runs(shipped_rows())
    data = sample([run for run in found if usable(run)])
    own = cross_validate(data)
    sources = sorted({run.source for run in data.runs})
    away = cross_validate(data, np.array([sources.index(run.source) for run in data.runs], dtype=np.intp))
    models = {"": own.whole} | {str(fold): model for fold, model in enumerate(own.folds)}
    sizes = {"": len(data.runs)} | {str(fold): int((data.folds != fold).sum()) for fold in range(FOLDS)}
    write(
        STORE / "training.csv",
        [row for fold, model in models.items() for row in value_rows(fold, model, own.whole.errors, sizes[fold])],
    )
    write(STORE / "training_corrections.csv", [row for fold, model in models.items() for row in cell_rows(fold, model)])
    write(STORE / "training_intervals.csv", interval_rows(data, own, away))
    for title, result in (("folds left out", own), ("whole sources left out", away)):
        sys.stdout.write(summary(title, data, result))
    return 0


def summary(title: str, data: Sample, result: CrossValidation) -> str:
    """Median and 90th percentile of the error by kind."""
    lines = [f"{title}\n"]
    kinds = np.array(
        [
            "dense" if run.kind == "dense" else "moe" if run.architecture.columns().is_moe else "hybrid"
            for run in data.runs
        ]
    )
    for kind in ("dense", "moe", "hybrid"):
        error = 100.0 * np.abs(np.expm1(-result.residual[kinds == kind]))
        lines.append(
            f"  {kind:8s} n {len(error):5d}  median {np.median(error):5.1f} %  p90 {np.quantile(error, 0.9):5.1f} %\n"
        )
    return "".join(lines)


if __name__ == "__main__":
    sys.exit(main())
