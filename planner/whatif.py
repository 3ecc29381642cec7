"""Around one answer: its speed over load or scale, and what would help most. All variants are predicted in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from planner.forms import words
from planner.present import value_at, workload_of
from planner.queries import changed, query_of, without_backend
from planner.selectors import predictions_of

Scenario = Mapping[str, Any]
Result = Mapping[str, Any]

CONCURRENCIES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
MOST_SHOWN = 5
SMALLEST_GAIN = 0.02
FEWER_BITS = gettext_lazy("Fewer bits: check the accuracy on your own task.")
OTHER_HARDWARE = gettext_lazy("Other hardware, another price.")


@dataclass(frozen=True)
class Idea:
    """A single change worth a try, and what it may cost besides money."""

    label: str | Promise
    change: Mapping[str, Any]
    risk: str | Promise = ""


def _gpu(name: str, slug: str) -> Idea:
    return Idea(name, {"gpu": slug}, OTHER_HARDWARE)


# Those that a scenario already has, or that cannot be, fall away by themselves.
IDEAS: dict[str, tuple[Idea, ...]] = {
    "inference": (
        Idea(gettext_lazy("FP8 weights"), {"inference": {"weights": "fp8"}}, FEWER_BITS),
        Idea(gettext_lazy("4-bit weights (INT4, groups of 128)"), {"inference": {"weights": "int4_g128"}}, FEWER_BITS),
        Idea(gettext_lazy("4-bit weights (NVFP4)"), {"inference": {"weights": "nvfp4"}}, FEWER_BITS),
        Idea(gettext_lazy("FP8 KV cache"), {"inference": {"kv_cache": "fp8"}}, FEWER_BITS),
        Idea(
            gettext_lazy("Speculative decoding (4 drafts, 70 % accepted)"),
            {"inference": {"speculative": {"draft_tokens": 4, "acceptance": 0.7}}},
            gettext_lazy("Depends on how predictable the text is."),
        ),
        _gpu("H200 SXM", "h200-sxm-141gb"),
        _gpu("B200 SXM", "b200-sxm-180gb"),
        _gpu("MI300X", "mi300x"),
    ),
    "training": (
        Idea(
            gettext_lazy("FP8 training"),
            {"training": {"precision": "fp8"}},
            gettext_lazy("Watch the loss: some layers may need 16 bit."),
        ),
        Idea(gettext_lazy("No recomputation"), {"training": {"recompute": "none"}}),
        Idea(gettext_lazy("Selective recomputation"), {"training": {"recompute": "selective"}}),
        Idea(gettext_lazy("Micro-batch 2"), {"training": {"micro_batch": 2}}),
        _gpu("H200 SXM", "h200-sxm-141gb"),
        _gpu("B200 SXM", "b200-sxm-180gb"),
    ),
}
LEVERS = {
    "inference": ("cuda_graphs", "continuous_batching", "chunked_prefill", "paged_attention"),
    "training": ("flash_attention_3", "fused_kernels", "comm_overlap", "torch_compile"),
}
SPEED = {"inference": "inference.output_tokens_per_s_per_gpu", "training": "training.tokens_per_s_per_gpu"}
UNIT_COST = {"inference": "cost.usd_per_million_output_tokens", "training": "cost.usd_per_million_total_tokens"}


@dataclass
class Help:
    """One change, what it gains, and the address of the scenario with it."""

    words: str | Promise
    risk: str | Promise
    query: str
    speed: float  # ratio of speed per GPU
    cost: float | None  # ratio of the cost of a token


@dataclass
class Around:
    """The neighbourhood of an answer."""

    curve: Sequence[Result] = field(default_factory=list)
    helps: list[Help] = field(default_factory=list)


def around(scenario: Scenario, result: Result, *, user: Any = None) -> Around:
    """Predict the curve and the ideas together; empty for a scenario that does not fit."""
    if not result["memory"]["fits"]:
        return Around()
    curve, tried = curve_scenarios(scenario, result), ideas_for(scenario, result)
    answers = predictions_of([*curve, *(variant for _idea, variant in tried)], user=user)
    good = [answer for answer in answers[: len(curve)] if "error" not in answer and answer["memory"]["fits"]]
    return Around(good, best_helps(result, tried, answers[len(curve) :]))


def curve_scenarios(scenario: Scenario, result: Result) -> list[dict[str, Any]]:
    """Serving: the same layout over concurrencies. Training: over numbers of GPUs, the layout chosen anew."""
    if workload_of(result) == "training":
        count = result["scenario"]["gpu_count"]
        free = changed(scenario, {"parallelism": {"dp": None}})
        sizes = sorted({max(1, count // 2), count, *(count * 2**power for power in range(1, 5))})
        return [changed(free, {"gpu_count": size}) for size in sizes if size <= 200_000]
    pinned = _with_layout(scenario, result)
    return [changed(pinned, {"inference": {"concurrency": load, "request_rate_per_s": None}}) for load in CONCURRENCIES]


def ideas_for(scenario: Scenario, result: Result) -> list[tuple[Idea, dict[str, Any]]]:
    """(idea, scenario with it), for the ideas that change something."""
    workload, used = workload_of(result), result["scenario"]
    on = used.get("optimizations") or []
    levers = [
        Idea(words(name).capitalize(), {"optimizations": [*on, name]}) for name in LEVERS[workload] if name not in on
    ]
    return [
        (idea, _with(scenario, idea.change))
        for idea in (*IDEAS[workload], *levers)
        if changed(used, idea.change) != dict(used)
    ]


def best_helps(result: Result, tried: Sequence[tuple[Idea, dict[str, Any]]], answers: Sequence[Result]) -> list[Help]:
    """The ideas that make a GPU faster, or a token cheaper, best first."""
    workload = workload_of(result)
    found = []
    for (idea, variant), answer in zip(tried, answers, strict=True):
        speed, cost = (_ratio(answer, result, path[workload]) for path in (SPEED, UNIT_COST))
        if speed is not None and (speed > 1 + SMALLEST_GAIN or (cost or 1) < 1 - SMALLEST_GAIN):
            found.append(Help(idea.label, idea.risk, query_of(variant), speed, cost))
    return sorted(found, key=lambda help_: -help_.speed)[:MOST_SHOWN]


def _with_layout(scenario: Scenario, result: Result) -> dict[str, Any]:
    """The scenario with the GPUs and the layout that the answer chose, so that a curve moves along one set-up."""
    used = result["scenario"]
    layout = {
        key: value
        for key, value in (used.get("parallelism") or {}).items()
        if key in ("tp", "pp", "dp", "ep") and value
    }
    return changed(scenario, {"gpu_count": used.get("gpu_count"), "parallelism": layout})


def _with(scenario: Scenario, change: Mapping[str, Any]) -> dict[str, Any]:
    """The scenario with a change. Another GPU has another price and back end: typed ones do not follow it."""
    if "gpu" not in change:
        return changed(scenario, change)
    return without_backend(changed(scenario, {**change, "price": None, "gpu_spec": None}))


def _ratio(answer: Result, result: Result, path: str) -> float | None:
    if "error" in answer:
        return None
    new, old = value_at(answer, path), value_at(result, path)
    return new / old if new and old else None
