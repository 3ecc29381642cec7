"""Questions in, predictions out: layouts that are left open are enumerated, evaluated together, and the best that
fits is answered."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roofline.answers import answer, refusal_to_fit
from roofline.batches import batch_of, distinct_gpus
from roofline.calibration import Calibration
from roofline.columns import Batch
from roofline.errors import ScenarioError
from roofline.evaluate import Business, Evaluation, evaluate, rows
from roofline.layouts import Candidate, candidates
from roofline.question import Question

Json = dict[str, Any]


@dataclass
class Choice:
    """The chosen layout of a question with what was computed for it, shape ()."""

    candidate: Candidate
    batch: Batch
    result: Evaluation
    gpus: tuple[Any, ...]
    productive: float  # utilization times goodput


def predict(
    questions: Sequence[Question], *, calibration: Calibration | None = None, detail: bool = True
) -> list[Json]:
    """Predictions in the order of `questions`; an error object where no layout is consistent with what is given.

    `detail` adds the operators and what would fit; a sweep does without.
    """
    answers: list[Json] = [{} for _ in questions]
    for workload in ("training", "inference"):
        places = [place for place, question in enumerate(questions) if question.scenario.workload == workload]
        chosen = choose([questions[place] for place in places], calibration)
        for place, choice in zip(places, chosen, strict=True):
            answers[place] = _answer(questions[place], choice, calibration, detail=detail)
    return answers


def _answer(
    question: Question, choice: Choice | ScenarioError, calibration: Calibration | None, *, detail: bool
) -> Json:
    if isinstance(choice, ScenarioError):
        return error_json(choice)
    if bool(choice.result.fits):
        return answer(question, choice, detail=detail)
    return refusal_to_fit(question, choice, calibration, detail=detail)


def error_json(error: ScenarioError) -> Json:
    """The error object of every face."""
    path, sentences = next(iter(error.fields.items()), ("", ["Invalid scenario."]))
    message = f"{path}: {sentences[0]}" if path else sentences[0]
    return {"error": {"code": error.code, "message": message, "fields": error.fields}}


def choose(questions: Sequence[Question], calibration: Calibration | None = None) -> list[Choice | ScenarioError]:
    """The best layout of each question (all of one workload): the fewest GPUs that fit where their number is open,
    then the fastest."""
    options: list[Candidate] = []
    owners: list[int] = []
    starts = [0]
    for place, question in enumerate(questions):
        found = candidates(question.scenario, question.model, question.node)
        options += found
        owners += [place] * len(found)
        starts.append(len(options))
    if not options:
        return [_no_layout(question) for question in questions]
    index = np.array(owners, dtype=np.intp)
    gpus = distinct_gpus(questions)
    batch = batch_of(questions, index, options)
    result = evaluate(batch, gpus, _business(questions, index), slowdown=_slowdown(questions, calibration)[index])
    choices: list[Choice | ScenarioError] = []
    for place, question in enumerate(questions):
        span = slice(starts[place], starts[place + 1])
        if span.start == span.stop:
            choices.append(_no_layout(question))
            continue
        best = span.start + _best(question, options[span], rows(result, span))  # type: ignore[arg-type]
        productive = question.scenario.get("utilization") * question.scenario.get("goodput")
        choices.append(Choice(options[best], rows(batch, best), rows(result, best), gpus, productive))
    return choices


def _business(questions: Sequence[Question], index: NDArray[np.intp]) -> Business:
    prices = np.array([q.price.usd_per_gpu_hour if q.price else np.nan for q in questions])
    productive = np.array([q.scenario.get("utilization") * q.scenario.get("goodput") for q in questions])
    return Business(prices[index], productive[index])


def _slowdown(questions: Sequence[Question], calibration: Calibration | None) -> NDArray[np.float64]:
    if calibration is None:
        return np.ones(len(questions))
    return np.array([calibration.slowdown(question) for question in questions])


def _best(question: Question, options: Sequence[Candidate], result: Evaluation) -> int:
    """Position of the best candidate: fitting before not, fewer GPUs first where the number is open, then speed;
    else least memory."""
    fits = np.broadcast_to(result.fits, (len(options),))
    if not fits.any():
        return int(np.argmin(np.broadcast_to(result.memory.total_bytes, (len(options),))))
    sizes = np.array([option.gpus for option in options])
    speed = _merit(question, result)
    return int(np.lexsort((-speed, sizes, ~fits))[0])


def _merit(question: Question, result: Evaluation) -> NDArray[np.float64]:
    """What "fastest" means: tokens/s; for serving with limits, only where they are met."""
    if question.scenario.workload == "training":
        return np.asarray(result.speed.tokens_per_s_per_gpu, dtype=float)
    speed = result.speed
    # Under a given request rate every layout that keeps up delivers the same tokens: the quicker answer wins.
    merit = np.asarray(speed.output_tokens_per_s, dtype=float) / np.where(
        question.scenario.get("inference.request_rate_per_s"), speed.e2e_latency_s, 1.0
    )
    ttft, tpot = (
        question.scenario.get("inference.slo.ttft_s", np.inf),
        question.scenario.get("inference.slo.tpot_s", np.inf),
    )
    meets = (speed.ttft_s <= ttft) & (speed.tpot_s <= tpot)
    return np.where(meets, merit, merit * 1e-9)


def _no_layout(question: Question) -> ScenarioError:
    count = question.scenario.get("gpu_count")
    where = f"{count:,} GPUs" if count else "any number of GPUs tried"
    return ScenarioError({"parallelism": [f"No layout of this model on {where} is consistent with what is given."]})
