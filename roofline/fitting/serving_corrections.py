"""Ridge regression of what the physics of serving misses: shrunken offsets and slopes by engine, GPU, model and format.

Every effect has a prior of mean 0; an effect of n points with mean residual r ends near n r / (n + kappa), kappa being noise over prior
variance. Points of one configuration share an error that is not their noise: it is a nuisance effect, estimated and left out. The normal
equations are solved in their dual form (points, not effects), reweighted for robustness.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from roofline.coefficients import family
from roofline.fitting.serving_fit import UNSTATED, Problem
from roofline.serving.coefficients import ServingCoefficients
from roofline.serving.corrections import FEATURES, GROUPS, SHARES, Effects
from roofline.serving.parts import Parts, first_parts, pass_parts, step_parts
from roofline.serving.prediction import scene
from roofline.serving.schedule import first_token, opening_burst, settle
from roofline.validation.serving_table import Run

Array = NDArray[np.float64]

# Which comparisons inform which correction, and with which sign: corrections are of times, a rate is their inverse.
INFORMS = {
    "tpot": ("decode", 1.0),
    "tpot_open_loop": ("decode", 1.0),
    "batch1_tokens_per_s": ("decode", -1.0),
    "output_tokens_per_s": ("decode", -1.0),  # where no TPOT is published
    "offline_tokens_per_s": ("saturated", -1.0),
    "ttft": ("ttft", 1.0),
    "ttft_open_loop": ("ttft_open", 1.0),
    "server_tpot": ("decode", 1.0),
    "server_ttft": ("ttft_open", 1.0),
    "prefill_tokens_per_s": ("prefill", -1.0),
}
# Standard deviations of the priors, in logarithm: of an offset and of a slope. What a single model shows on a GPU says less about its
# engine than about itself: with wide priors on what is shared, left-out models are predicted worse than by the physics alone.
PRIOR = {
    "e": (0.04, 0.03),
    "ev": (0.05, 0.05),
    "ef": (0.035, 0.02),
    "ek": (0.04, 0.025),
    "ew": (0.035, 0.02),
    "eg": (0.045, 0.02),
    "em": (0.12, 0.10),
    "gw": (0.025, 0.0),
    "ekw": (0.03, 0.015),
    "efw": (0.03, 0.015),
    "egm": (0.10, 0.06),
    "evk": (0.04, 0.02),
    "egk": (0.04, 0.02),
}
# Where the physics is further off, priors are as many times wider; an engine's offset in particular where few points tell of it.
WIDER = {"decode": 1.0, "saturated": 1.4, "ttft": 1.3, "ttft_open": 1.6, "prefill": 1.6}
ENGINE_WIDER = {"ttft_open": 4.0}
NOISE = 0.18
SHARED = 0.06  # of the error that all points of a configuration share
ROUNDS = 4
OUTLIER = 2.0  # standard deviations from which a point counts less
# Logarithm: what is further off than that is another thing than was predicted (a queue that the row does not tell of). Prefill on
# shared-memory devices is that far off by its back end.
FURTHEST = {"prefill": 2.0}
FURTHEST_USUAL = 0.8
SMALLEST = 5e-4  # effects below it are not kept
MOST_POINTS = 12  # of one configuration and quantity


def attributes(run: Run) -> dict[str, str]:
    """The keys of GROUPS of a run."""
    return {
        "e": run.engine,
        "v": run.variant,
        "f": family(run.gpu),
        "g": run.gpu.slug,
        "k": run.kind,
        "m": str(run.architecture.total_params),
        "w": run.formats.weights,
    }


def run_features(p: Problem, c: ServingCoefficients) -> dict[str, Array]:
    """Offset and centred shares of every run, by the quantity that they are slopes of: shape (runs, features)."""
    s = scene(p.batch, p.room, c)
    state = settle(s.costs, s.pools, s.load, s.speculation, s.habits)
    token = first_token(state, s.habits, s.load, s.pools)
    step = _shares(p, step_parts(state), "step")
    closed = _shares(p, first_parts(state, token, s.habits, opening_burst(state, s.habits, s.load)), "first")
    steady = _shares(p, first_parts(state, token, s.habits, 0.0), "first")
    prefill = _shares(p, pass_parts(state), "pass")
    return {"decode": step, "saturated": step, "ttft": closed, "ttft_open": steady, "prefill": prefill}


def _shares(p: Problem, time: Parts, shares: str) -> Array:
    x = np.zeros((len(p.runs), len(FEATURES)))
    x[:, 0] = 1.0
    for i, (part, usual) in enumerate(zip(time.parts, SHARES[shares].values(), strict=True), 1):
        x[:, i] = part / time.total - usual
    return x


def fit_effects(p: Problem, predicted: Array, x: Mapping[str, Array], used: NDArray[np.bool_]) -> Effects:
    """Effects on the points `used`. `predicted` is the physics alone, `x` the features of the runs by quantity."""
    effects: Effects = {}
    for quantity in dict.fromkeys(name for name, _ in INFORMS.values()):
        signs = {name: sign for name, (target, sign) in INFORMS.items() if target == quantity}
        at = np.array([i for i in np.flatnonzero(used) if p.quantity[i] in signs and _informs(p, int(i))])
        if len(at) == 0:
            continue
        at, noise = _thinned(p, at)
        furthest = FURTHEST.get(quantity, FURTHEST_USUAL)
        residual = np.clip(np.log(p.measured[at] / predicted[at]), -furthest, furthest) * np.array(
            [signs[str(p.quantity[i])] for i in at]
        )
        runs = [p.runs[i] for i in p.rows[at]]
        found = _ridge(runs, x[quantity][p.rows[at]], residual, noise, _prior(quantity))
        effects |= {(quantity, *key): values for key, values in found.items()}
    return effects


def _informs(p: Problem, i: int) -> bool:
    """Output tokens/s are derived from TTFT and TPOT where those are published: they say nothing new.

    Nor does a point that leaves open what was run.
    """
    run = p.runs[p.rows[i]]
    return run.variant not in UNSTATED and (p.quantity[i] != "output_tokens_per_s" or "tpot" not in run.measured)


def _configuration(run: Run) -> tuple[Any, ...]:
    return (run.model, run.gpu.slug, run.gpus, run.formats.weights, run.engine, run.variant)


def _thinned(p: Problem, at: NDArray[np.intp]) -> tuple[NDArray[np.intp], Array]:
    """At most MOST_POINTS of a configuration, spread over its range, with the noise of each: one that stands for several is less noisy."""
    cells: dict[Any, list[int]] = {}
    for i in at:
        cells.setdefault((*_configuration(p.runs[p.rows[i]]), p.quantity[i]), []).append(int(i))
    kept, noise = [], []
    for places in cells.values():
        places.sort(key=lambda i: float(p.measured[i]))
        chosen = np.unique(np.linspace(0, len(places) - 1, min(len(places), MOST_POINTS)).round().astype(int))
        kept += [places[i] for i in chosen]
        noise += [NOISE * np.sqrt(len(chosen) / len(places))] * len(chosen)
    return np.array(kept), np.array(noise)


def _prior(quantity: str) -> dict[str, tuple[float, float]]:
    """Priors of the effects on one quantity."""
    wider = {group: (WIDER[quantity] * offset, WIDER[quantity] * slope) for group, (offset, slope) in PRIOR.items()}
    offset, slope = wider["e"]
    return wider | {"e": (offset * ENGINE_WIDER.get(quantity, 1.0), slope)}


def _ridge(
    runs: Sequence[Run], x: Array, residual: Array, noise: Array, prior: dict[str, tuple[float, float]]
) -> dict[tuple[str, str], Array]:
    design, names = _design(runs, x, prior)
    _, same = np.unique([str(_configuration(run)) for run in runs], return_inverse=True)
    kernel = (design @ design.T).toarray() + SHARED**2 * (same[:, None] == same[None, :])
    weight = np.ones(len(residual))
    dual = np.zeros(len(residual))
    for _ in range(ROUNDS):
        dual = np.linalg.solve(kernel + np.diag(noise**2 / weight), residual)
        left = (residual - kernel @ dual) / noise
        weight = 1.0 / np.maximum(1.0, np.abs(left) / OUTLIER)
    solution = design.T @ dual
    found: dict[tuple[str, str], Array] = {}
    for (group, level, feature), value in zip(names, solution, strict=True):
        slope = prior[group][0 if feature == 0 else 1]
        found.setdefault((group, level), np.zeros(len(FEATURES)))[feature] = value * slope
    return {
        key: values
        for key, values in found.items()
        if np.max(np.abs(values)) > SMALLEST or key[0] in ("eg", "em", "egm")
    }


def _design(
    runs: Sequence[Run], x: Array, prior: dict[str, tuple[float, float]]
) -> tuple[Any, list[tuple[str, str, int]]]:
    """Sparse matrix (points, effects), each column scaled by its prior, and the names of its columns."""
    places: dict[tuple[str, str, int], int] = {}
    entries: list[tuple[int, int, float]] = []
    for i, run in enumerate(runs):
        keys = attributes(run)
        for group in GROUPS:
            level = "|".join(keys[letter] for letter in group)
            for feature in range(len(FEATURES)):
                scale = prior[group][0 if feature == 0 else 1]
                if scale:
                    column = places.setdefault((group, level, feature), len(places))
                    entries.append((i, column, scale * x[i, feature]))
    rows, columns, values = zip(*entries, strict=True)
    return sparse.csr_matrix((values, (rows, columns)), shape=(len(runs), len(places))), list(places)
