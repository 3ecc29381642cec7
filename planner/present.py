"""What a page says about a prediction: sentence, headline figures, parts. A result in, words and rows out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from planner.charts import interval_of
from planner.formats import formatted, gib, percent, ranged, sig, usd
from planner.forms import words
from planner.queries import flat_values
from roofline.fields import BY_PATH

Result = Mapping[str, Any]


@dataclass(frozen=True)
class Metric:
    """A figure of a prediction: where it stands, how it is written, and which way is better."""

    path: str
    label: str | Promise
    kind: str
    better: int = 0  # 1 more, -1 less, 0 neither

    @property
    def key(self) -> str:
        return self.path.rpartition(".")[2]


SERVING = (
    Metric("inference.output_tokens_per_s", gettext_lazy("Output tokens/s"), "sig", 1),
    Metric("inference.output_tokens_per_s_per_gpu", gettext_lazy("Output tokens/s per GPU"), "sig", 1),
    Metric("inference.total_tokens_per_s", gettext_lazy("Tokens/s in all"), "sig", 1),
    Metric("inference.requests_per_s", gettext_lazy("Requests/s"), "sig", 1),
    Metric("inference.ttft_s", gettext_lazy("TTFT"), "seconds", -1),
    Metric("inference.ttft_benchmark_s", gettext_lazy("TTFT in a benchmark"), "seconds", -1),
    Metric("inference.ttft_p99_s", gettext_lazy("TTFT, 99th percentile"), "seconds", -1),
    Metric("inference.tpot_s", gettext_lazy("TPOT"), "seconds", -1),
    Metric("inference.itl_p99_s", gettext_lazy("ITL, 99th percentile"), "seconds", -1),
    Metric("inference.e2e_latency_s", gettext_lazy("End to end"), "seconds", -1),
    Metric("inference.prefill_tokens_per_s", gettext_lazy("Prefill tokens/s"), "sig", 1),
    Metric("inference.concurrency", gettext_lazy("Concurrency"), "whole"),
    Metric("inference.mfu", gettext_lazy("MFU"), "percent", 1),
    Metric("inference.mbu", gettext_lazy("MBU"), "percent", 1),
)
TRAINING = (
    Metric("training.tokens_per_s_per_gpu", gettext_lazy("Tokens/s per GPU"), "sig", 1),
    Metric("training.tokens_per_s", gettext_lazy("Tokens/s"), "sig", 1),
    Metric("training.step_time_s", gettext_lazy("Step"), "seconds", -1),
    Metric("training.tflops_per_gpu", gettext_lazy("TFLOP/s per GPU"), "sig", 1),
    Metric("training.mfu", gettext_lazy("MFU"), "percent", 1),
    Metric("training.hfu", gettext_lazy("HFU"), "percent"),
    Metric("training.time_to_train_s", gettext_lazy("Time to train"), "seconds", -1),
)
COST = (
    Metric("cost.usd_per_hour", gettext_lazy("Cost per hour"), "usd", -1),
    Metric("cost.usd_per_run", gettext_lazy("Cost of the run"), "usd", -1),
    Metric("cost.usd_per_million_output_tokens", gettext_lazy("Per million output tokens"), "usd", -1),
    Metric("cost.usd_per_million_total_tokens", gettext_lazy("Per million tokens"), "usd", -1),
    Metric("cost.power_watts", gettext_lazy("Power"), "power", 0),
    Metric("cost.energy_kwh", gettext_lazy("Energy (run, or an hour)"), "energy", -1),
)
MEMORY = (
    Metric("memory.per_gpu.total_bytes", gettext_lazy("Memory per GPU"), "gib", -1),
    Metric("memory.kv_cache_tokens", gettext_lazy("KV-cache tokens per replica"), "whole", 1),
    Metric("memory.max_concurrency", gettext_lazy("Most requests per replica"), "whole", 1),
)
BOUND_WORDS = {
    "compute": gettext_lazy("compute-bound"),
    "memory": gettext_lazy("memory-bound"),
    "interconnect": gettext_lazy("interconnect-bound"),
    "latency": gettext_lazy("latency-bound"),
    "capacity": gettext_lazy("capacity-bound"),
}


def metrics_of(workload: str) -> tuple[Metric, ...]:
    """All figures of a workload, in the order of the pages."""
    return (*(TRAINING if workload == "training" else SERVING), *COST, *MEMORY)


def value_at(result: Result, path: str) -> Any:
    """The figure at a path; None where any part of the path is null."""
    node: Any = result
    for key in path.split("."):
        node = node.get(key) if isinstance(node, Mapping) else None
    return node


def figure(result: Result, metric: Metric) -> str:
    """A figure with its range."""
    return ranged(value_at(result, metric.path), interval_of(result, metric.key), metric.kind)


def workload_of(result: Result) -> str:
    """training or inference."""
    return str(result["scenario"]["workload"])


def title(result: Result) -> str:
    """What was asked, in a line: `llama-3.1-70b serving on 8 x H100 SXM`."""
    scenario = result["scenario"]
    doing = {"training": _("training"), "inference": _("serving")}[workload_of(result)]
    return _("%(model)s %(doing)s on %(count)s × %(gpu)s") % {
        "model": model_name(scenario, result),
        "doing": doing,
        "count": f"{scenario.get('gpu_count') or '?':,}" if scenario.get("gpu_count") else "?",
        "gpu": gpu_name(scenario),
    }


def model_name(scenario: Mapping[str, Any], result: Result | None = None) -> str:
    """The model's name, or its size where it has none."""
    size = scenario.get("model_size") or {}
    named = scenario.get("model") or ((result or {}).get("model") or {}).get("name")
    if named:
        return str(named)
    return _("%(size)sB model") % {"size": f"{size['params_b']:g}"} if size.get("params_b") else _("own model")


def gpu_name(scenario: Mapping[str, Any]) -> str:
    """The GPU's name as it was asked for."""
    spec = scenario.get("gpu_spec") or {}
    return str(scenario.get("gpu") or spec.get("name") or spec.get("slug") or _("own GPU"))


def answer(result: Result) -> str:
    """The answer as sentences."""
    if not result["memory"]["fits"]:
        return _does_not_fit(result)
    speed = _training_speed(result) if workload_of(result) == "training" else _serving_speed(result)
    return " ".join(part for part in (_("Fits."), speed, _binds(result), _price(result)) if part)


def _does_not_fit(result: Result) -> str:
    memory, missing = result["memory"]["per_gpu"], missing_bytes(result)
    if missing <= 0:
        return _("Does not fit: the memory is enough, but not for a single request of this length.")
    values = {
        "missing": gib(missing),
        "total": gib(memory["total_bytes"]),
        "capacity": gib(memory["capacity_bytes"]),
        "share": percent(value_at(result, "scenario.inference.gpu_memory_utilization")),
    }
    if missing > (memory["total_bytes"] or 0) - (memory["capacity_bytes"] or 0):
        return (
            _(
                "Does not fit: %(missing)s missing on each GPU (%(total)s needed; %(capacity)s there, of which the "
                "engine may use %(share)s)."
            )
            % values
        )
    return _("Does not fit: %(missing)s missing on each GPU (%(total)s needed, %(capacity)s there).") % values


def missing_bytes(result: Result) -> float:
    """What lacks on the fullest GPU, within the share of its memory that an engine may use; at most 0 where it fits."""
    memory = result["memory"]["per_gpu"]
    over = (memory["total_bytes"] or 0) - (memory["capacity_bytes"] or 0)
    return max(float(result["memory"].get("short_bytes") or 0), float(over)) if not result["memory"]["fits"] else over


def _serving_speed(result: Result) -> str:
    all_of_it, per_gpu = SERVING[0], SERVING[1]
    return _("%(speed)s output tokens/s, %(per_gpu)s per GPU; %(tpot)s per token, first after %(ttft)s.") % {
        "speed": figure(result, all_of_it),
        "per_gpu": sig(value_at(result, per_gpu.path)),
        "tpot": formatted(value_at(result, "inference.tpot_s"), "seconds"),
        "ttft": formatted(value_at(result, "inference.ttft_s"), "seconds"),
    }


def _training_speed(result: Result) -> str:
    speed = _("%(speed)s tokens/s per GPU, %(mfu)s MFU.") % {
        "speed": figure(result, TRAINING[0]),
        "mfu": formatted(value_at(result, "training.mfu"), "percent"),
    }
    lasts = value_at(result, "training.time_to_train_s")
    return f"{speed} {_('The run takes %(time)s.') % {'time': formatted(lasts, 'seconds')}}" if lasts else speed


def _binds(result: Result) -> str:
    dominant = value_at(result, "bound.dominant")
    return _("Mostly %(bound)s.") % {"bound": BOUND_WORDS[dominant]} if dominant in BOUND_WORDS else ""


def _price(result: Result) -> str:
    run, million, hour = (
        value_at(result, f"cost.{key}") for key in ("usd_per_run", "usd_per_million_output_tokens", "usd_per_hour")
    )
    if run:
        return _("%(price)s for the run.") % {"price": _cost(result, "usd_per_run")}
    if million and workload_of(result) == "inference":
        return _("%(price)s per million output tokens.") % {"price": _cost(result, "usd_per_million_output_tokens")}
    return _("%(price)s per hour.") % {"price": usd(hour)} if hour else _("No price is known.")


def _cost(result: Result, key: str) -> str:
    return figure(result, next(metric for metric in COST if metric.key == key))


def price_words(result: Result) -> str:
    """Dollars for a GPU and hour, and where the figure is from."""
    price = value_at(result, "cost.price")
    if not price:
        return str(_("none known"))
    facts = (price.get(key) for key in ("basis", "provider", "instance_type", "region", "date", "source"))
    hourly = _("%(price)s per GPU and hour") % {"price": usd(price.get("usd_per_gpu_hour"))}
    return " · ".join([hourly, *(str(fact) for fact in facts if fact)])


def headline(result: Result) -> list[dict[str, str]]:
    """The figures of the answer that exist, each with its range."""
    wanted = (*(TRAINING if workload_of(result) == "training" else SERVING), *COST)
    return [
        {"label": str(metric.label), "text": figure(result, metric), "key": metric.key}
        for metric in wanted
        if value_at(result, metric.path) is not None
    ]


def assumptions(result: Result) -> list[dict[str, str]]:
    """Every value that was used, with where it came from: given first, then chosen, then default."""
    order = {"given": 0, "chosen": 1, "default": 2}
    rows = [
        {
            "path": path,
            "label": str(_(BY_PATH[path].label)) if path in BY_PATH else path,
            "value": said(path, value),
            "origin": result["origins"].get(path, "given"),
        }
        for path, value in flat_values(result["scenario"])
    ]
    return sorted(rows, key=lambda row: order.get(row["origin"], 3))


def origin_counts(rows: Sequence[Mapping[str, str]]) -> dict[str, int]:
    """How many values were given, chosen, default."""
    return {origin: sum(row["origin"] == origin for row in rows) for origin in ("given", "default", "chosen")}


def said(path: str, value: Any) -> str:
    """A value of a scenario as people read it, with its unit."""
    field = BY_PATH.get(path)
    if isinstance(value, bool):
        return str(_("on") if value else _("off"))
    if isinstance(value, list | tuple):
        return ", ".join(words(str(entry)) for entry in value)
    if isinstance(value, Mapping):
        return _("%(count)d entries") % {"count": len(value)}
    unit = f" {field.unit}" if field and field.unit else ""
    if isinstance(value, int | float):
        return f"{value:,.6g}{unit}" if isinstance(value, float) else f"{value:,}{unit}"
    return words(str(value)) if field and field.choices else str(value)


def change_words(change: Mapping[str, Any]) -> str:
    """A change of a scenario as a button says it."""
    parts = []
    for path, value in flat_values(change):
        field = BY_PATH.get(path)
        label = str(_(field.label)) if field else path
        parts.append(f"{label} {said(path, value)}")
    return ", ".join(parts)


def parts_table(result: Result) -> list[dict[str, Any]]:
    """Memory per GPU by part, for the table under the bar."""
    memory = result["memory"]["per_gpu"]
    names = {
        "weights": _("weights"),
        "gradients": _("gradients"),
        "optimizer": _("optimizer"),
        "activations": _("activations"),
        "kv_cache": _("KV cache"),
        "runtime": _("runtime"),
    }
    rows = [{"key": key, "label": str(label), "bytes": memory.get(f"{key}_bytes") or 0} for key, label in names.items()]
    free = -missing_bytes(result)
    rows = [row for row in rows if row["bytes"]]
    return [
        *rows,
        {
            "key": "free" if free >= 0 else "over",
            "label": str(_("free") if free >= 0 else _("missing")),
            "bytes": abs(free),
        },
    ]


def shares(result: Result) -> list[dict[str, Any]]:
    """What binds, by share of time, largest first."""
    found = (result.get("bound") or {}).get("shares") or {}
    return [
        {"bound": bound, "share": share}
        for bound, share in sorted(found.items(), key=lambda pair: -pair[1])
        if share >= 0.005
    ]
