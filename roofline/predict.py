"""Questions in, predictions out: open layouts are enumerated, evaluated together, and the best that fits is
answered."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roofline.answers import answer, refusal_to_fit
from roofline.batches import batch_of, distinct_gpus
from roofline.calibration import Calibration
from roofline.columns import Batch
from roofline.errors import ScenarioError
from roofline.evaluate import Business, Evaluation, Row, evaluate, listed, rows
from roofline.hardware import Gpu
from roofline.intervals import Bounds, bounds
from roofline.layouts import Candidate, Options, options
from roofline.memory.constants import spreads
from roofline.question import Question
from roofline.remedies import remedies

Json = dict[str, Any]
Floats = NDArray[np.float64]
MOST_CANDIDATES = 50_000  # evaluated at once: bounds the memory of long lists


@dataclass
class Winners:
    """The chosen layouts of questions that were answered together, and what was computed for them: a row a choice."""

    batch: Batch
    result: Evaluation  # lists for columns
    gpus: tuple[Gpu, ...]
    count: int

    @cached_property
    def bounds(self) -> Bounds:
        """The error bars of all of them."""
        return bounds(self.batch, self.gpus, self.count)


@dataclass
class Choice:
    """The chosen layout of a question."""

    candidate: Candidate
    place: int
    winners: Winners
    productive: float  # utilization times goodput

    @property
    def gpus(self) -> tuple[Gpu, ...]:
        """What the codes of the batch index."""
        return self.winners.gpus

    @cached_property
    def batch(self) -> Batch:
        """The batch of this choice alone, shape ()."""
        return rows(self.winners.batch, self.place)

    @cached_property
    def result(self) -> Any:
        """What was computed for this choice: an Evaluation of plain numbers."""
        return Row(self.winners.result, self.place)

    @cached_property
    def fits(self) -> bool:
        """Whether it fits into memory."""
        return bool(self.result.memory.fits)

    @cached_property
    def total_bytes(self) -> float:
        """Memory of the fullest GPU."""
        return float(self.result.memory.total_bytes)


Chosen = Choice | ScenarioError


def predict(
    questions: Sequence[Question], *, calibration: Calibration | None = None, detail: bool = True
) -> list[Json | ScenarioError]:
    """Predictions in the order of `questions`; a ScenarioError where no layout is consistent with what is given.

    `detail` adds the operators and what would fit; a sweep does without.
    """
    answers: list[Json | ScenarioError] = [{} for _ in questions]
    gpus = distinct_gpus(questions)
    groups: dict[tuple[str, bool], list[int]] = {}
    for place, question in enumerate(questions):
        # Open loops take more iterations than closed ones: apart, neither waits for the other.
        rated = "inference.request_rate_per_s" in question.scenario.values
        groups.setdefault((question.scenario.workload, rated), []).append(place)
    for places in groups.values():
        asked = [questions[place] for place in places]
        chosen = choose(asked, calibration, gpus)
        repairs = _repairs(asked, chosen, calibration, gpus) if detail else {}
        for number, (place, choice) in enumerate(zip(places, chosen, strict=True)):
            answers[place] = _answer(questions[place], choice, repairs.get(number, []), detail=detail)
    return answers


def _answer(question: Question, choice: Chosen, repairs: list[Json], *, detail: bool) -> Json | ScenarioError:
    if isinstance(choice, ScenarioError):
        return choice
    if choice.fits:
        return answer(question, choice, detail=detail)
    return refusal_to_fit(question, choice, repairs)


def _repairs(
    questions: Sequence[Question], chosen: Sequence[Chosen], calibration: Calibration | None, gpus: tuple[Gpu, ...]
) -> dict[int, list[Json]]:
    """What would fit, for each question that does not; all tries are evaluated together."""
    misfits = [place for place, choice in enumerate(chosen) if isinstance(choice, Choice) and not choice.fits]
    if not misfits:
        return {}
    found = remedies([questions[place] for place in misfits], lambda tries: choose(tries, calibration, gpus))
    return dict(zip(misfits, found, strict=True))


def choose(questions: Sequence[Question], calibration: Calibration | None, gpus: tuple[Gpu, ...]) -> list[Chosen]:
    """The best layout of each question, all of one workload, their GPUs among `gpus`.

    The fewest GPUs that fit where their number is open, then the fastest.
    """
    found = [options(q.scenario, q.model, q.node, q.gpu.memory_bytes) for q in questions]
    chosen: list[Chosen] = []
    for span in _spans([one.size for one in found]):
        chosen += _choose(questions[span], found[span], calibration, gpus)
    return chosen


def _spans(sizes: Sequence[int]) -> list[slice]:
    """Cuts a list of questions so that no part has many more than MOST_CANDIDATES candidates."""
    spans, start, held = [], 0, 0
    for place, size in enumerate(sizes):
        held += size
        if held > MOST_CANDIDATES:
            spans.append(slice(start, place + 1))
            start, held = place + 1, 0
    return [*spans, slice(start, len(sizes))]


def _choose(
    questions: Sequence[Question], found: Sequence[Options], calibration: Calibration | None, gpus: tuple[Gpu, ...]
) -> list[Chosen]:
    sizes = [one.size for one in found]
    if not sum(sizes):
        return [_no_layout(question) for question in questions]
    owners = np.repeat(np.arange(len(questions)), sizes)
    batch = batch_of(questions, owners, np.concatenate([one.table for one in found]), gpus)
    slowdown = _slowdown(questions, calibration)[owners] if calibration else 1.0
    business = _business(questions, owners)
    if len(owners) == 1:  # numbers of shape () are several times faster than arrays of one
        batch, business, slowdown = rows(batch, 0), rows(business, 0), rows(slowdown, 0)
    result = evaluate(batch, gpus, business, slowdown=slowdown)
    order = _order(questions, owners, batch, result)
    winners, best = _winners(batch, result, gpus, sizes, order)
    chosen: list[Chosen] = []
    answered = 0
    for question, one, at in zip(questions, found, best, strict=True):
        if not one.size:
            chosen.append(_no_layout(question))
            continue
        productive = question.scenario.get("utilization") * question.scenario.get("goodput")
        chosen.append(Choice(one.candidate(at), answered, winners, productive))
        answered += 1
    return chosen


def _winners(
    batch: Batch, result: Evaluation, gpus: tuple[Gpu, ...], sizes: Sequence[int], order: NDArray[np.intp]
) -> tuple[Winners, list[int]]:
    """The best candidate of each question that has any, and which of its candidates that is (0 where it has none)."""
    if len(order) == 1:
        return Winners(batch, listed(result, 1), gpus, 1), [0 for _ in sizes]
    starts = np.cumsum([0, *sizes[:-1]]).tolist()
    best = [
        int(np.argmin(order[start : start + size])) if size > 1 else 0
        for start, size in zip(starts, sizes, strict=True)
    ]
    index = np.array([start + at for start, at, size in zip(starts, best, sizes, strict=True) if size])
    return Winners(rows(batch, index), listed(rows(result, index), len(index)), gpus, len(index)), best


def _business(questions: Sequence[Question], owners: NDArray[np.intp]) -> Business:
    prices = np.array([q.price.usd_per_gpu_hour if q.price else np.nan for q in questions])
    productive = np.array([q.scenario.get("utilization") * q.scenario.get("goodput") for q in questions])
    return Business(prices[owners], productive[owners])


def _slowdown(questions: Sequence[Question], calibration: Calibration) -> Floats:
    return np.array([calibration.slowdown(question) for question in questions])


def _order(questions: Sequence[Question], owners: NDArray[np.intp], batch: Batch, result: Evaluation) -> NDArray[Any]:
    """Rank of each candidate over the whole batch, 0 the best.

    Fitting before not, and for training those that still fit at the upper end of the memory's error before those that
    might not; of the fitting ones fewer GPUs first where their number is open, then the faster; else the least memory.
    """
    shape = owners.shape
    fits = np.broadcast_to(result.fits, shape)
    safe = fits
    if questions[0].scenario.workload == "training":
        memory = result.memory
        safe = fits & np.broadcast_to(
            memory.total_bytes * np.exp(spreads()["peak_memory"]) <= memory.capacity_bytes, shape
        )
    key = np.where(fits, batch.layout.gpus, np.broadcast_to(result.memory.total_bytes, shape))
    speed = np.broadcast_to(_merit(questions, owners, result), shape)
    order = np.lexsort((-speed, key, ~safe, ~fits))
    rank = np.empty(shape, dtype=np.intp)
    rank[order] = np.arange(len(order))
    return rank


def _merit(questions: Sequence[Question], owners: NDArray[np.intp], result: Evaluation) -> Floats:
    """What "fastest" means: tokens/s; for serving with limits, only where they are met."""
    speed = result.speed
    if questions[0].scenario.workload == "training":
        return np.asarray(speed.tokens_per_s_per_gpu, dtype=float)
    rated = np.array([question.scenario.get("inference.request_rate_per_s") is not None for question in questions])
    limits = {
        name: np.array([q.scenario.get(f"inference.slo.{name}", np.inf) for q in questions])[owners]
        for name in ("ttft_s", "tpot_s")
    }
    # Under a given request rate every layout that keeps up delivers the same tokens: the quicker answer wins.
    merit = speed.output_tokens_per_s / np.where(rated[owners], speed.e2e_latency_s, 1.0)
    meets = (speed.ttft_s <= limits["ttft_s"]) & (speed.tpot_s <= limits["tpot_s"])
    return np.asarray(np.where(meets, merit, merit * 1e-9), dtype=float)


def _no_layout(question: Question) -> ScenarioError:
    count = question.scenario.get("gpu_count")
    where = f"{count:,} GPUs" if count else "any number of GPUs tried"
    return ScenarioError({"parallelism": [f"No layout of this model on {where} is consistent with what is given."]})
