"""What would make a scenario fit that does not: single changes, evaluated together, the nearest first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from typing import TYPE_CHECKING, Any

from roofline.errors import ScenarioError
from roofline.fields import MOST_GPUS
from roofline.layouts import TRIED_COUNTS, fewest_gpus
from roofline.question import LAYOUT, Question, changed

if TYPE_CHECKING:
    from roofline.predict import Choice, Chosen

Json = dict[str, Any]
Change = dict[str, Any]  # path -> value

MOST = 3
# Weight formats worth a try, with the arithmetic that the hardware must have for them.
SMALLER_WEIGHTS = {"fp8": "fp8", "int8": "int8", "nvfp4": "fp4", "int4_g128": ""}
LIGHTER_METHODS = {"full_finetune": ("lora", "qlora"), "lora": ("qlora",)}


def remedies(questions: Sequence[Question], choose: Callable[[list[Question]], list[Chosen]]) -> list[list[Json]]:
    """Up to three changes that fit for each question, each as the nested change of a scenario with its memory and
    price.

    `choose` answers the tries of all questions in one call. More GPUs are tried last, one number after the other.
    """
    found: list[list[Json]] = [[] for _ in questions]
    _try(
        questions,
        [(place, change) for place, question in enumerate(questions) for change in _changes(question)],
        choose,
        found,
    )
    _grow(questions, list(range(len(questions))), [{} for _ in questions], choose, found)
    # What was given may stand in the way on any number of GPUs: then it goes along.
    stuck = [place for place, entries in enumerate(found) if not entries and _settled(questions[place])]
    _grow(questions, stuck, [_settled(question) for question in questions], choose, found)
    return [_nearest(entries) for entries in found]


def _grow(
    questions: Sequence[Question],
    places: list[int],
    besides: Sequence[Change],
    choose: Callable[[list[Question]], list[Chosen]],
    found: list[list[Json]],
) -> None:
    """Tries more and more GPUs, with the changes `besides` of each question, until one number fits."""
    counts = {place: _larger_counts(questions[place]) for place in places}
    for step in range(TRIED_COUNTS):
        larger = [(place, counts[place][step]) for place in places if step < len(counts[place])]
        grown = [(place, besides[place] | {"gpu_count": count, "parallelism": "chosen"}) for place, count in larger]
        fitting = _try(questions, grown, choose, found)
        places = [place for place, _ in larger if place not in fitting]


def _try(
    questions: Sequence[Question],
    changes: Sequence[tuple[int, Change]],
    choose: Callable[[list[Question]], list[Chosen]],
    found: list[list[Json]],
) -> set[int]:
    """Adds the changes that fit to `found`; returns the places of their questions."""
    tries = [(place, change, asked) for place, change in changes for asked in _changed(questions[place], change)]
    fitting = set()
    for (place, change, _), choice in zip(tries, choose([asked for *_, asked in tries]), strict=True):
        if not isinstance(choice, ScenarioError) and choice.fits:
            found[place].append(_described(questions[place], change, choice))
            fitting.add(place)
    return fitting


def _changed(question: Question, change: Change) -> Iterator[Question]:
    values = {path: value for path, value in change.items() if path != "parallelism"}
    with suppress(ScenarioError):  # a change that contradicts what is given is none
        yield changed(question, values, relaid="parallelism" in change)


def _changes(question: Question) -> Iterator[Change]:
    """What may help on the same GPUs. What the planner chose it has chosen to fit: only given values are worth
    another try."""
    scenario = question.scenario
    given = {path for path, origin in scenario.origins.items() if origin == "given"}
    laid_out = bool(given.intersection(LAYOUT))
    if laid_out:
        yield {"parallelism": "chosen"}
    if scenario.workload == "training":
        settled = _settled(question)
        yield from ({path: value} for path, value in settled.items())
        if "parallelism.zero_stage" in given:
            yield {"parallelism.zero_stage": 3}
        if settled:
            yield settled | {"parallelism": "chosen"}
        yield from ({"training.method": method} for method in LIGHTER_METHODS.get(scenario.get("training.method"), ()))
    else:
        yield from _serving_changes(question)


LIGHTER = {"training.recompute": "full", "training.micro_batch": 1}


def _settled(question: Question) -> Change:
    """The lighter values of what was given heavier than need be."""
    return {path: value for path, value in LIGHTER.items() if question.scenario.origins.get(path) == "given"}


def _serving_changes(question: Question) -> Iterator[Change]:
    scenario = question.scenario
    stored = scenario.get("inference.weights")
    for weights, peak in SMALLER_WEIGHTS.items():
        if weights != stored and (not peak or question.gpu.peak(peak)):
            yield {"inference.weights": weights}
    yield {"inference.kv_cache": "fp8"}
    needed = scenario.get("inference.input_tokens") + scenario.get("inference.output_tokens")
    if needed < scenario.get("inference.max_model_len"):
        yield {"inference.max_model_len": needed}


def _larger_counts(question: Question) -> list[int]:
    """Doublings of the number of GPUs, from the first that can fit on."""
    gpus = question.scenario.get("gpu_count")
    if not gpus:
        return []
    fewest = fewest_gpus(question.scenario, question.model, question.gpu.memory_bytes)
    doublings = [gpus * 2**power for power in range(1, MOST_GPUS.bit_length())]
    return [count for count in doublings if fewest <= count <= MOST_GPUS][:TRIED_COUNTS]


def _described(question: Question, change: Change, choice: Choice) -> Json:
    laid = choice.candidate
    nested: Json = {}
    for path, value in change.items():
        if path == "parallelism":
            nested["parallelism"] = _layout_change(question, choice)
        else:
            _plant(nested, path.split("."), value)
    if laid.gpus != question.scenario.get("gpu_count"):
        nested["gpu_count"] = laid.gpus
    price = question.price.usd_per_gpu_hour * laid.gpus if question.price else None
    return {"change": nested, "total_bytes": round(choice.total_bytes), "usd_per_hour": price}


def _layout_change(question: Question, choice: Choice) -> Json:
    laid = choice.candidate
    names = ("tp", "pp", "cp", "dp", "ep") if laid.ep > 1 else ("tp", "pp", "cp", "dp")
    now = {name: question.scenario.get(f"parallelism.{name}") for name in names}
    return {name: getattr(laid, name) for name in names if getattr(laid, name) != now[name]}


def _plant(tree: Json, keys: list[str], value: Any) -> None:
    for key in keys[:-1]:
        tree = tree.setdefault(key, {})
    tree[keys[-1]] = value


def _nearest(found: list[Json]) -> list[Json]:
    """The cheapest, without two of the same kind."""
    ordered = sorted(found, key=lambda entry: entry["usd_per_hour"] or entry["change"].get("gpu_count", 0))
    kinds: dict[tuple[str, ...], Json] = {}
    for entry in ordered:
        kinds.setdefault(_kind(entry["change"]), copy(entry))
    return list(kinds.values())[:MOST]


def _kind(change: Json) -> tuple[str, ...]:
    return tuple(
        sorted(
            key if not isinstance(value, dict) else f"{key}.{next(iter(value), '')}" for key, value in change.items()
        )
    )
