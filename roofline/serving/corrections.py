"""What the physics misses, as measured: offsets and slopes of ln(measured / predicted) by engine, GPU, model and number format.

Effects are fitted by ridge regression, so each is shrunk towards zero by how little was measured, and add up from the general
to the particular (engine; engine and GPU; engine, GPU and model …). A slope is per unit of the share that a part has of the predicted
time. A model is recognised by its exact number of parameters. What was never measured has no effect of its own and keeps those
of its engine, GPU family and kind of model.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from roofline.codes import BACKENDS, ENGINES, WEIGHT_FORMATS
from roofline.coefficients import family
from roofline.columns import Model
from roofline.hardware import Gpu
from roofline.selection import maximum, minimum, pick, some

Array = NDArray[np.floating[Any]]
Column = Any

QUANTITIES = ("decode", "saturated", "ttft", "ttft_open", "prefill")  # of time; a rate is its inverse
DECODE, SATURATED, TTFT, TTFT_OPEN, PREFILL = range(len(QUANTITIES))
KINDS = ("dense", "moe", "mla", "hybrid")
# How a point was measured: with which benchmark or back end. A scenario has its back end, or "open" where it gives a request rate.
VARIANTS = (
    "",
    "sweep",
    "mlperf",
    "static",
    "emulated",
    "open",
    *BACKENDS[1:],
)
FIRST_BACKEND = VARIANTS.index(BACKENDS[1])
OPEN = VARIANTS.index("open")
FEATURES = ("intercept", "first", "second", "third", "fourth")  # an offset and the shares of SHARES
# Which parts of a time the slopes of a quantity belong to, and what is taken off each share so that offsets speak of a usual case.
SHARES = {
    "step": {"experts": 0.1, "attention": 0.15, "overhead": 0.3, "prompts": 0.2},  # of the mean step: decode, saturated
    "first": {"request": 0.1, "steps": 0.2, "overhead": 0.2, "ahead": 0.2},  # of the time to the first token
    "pass": {"experts": 0.1, "attention": 0.1, "overhead": 0.2},  # of a prefill pass
}
# A time T of parts T_k, corrected to T exp(sum a_k T_k / T), grows with each part as long as no two slopes (nor a slope and the 0 of the
# rest) are further apart than 1: then a correction never makes more work, or slower hardware, look faster.
STEEPEST = 0.48
# What each group of effects is keyed by: e engine, v variant, f GPU family, g GPU, k kind of model, m model, w weight format.
GROUPS = ("e", "ev", "ef", "ek", "ew", "eg", "em", "gw", "ekw", "efw", "egm", "evk", "egk")


@dataclass(frozen=True)
class Corrections:
    """Effects summed into tables of shape (quantities, …, features), bound to a catalogue of GPUs."""

    by_gpu: Array  # (quantities, engines, GPUs, weight formats) in one axis, features
    by_model: Array  # (quantities, engines, GPUs, models) in one axis, features
    by_format: Array  # (quantities, engines, models, weight formats) in one axis, features
    by_variant: Array  # (quantities, engines, variants, kinds, features): what a variant adds to the plain one
    gpus: int
    models: int
    sizes: Array  # parameters of the known models, ascending
    near: NDArray[
        np.int8
    ]  # (engines, GPUs, models): 2 that model was measured there, 1 the engine with the GPU or the model, 0 neither

    def model_index(self, model: Model, kind: Column) -> Column:
        """Position of each model in the tables: known models first, then the four kinds."""
        known = np.searchsorted(self.sizes, model.total_params)
        known = minimum(known, len(self.sizes) - 1)
        return pick(self.sizes[known] == model.total_params, known, len(self.sizes) + kind)

    def slopes(self, quantity: Column, where: "Place") -> Array:
        """Offset and slopes of one quantity, features last; slopes within STEEPEST."""
        head = quantity * len(ENGINES) + where.engine
        place = head * self.gpus + where.gpu
        formats = len(WEIGHT_FORMATS)
        slopes: Array = self.by_gpu.take(place * formats + where.weights, axis=0)
        slopes = slopes + self.by_model.take(place * self.models + where.model, axis=0)
        slopes = slopes + self.by_format.take((head * self.models + where.model) * formats + where.weights, axis=0)
        if some(where.variant):
            slopes = slopes + self.by_variant[quantity, where.engine, where.variant, where.kind]
        steep = slopes[..., 1:]
        np.clip(steep, -STEEPEST, STEEPEST, out=steep)
        return slopes


class Place(NamedTuple):
    """Codes of scenarios into the tables."""

    engine: Column
    gpu: Column
    model: Column
    weights: Column
    variant: Column
    kind: Column


def kind_code(model: Model) -> Column:
    """Code into KINDS."""
    return pick(model.is_hybrid > 0, 3, pick(model.is_mla > 0, 2, pick(model.is_moe > 0, 1, 0)))


def factor(slopes: Array, total: Column, parts: Sequence[Column], shares: str) -> Column:
    """exp of a correction: `slopes` of a time `total` whose `parts` are those that SHARES names."""
    inverse = 1.0 / total
    exponent, *rest = slopes.T[: len(parts) + 1]  # of one scenario: plain numbers
    for slope, part, usual in zip(rest, parts, SHARES[shares].values(), strict=True):
        exponent = exponent + slope * (part * inverse - usual)
    return np.exp(exponent)


Effects = dict[tuple[str, str, str], Array]  # (quantity, group, level) to the values of FEATURES


@cache
def shipped(fold: str = "") -> Effects:
    """The shipped effects of one fold; blank: fitted on all reference points."""
    with resources.files("roofline").joinpath("coefficients/serving_corrections.csv").open(encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines) if row["fold"] == fold]
    return {
        (row["quantity"], row["group"], row["level"]): np.array([float(row[name]) for name in FEATURES]) for row in rows
    }


def build(effects: Effects, gpus: Sequence[Gpu], kinds: dict[str, str]) -> Corrections:
    """Tables for `gpus`. `kinds` gives the kind of each known model by its number of parameters, as text."""
    sizes = sorted(kinds, key=int)
    models = [*((size, kinds[size]) for size in sizes), *(("", kind) for kind in KINDS)]
    slugs = [(gpu.slug, family(gpu)) for gpu in gpus]
    places = {"e": ENGINES, "w": WEIGHT_FORMATS, "v": VARIANTS, "k": KINDS}
    shape_g = (len(QUANTITIES), len(ENGINES), len(gpus), len(WEIGHT_FORMATS), len(FEATURES))
    shape_m = (len(QUANTITIES), len(ENGINES), len(gpus), len(models), len(FEATURES))
    shape_w = (len(QUANTITIES), len(ENGINES), len(models), len(WEIGHT_FORMATS), len(FEATURES))
    shape_v = (len(QUANTITIES), len(ENGINES), len(VARIANTS), len(KINDS), len(FEATURES))
    by_gpu, by_model, by_format, by_variant = (np.zeros(shape) for shape in (shape_g, shape_m, shape_w, shape_v))
    near = np.zeros((len(ENGINES), len(gpus), len(models)), dtype=np.int8)
    on_gpu = {slug: [i for i, (own, _) in enumerate(slugs) if own == slug] for slug, _ in slugs}
    in_family = {group: [i for i, (_, own) in enumerate(slugs) if own == group] for _, group in slugs}
    of_kind = {kind: [i for i, (_, own) in enumerate(models) if own == kind] for kind in KINDS}
    of_size = {size: [i] for i, (size, _) in enumerate(models) if size}
    everything = slice(None)
    for (quantity, group, level), values in effects.items():
        if quantity not in QUANTITIES:
            continue
        key = dict(zip(group, level.split("|"), strict=True))
        q = QUANTITIES.index(quantity)
        e: Any = places["e"].index(key["e"]) if "e" in key else everything
        g: Any = on_gpu.get(key["g"], []) if "g" in key else in_family.get(key["f"], []) if "f" in key else everything
        m: Any = of_size.get(key["m"], []) if "m" in key else of_kind[key["k"]] if "k" in key else everything
        w: Any = places["w"].index(key["w"]) if "w" in key else everything
        if "v" in key:
            k: Any = KINDS.index(key["k"]) if "k" in key else everything
            by_variant[q, e, VARIANTS.index(key["v"]), k] += values
            if not key["v"]:  # what a scenario gets; measured variants get the difference
                by_model[q, e, :, m] += values
        elif "w" in key and "k" in key:
            by_format[q, e, m, w] += values
        elif "m" in key or "k" in key:
            by_model[(q, e, g, m) if isinstance(g, slice) or isinstance(m, slice) else (q, e, *np.ix_(g, m))] += values
        else:
            by_gpu[q, e, g, w] += values
        if quantity in ("decode", "saturated") and group in ("eg", "em", "egm"):
            rank = 2 if group == "egm" else 1
            cells = (e, g, m) if isinstance(g, slice) or isinstance(m, slice) else (e, *np.ix_(g, m))
            near[cells] = maximum(near[cells], rank)
    by_variant -= by_variant[:, :, :1].copy()
    width = len(FEATURES)
    return Corrections(
        by_gpu.reshape(-1, width).astype(np.float32),
        by_model.reshape(-1, width).astype(np.float32),
        by_format.reshape(-1, width).astype(np.float32),
        by_variant.astype(np.float32),
        len(gpus),
        len(models),
        np.array([float(size) for size in sizes]),
        near,
    )
