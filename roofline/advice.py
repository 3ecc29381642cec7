"""What would help most: single changes to a scenario, each predicted, ranked by what they gain in tokens/s for
each dollar or GPU."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from roofline.calibration import Calibration
from roofline.errors import ScenarioError
from roofline.hardware import Gpu
from roofline.predict import Choice, choose
from roofline.question import Question, changed

MOST = 5
WORTH = 0.02  # gains under 2 % are within any error bar


@dataclass(frozen=True)
class Advice:
    """One change. `gain` is the relative rise of tokens/s per GPU; `risk` says what it may cost besides money."""

    label: str
    change: dict[str, Any]  # path -> value
    gain: float
    risk: str = ""


@dataclass(frozen=True)
class _Idea:
    label: str
    change: dict[str, Any]
    risk: str = ""
    gpu: Gpu | None = None
    relaid: bool = False


LESS_EXACT = "Fewer bits: check the accuracy on your own task."
QUALITY = {"fp8": "About 99 % of 16-bit accuracy is usual.", "nvfp4": LESS_EXACT, "int4_g128": LESS_EXACT}


def advise(
    question: Question, now: float, others: Sequence[Gpu] = (), calibration: Calibration | None = None
) -> list[Advice]:
    """The changes that gain most over `now` tokens/s per GPU. `others`: GPUs worth a try."""
    tries: list[tuple[_Idea, Question]] = []
    for idea in (*_ideas(question), *_other_hardware(others)):
        with suppress(ScenarioError):  # an idea that contradicts what is given is none
            tries.append((idea, changed(question, idea.change, gpu=idea.gpu, relaid=idea.relaid)))
    choices = choose([asked for _, asked in tries], calibration) if tries else []
    found = [
        Advice(
            idea.label, idea.change | ({"gpu": idea.gpu.slug} if idea.gpu else {}), rate(choice) / now - 1.0, idea.risk
        )
        for (idea, _), choice in zip(tries, choices, strict=True)
        if not isinstance(choice, ScenarioError) and bool(choice.result.fits)
    ]
    return sorted((one for one in found if one.gain > WORTH), key=lambda one: -one.gain)[:MOST]


def rate(choice: Choice) -> float:
    """tokens/s per GPU: output tokens when serving."""
    speed = choice.result.speed
    return float(getattr(speed, "output_tokens_per_s_per_gpu", None) or speed.tokens_per_s_per_gpu)


def _ideas(question: Question) -> Iterator[_Idea]:
    yield from _training_ideas(question) if question.scenario.workload == "training" else _serving_ideas(question)
    yield _Idea("The planner's own layout", {}, relaid=True)


def _serving_ideas(question: Question) -> Iterator[_Idea]:
    scenario, gpu = question.scenario, question.gpu
    weights = scenario.get("inference.weights")
    if weights in ("bf16", "fp16", "fp32"):
        yield _Idea("FP8 weights", {"inference.weights": "fp8"}, QUALITY["fp8"])
    if not weights.startswith(("nvfp4", "int4", "mxfp4", "q")):
        four = "nvfp4" if gpu.peak("fp4") else "int4_g128"
        yield _Idea("4-bit weights", {"inference.weights": four}, QUALITY[four])
    if scenario.get("inference.kv_cache") in ("bf16", "fp16") and gpu.peak("fp8"):
        yield _Idea("FP8 KV cache", {"inference.kv_cache": "fp8"}, QUALITY["fp8"])
    if not scenario.get("inference.speculative.draft_tokens"):
        drafts = {"inference.speculative.draft_tokens": 3, "inference.speculative.acceptance": 0.7}
        yield _Idea("Speculative decoding (3 drafts, 70 % accepted)", drafts, "Depends on how predictable the text is.")
    concurrency = scenario.get("inference.concurrency")
    if isinstance(concurrency, int):
        yield _Idea("Twice the concurrency", {"inference.concurrency": 2 * concurrency}, "Each request gets slower.")
    yield from _missing_levers(question, ("cuda_graphs", "continuous_batching", "chunked_prefill", "paged_attention"))


def _training_ideas(question: Question) -> Iterator[_Idea]:
    scenario, gpu = question.scenario, question.gpu
    if scenario.get("training.precision") in ("bf16", "fp16") and gpu.peak("fp8"):
        yield _Idea("FP8 training", {"training.precision": "fp8"}, "Watch the loss: some layers may need 16 bit.")
    for recompute in ("none", "selective"):
        if scenario.get("training.recompute") not in ("none", recompute):
            yield _Idea(f"Recompute {recompute}", {"training.recompute": recompute})
    micro = scenario.get("training.micro_batch")
    if micro:
        yield _Idea(f"Micro-batch {2 * micro}", {"training.micro_batch": 2 * micro})
    yield from _missing_levers(question, ("flash_attention_2", "fused_kernels", "comm_overlap", "torch_compile"))
    if scenario.get("training.padding_fraction"):
        yield from _missing_levers(question, ("sequence_packing",))


def _missing_levers(question: Question, names: Sequence[str]) -> Iterator[_Idea]:
    on = question.scenario.get("optimizations")
    for name in names:
        if name not in on:
            yield _Idea(name.replace("_", " ").capitalize(), {"optimizations": (*on, name)})


def _other_hardware(others: Sequence[Gpu]) -> Iterator[_Idea]:
    for gpu in others:
        yield _Idea(gpu.name, {}, "Other hardware, another price.", gpu=gpu, relaid=True)
