"""What of a run can be held against a prediction: each figure with its counterpart and interval, in one unit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks_ingest.scenarios import is_open_loop

Json = Mapping[str, Any]
MOST_BUCKET = 1000  # hundredths of ln: factors beyond 22,000 are one bucket
TIMES = ("tpot", "ttft", "tpot_open_loop", "ttft_open_loop", "server_tpot", "server_ttft", "e2e")
SPEEDS = (  # what a calibration is fitted to: figures of throughput and pace; first tokens hold queueing
    "tokens_per_s_per_gpu",
    "output_tokens_per_s",
    "offline_tokens_per_s",
    "offline_mlperf_tokens_per_s",
    "batch1_tokens_per_s",
    "prefill_tokens_per_s",
    "tpot",
    "tpot_open_loop",
)
MEMORY = ("peak_memory",)


@dataclass(frozen=True)
class Compared:
    """One figure: tokens/s, seconds or bytes."""

    quantity: str
    measured: float
    predicted: float
    low: float | None
    high: float | None

    @property
    def bucket(self) -> int:
        """ln(predicted / measured) in hundredths."""
        return bucket_of(self.measured, self.predicted)


def bucket_of(measured: float, predicted: float) -> int:
    """ln(predicted / measured) in hundredths, within ±MOST_BUCKET."""
    if predicted <= 0 or measured <= 0:
        return -MOST_BUCKET
    return max(-MOST_BUCKET, min(MOST_BUCKET, round(100 * math.log(predicted / measured))))


def time_ratio(quantity: str, measured: float, predicted: float) -> float | None:
    """ln(measured time / predicted time); None for what is no time and no rate, and for a prediction of nothing."""
    if quantity in MEMORY or predicted <= 0 or measured <= 0:
        return None
    ratio = math.log(measured / predicted)
    return ratio if quantity in TIMES else -ratio


def measured_figures(data: Json, count: int | None) -> dict[str, float]:
    """Figures of a run that have a predicted counterpart, by quantity."""
    found = _training(data, count) if data.get("kind") == "training" else _serving(data)
    return {name: float(value) for name, value in found.items() if value and math.isfinite(value) and value > 0}


def _training(data: Json, count: int | None) -> dict[str, Any]:
    speed = data.get("tokens_per_s_per_gpu")
    if not speed and count:
        total = data.get("tokens_per_s")
        if not total and data.get("step_time_s") and data.get("global_batch") and data.get("seq_len"):
            total = data["global_batch"] * data["seq_len"] / data["step_time_s"]
        speed = total / count if total else None
    return {"tokens_per_s_per_gpu": speed, "peak_memory": data.get("peak_memory_bytes")}


def _serving(data: Json) -> dict[str, Any]:
    kind, suffix = data.get("kind", "serving"), "_open_loop" if is_open_loop(data) else ""
    found: dict[str, Any] = {"prefill_tokens_per_s": data.get("prefill_tokens_per_s")}
    if kind == "single_stream":
        return found | {"batch1_tokens_per_s": data.get("decode_tokens_per_s") or data.get("output_tokens_per_s")}
    found |= {
        f"tpot{suffix}": data.get("tpot_mean_s"),
        f"ttft{suffix}": data.get("ttft_mean_s"),
        "e2e": data.get("e2e_mean_s"),
    }
    output = data.get("output_tokens_per_s")
    if not output and data.get("requests_per_s") and data.get("output_tokens"):
        output = data["requests_per_s"] * data["output_tokens"]
    if not suffix:  # at a rate of its own, throughput is that rate
        found["offline_tokens_per_s" if kind == "offline" else "output_tokens_per_s"] = output
    return found


# quantity -> (part of the answer, key, key of its interval)
PREDICTED = {
    "tokens_per_s_per_gpu": ("training", "tokens_per_s_per_gpu"),
    "tpot": ("inference", "tpot_s"),
    "tpot_open_loop": ("inference", "tpot_s"),
    "ttft": ("inference", "ttft_benchmark_s"),
    "ttft_open_loop": ("inference", "ttft_s"),
    "e2e": ("inference", "e2e_latency_s"),
    "output_tokens_per_s": ("inference", "output_tokens_per_s"),
    "offline_tokens_per_s": ("inference", "output_tokens_per_s"),
    "prefill_tokens_per_s": ("inference", "prefill_tokens_per_s"),
}


def compared(data: Json, count: int | None, answer: Json) -> Iterator[Compared]:
    """Each figure beside its prediction; nothing where the planner says that the run does not fit."""
    for quantity, measured in measured_figures(data, count).items():
        found = predicted_figure(quantity, answer)
        if found is not None:
            yield Compared(quantity, measured, *found)


def predicted_figure(quantity: str, answer: Json) -> tuple[float, float | None, float | None] | None:
    """(predicted, low, high) of a quantity; None where the answer holds no such figure."""
    if quantity == "peak_memory":
        return float(answer["memory"]["per_gpu"]["total_bytes"]), None, None
    if quantity == "batch1_tokens_per_s":
        pace = _pair("inference", "tpot_s", answer)
        return pace and (1 / pace[0], pace[2] and 1 / pace[2], pace[1] and 1 / pace[1])
    part, key = PREDICTED[quantity]
    return _pair(part, key, answer)


def _pair(part: str, key: str, answer: Json) -> tuple[float, float | None, float | None] | None:
    value = (answer.get(part) or {}).get(key)
    if not value:
        return None
    low, high = (answer.get("interval") or {}).get(key) or (None, None)
    return float(value), low, high
