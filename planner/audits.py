"""Claims against roofs, records and prices: gathers the subject of a claim and asks the engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.utils.translation import gettext_lazy

from planner.records import record_of
from predictions.services import Gatherer
from roofline.audit import ADAPTER_FLOPS, CLAIMS, TRAINED_FLOPS, Record, Subject, audit, peak_of
from roofline.columns import Model
from roofline.errors import ScenarioError
from roofline.precision import FORMATS
from roofline.question import Question

CLAIM_LABELS = {
    "tokens_per_s_per_gpu": gettext_lazy("Tokens/s per GPU"),
    "tokens_per_s": gettext_lazy("Tokens/s of the system"),
    "time_days": gettext_lazy("Days of the run"),
    "mfu": gettext_lazy("MFU, 0 to 1"),
    "tpot_s": gettext_lazy("Time per output token, s"),
    "usd_per_million_tokens": gettext_lazy("$ per million tokens"),
    "usd_per_hour": gettext_lazy("$ per hour of the machine"),
    "usd_saved": gettext_lazy("$ saved per run"),
    "usd_wasted_per_year": gettext_lazy("$ wasted per year"),
}
VERDICT_CLASSES = {
    "plausible": "good",
    "beyond the published record": "bad",
    "beyond the roof": "bad",
    "inconsistent": "bad",
}
READINGS = ("bf16", "fp8", "fp4")  # types in which a claim about training may be meant


def claim_audit(
    *,
    scenario: Mapping[str, Any],
    claim: Mapping[str, float],
    before: Mapping[str, float],
    user: Any = None,
    gatherer: Gatherer | None = None,
) -> dict[str, Any]:
    """Findings and verdict of a claim about a scenario, its names looked up by `gatherer` where several claims share
    one. Raises ScenarioError for what is no scenario or no figure."""
    faults = {
        f"{side}.{name}": [fault]
        for side, figures in (("claim", claim), ("before", before))
        for name, value in figures.items()
        if (fault := _fault(name, value))
    }
    if not claim and not faults:
        faults["claim"] = [f"Give at least one figure: {', '.join(CLAIMS)}."]
    if faults:
        raise ScenarioError(faults)
    question = (gatherer or Gatherer(user)).question(scenario)
    return audit(subject_of(question), claim, before)


def subject_of(question: Question) -> Subject:
    """What the claim is about: the weights that a token uses as they are stored, the machine, the arithmetic."""
    serving = question.scenario.workload == "inference"
    get = question.scenario.get
    precision = str(get("inference.activations" if serving else "training.precision", "bf16"))
    records = {} if serving else {dtype: _record(question, dtype) for dtype in READINGS}
    known = {dtype: record for dtype, record in records.items() if record}
    model = _as_typed(question)
    return Subject(
        workload=question.scenario.workload,
        model=model,
        gpu=question.gpu,
        gpus=int(get("gpu_count") or 1),
        precision=precision,
        weight_bytes=FORMATS[get("inference.weights", "bf16")].body * float(model.active_params),
        record=known.get(peak_of(precision)),
        other_records=known,
        run_tokens=get("training.total_tokens"),
        flops_per_param=ADAPTER_FLOPS if get("training.method") in ("lora", "qlora") else TRAINED_FLOPS,
    )


def _as_typed(question: Question) -> Model:
    """The model, of as many parameters as were typed: dimensions found for a bare size meet it only nearly."""
    size, active = (question.scenario.get(f"model_size.{name}") for name in ("params_b", "active_params_b"))
    if not size:
        return question.model
    return replace(question.model, total_params=size * 1e9, active_params=(active or size) * 1e9)


def _record(question: Question, dtype: str) -> Record | None:
    return record_of(moe=bool(question.model.is_moe), architecture=question.gpu.architecture, dtype=dtype)


def verdict_class(verdict: str) -> str:
    """The badge of a verdict."""
    return "warn" if verdict.startswith("plausible only if") else VERDICT_CLASSES.get(verdict, "")


def _fault(name: str, value: Any) -> str:
    if name not in CLAIMS:
        return f"Unknown figure. Allowed: {', '.join(CLAIMS)}."
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e18:
        return "Must be a number above 0."
    return ""
