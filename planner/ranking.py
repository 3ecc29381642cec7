"""One workload on every accelerator of the catalogue, at its sensible counts, cheapest first."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner.charts import interval_of
from planner.present import value_at
from planner.queries import changed, query_of, without_backend
from planner.selectors import predictions_of
from roofline.errors import ScenarioError
from roofline.hardware import Gpu

Scenario = Mapping[str, Any]
Result = Mapping[str, Any]
HARDWARE = {
    "gpu": None,
    "gpu_spec": None,
    "gpu_count": None,
    "gpus_per_node": None,
    "internode_gbps_per_gpu": None,
    "parallelism": None,
}
SPEED = {"inference": "inference.output_tokens_per_s_per_gpu", "training": "training.tokens_per_s_per_gpu"}
COSTS = {
    "inference": ("cost.usd_per_million_output_tokens", "cost.usd_per_hour"),
    "training": ("cost.usd_per_run", "cost.usd_per_million_total_tokens", "cost.usd_per_hour"),
}


@dataclass
class Ranked:
    """One accelerator at one count."""

    gpu: Gpu
    result: Result
    query: str
    cost: float | None
    meets: bool

    @property
    def fits(self) -> bool:
        return bool(self.result["memory"]["fits"])

    @property
    def count(self) -> int:
        return int(self.result["scenario"]["gpu_count"])

    @property
    def layout(self) -> str:
        parts = self.result["scenario"].get("parallelism") or {}
        return (
            " ".join(f"{key}{parts[key]}" for key in ("tp", "pp", "cp", "ep", "dp") if (parts.get(key) or 1) > 1) or "1"
        )


@dataclass
class Ranking:
    """The table in its three folds, and why some accelerators are missing."""

    workload: str
    cost_path: str
    meeting: list[Ranked]  # each accelerator at its cheapest count
    others: list[Ranked]  # the same accelerators at their other counts
    missing: list[Ranked]  # too slow for the service level
    too_small: list[Ranked]
    refused: list[tuple[str, str]]


def ranking(scenario: Scenario, gpus: Iterable[Gpu], *, user: Any = None) -> Ranking:
    """Predict the workload on all accelerators in one call and sort it. ScenarioError where none can be answered."""
    asked = [(gpu, variant) for gpu in gpus for variant in variants(scenario, gpu)]
    answers = predictions_of([variant for _gpu, variant in asked], user=user)
    if answers and all("error" in answer for answer in answers):
        raise ScenarioError(answers[0]["error"]["fields"])
    workload = str(scenario["workload"])
    cost_path = cost_path_of(answers, workload)
    rows, refused = [], {}
    for (gpu, variant), answer in zip(asked, answers, strict=True):
        if "error" in answer:
            refused[gpu.name] = answer["error"]["message"]
        else:
            rows.append(Ranked(gpu, answer, query_of(variant), value_at(answer, cost_path), meets(answer)))
    rows = sorted(_once(rows), key=_order)
    fitting = [row for row in rows if row.fits]
    known = {row.gpu.name for row in rows}
    meeting, others = _cheapest([row for row in fitting if row.meets])
    return Ranking(
        workload,
        cost_path,
        meeting,
        others,
        [row for row in fitting if not row.meets],
        [row for row in rows if not row.fits],
        [(name, message) for name, message in refused.items() if name not in known],
    )


def workload_only(scenario: Scenario) -> dict[str, Any]:
    """A scenario without anything about hardware; a price of one GPU says nothing about the others."""
    return without_backend(changed(scenario, {**HARDWARE, "price": None}))


def variants(scenario: Scenario, gpu: Gpu) -> list[dict[str, Any]]:
    """The fewest GPUs that fit, a whole node, two nodes; or the count that was asked for, half and double it."""
    wanted = scenario.get("gpu_count")
    bare = changed(workload_only(scenario), {"gpu": gpu.slug})
    if isinstance(wanted, int) and scenario["workload"] == "training":
        counts: list[int | None] = [max(1, wanted // 2), wanted, wanted * 2]
    else:
        counts = [None, gpu.gpus_per_node, 2 * gpu.gpus_per_node] if gpu.gpus_per_node > 1 else [None, 2]
    return [changed(bare, {"gpu_count": count}) if count else bare for count in counts]


def cost_path_of(answers: Sequence[Result], workload: str) -> str:
    """The most telling cost that some answer has: of the run or a million tokens, else of an hour."""
    for path in COSTS[workload]:
        if any("error" not in answer and value_at(answer, path) is not None for answer in answers):
            return path
    return COSTS[workload][-1]


def meets(result: Result) -> bool:
    """Whether the latencies keep the service level that the scenario states, if any."""
    limits = (result["scenario"].get("inference") or {}).get("slo") or {}
    pairs = ((value_at(result, f"inference.{key}"), limits.get(key)) for key in ("ttft_s", "tpot_s"))
    return all(limit is None or (value is not None and value <= limit) for value, limit in pairs)


def row_facts(row: Ranked, ranking_: Ranking) -> dict[str, Any]:
    """A row as data, for the twins."""
    result, serving = row.result, ranking_.workload == "inference"
    figures = (
        ("output_tokens_per_s", "output_tokens_per_s_per_gpu", "ttft_s", "tpot_s")
        if serving
        else ("tokens_per_s", "tokens_per_s_per_gpu", "mfu", "time_to_train_s")
    )
    low, high = interval_of(result, SPEED[ranking_.workload].rpartition(".")[2]) or (None, None)
    price = value_at(result, "cost.price") or {}
    return {
        "gpu": row.gpu.slug,
        "gpu_count": row.count,
        "layout": row.layout,
        "fits": row.fits,
        "meets_slo": row.fits and row.meets,
        **{key: value_at(result, f"{ranking_.workload}.{key}") for key in figures},
        "speed_low": low,
        "speed_high": high,
        **{
            key: value_at(result, f"cost.{key}")
            for key in (
                "usd_per_hour",
                "usd_per_run",
                "usd_per_million_output_tokens",
                "usd_per_million_total_tokens",
                "energy_kwh",
            )
        },
        "price_date": price.get("date"),
        "price_source": price.get("source"),
        "basis": value_at(result, "interval.basis"),
    }


def _once(rows: Iterable[Ranked]) -> list[Ranked]:
    """Each accelerator and count once: the fewest that fit may be a whole node."""
    return list({(row.gpu.slug, row.count): row for row in rows}.values())


def _cheapest(rows: Sequence[Ranked]) -> tuple[list[Ranked], list[Ranked]]:
    """Of sorted rows: the first of each accelerator, and the rest."""
    first = list({row.gpu.slug: row for row in reversed(rows)}.values())
    chosen = {id(row) for row in first}
    return [row for row in rows if id(row) in chosen], [row for row in rows if id(row) not in chosen]


def _order(row: Ranked) -> tuple[float, float]:
    return (math.inf if row.cost is None else row.cost, row.count)
