"""Around one answer: its speed over load or scale, and what would help most. All variants are predicted in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from planner.present import change_words, value_at, workload_of
from planner.queries import changed, query_of
from planner.selectors import predictions_of

Scenario = Mapping[str, Any]
Result = Mapping[str, Any]

CONCURRENCIES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
MOST_SHOWN = 5
SMALLEST_GAIN = 0.02
# Single changes worth trying; those that a scenario already has, or that cannot be, fall away by themselves.
CHANGES: dict[str, tuple[dict[str, Any], ...]] = {
    "inference": (
        {"inference": {"weights": "fp8"}},
        {"inference": {"weights": "int4_g128"}},
        {"inference": {"weights": "nvfp4"}},
        {"inference": {"kv_cache": "fp8"}},
        {"inference": {"speculative": {"draft_tokens": 4, "acceptance": 0.7}}},
        {"gpu": "h200-sxm"},
        {"gpu": "b200-sxm"},
        {"gpu": "mi300x"},
    ),
    "training": (
        {"training": {"precision": "fp8"}},
        {"training": {"recompute": "none"}},
        {"training": {"recompute": "selective"}},
        {"training": {"micro_batch": 2}},
        {
            "optimizations": [
                "flash_attention_3",
                "fused_kernels",
                "comm_overlap",
                "topology_aware",
                "hierarchical_allreduce",
            ]
        },
        {"gpu": "h200-sxm"},
        {"gpu": "b200-sxm"},
    ),
}
SPEED = {"inference": "inference.output_tokens_per_s_per_gpu", "training": "training.tokens_per_s_per_gpu"}
UNIT_COST = {"inference": "cost.usd_per_million_output_tokens", "training": "cost.usd_per_million_total_tokens"}


@dataclass
class Help:
    """One change, what it gains, and the address of the scenario with it."""

    words: str
    query: str
    speed: float  # ratio of speed per GPU
    cost: float | None  # ratio of the cost of a token


@dataclass
class Around:
    """The neighbourhood of an answer."""

    curve: list[Result] = field(default_factory=list)
    helps: list[Help] = field(default_factory=list)


def around(scenario: Scenario, result: Result, *, user: Any = None) -> Around:
    """Predict the curve and the changes together; empty for a scenario that does not fit."""
    if not result["memory"]["fits"]:
        return Around()
    curve, tried = curve_scenarios(scenario, result), change_scenarios(scenario, result)
    answers = predictions_of([*curve, *(variant for _change, variant in tried)], user=user)
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


def change_scenarios(scenario: Scenario, result: Result) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """(change, scenario with it), for the changes that are one."""
    return [
        (change, changed(scenario, {**change, **_price_follows(scenario, change)}))
        for change in CHANGES[workload_of(result)]
        if changed(result["scenario"], change) != dict(result["scenario"])
    ]


def best_helps(
    result: Result, tried: Sequence[tuple[dict[str, Any], dict[str, Any]]], answers: Sequence[Result]
) -> list[Help]:
    """The changes that make a GPU faster, or a token cheaper, best first."""
    workload = workload_of(result)
    found = []
    for (change, variant), answer in zip(tried, answers, strict=True):
        speed = _ratio(answer, result, SPEED[workload])
        if speed is not None:
            found.append(
                Help(change_words(change), query_of(variant), speed, _ratio(answer, result, UNIT_COST[workload]))
            )
    useful = [help_ for help_ in found if help_.speed > 1 + SMALLEST_GAIN or (help_.cost or 1) < 1 - SMALLEST_GAIN]
    return sorted(useful, key=lambda help_: -help_.speed)[:MOST_SHOWN]


def _with_layout(scenario: Scenario, result: Result) -> dict[str, Any]:
    """The scenario with the GPUs and the layout that the answer chose, so that a curve moves along one set-up."""
    used = result["scenario"]
    layout = {
        key: value
        for key, value in (used.get("parallelism") or {}).items()
        if key in ("tp", "pp", "dp", "ep") and value
    }
    return changed(scenario, {"gpu_count": used.get("gpu_count"), "parallelism": layout})


def _price_follows(scenario: Scenario, change: Mapping[str, Any]) -> dict[str, Any]:
    """Another GPU has another price: a typed price or offer does not follow it."""
    return {"price": None, "gpu_spec": None} if "gpu" in change else {}


def _ratio(answer: Result, result: Result, path: str) -> float | None:
    if "error" in answer:
        return None
    new, old = value_at(answer, path), value_at(result, path)
    return new / old if new and old else None
