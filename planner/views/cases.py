"""Case studies: what was published, what the engine predicts, what the claim implies."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET

from faces.twins import csv_twin, json_twin
from planner.audits import CLAIM_LABELS, claim_audit, verdict_class
from planner.models import CaseStudy
from planner.present import COST, SERVING, TRAINING, answer, figure, value_at
from planner.queries import query_of
from planner.selectors import case_studies, predictions_of
from predictions.services import Gatherer
from roofline.units import DAY

# A published figure beside the predicted one.
SAME_FIGURE = {
    "tokens_per_s_per_gpu": "training.tokens_per_s_per_gpu",
    "tokens_per_s": "inference.output_tokens_per_s",
    "mfu": "training.mfu",
    "tpot_s": "inference.tpot_s",
    "usd_per_million_tokens": "cost.usd_per_million_output_tokens",
    "time_days": "training.time_to_train_s",
}
KINDS = {"mfu": "percent", "tpot_s": "seconds", "usd_per_million_tokens": "usd", "usd_saved": "usd"}
LABELS = {"mfu": gettext_lazy("MFU"), "tpot_s": gettext_lazy("Time per output token")}  # their cells have the unit
# Engine units in one of the claim's, where they differ.
UNITS = {"time_days": DAY}


@require_GET
def cases(request: HttpRequest) -> HttpResponse:
    """The page."""
    gatherer = Gatherer(request.user)
    studies = [_shown(study, pair, gatherer) for study, pair in _predicted(request)]
    return render(request, "planner/case_studies.html", {"studies": studies})


@require_GET
def cases_json(request: HttpRequest) -> HttpResponse:
    """Claim, predictions and audit of each study."""
    gatherer = Gatherer(request.user)
    return json_twin(
        [
            {
                "slug": study.slug,
                "title": study.title,
                "story": study.story,
                "assumed": study.assumed,
                "levers": study.levers,
                "claim": study.claim,
                "baseline": baseline,
                "optimised": optimised,
                "audit": _audit(study, gatherer),
            }
            for study, (baseline, optimised) in _predicted(request)
        ]
    )


@require_GET
def cases_csv(request: HttpRequest) -> HttpResponse:
    """Published beside predicted, one figure a row."""
    rows = [
        {
            "study": study.slug,
            "figure": row["name"],
            "published_before": row["before"],
            "published_after": row["after"],
            "predicted_baseline": row["baseline_value"],
            "predicted_optimised": row["optimised_value"],
        }
        for study, pair in _predicted(request)
        for row in _figures(study, *pair)
    ]
    return csv_twin(rows, "case-studies")


def _predicted(request: HttpRequest) -> list[tuple[CaseStudy, tuple[dict[str, Any], dict[str, Any]]]]:
    studies = list(case_studies())
    scenarios = [row.scenario for study in studies for row in (study.baseline, study.optimised)]
    answers = predictions_of(scenarios, user=request.user)
    return [(study, (answers[2 * index], answers[2 * index + 1])) for index, study in enumerate(studies)]


def _audit(study: CaseStudy, gatherer: Gatherer) -> dict[str, Any]:
    claim = study.claim
    return claim_audit(
        scenario=study.baseline.scenario, claim=claim["after"], before=claim["before"], gatherer=gatherer
    )


def _shown(study: CaseStudy, pair: tuple[dict[str, Any], dict[str, Any]], gatherer: Gatherer) -> dict[str, Any]:
    audited = _audit(study, gatherer)
    baseline, optimised = pair
    return {
        "study": study,
        "audit": audited,
        "verdict_class": verdict_class(audited["verdict"]),
        "figures": _figures(study, *pair),
        "baseline": {"row": study.baseline, "query": query_of(study.baseline.scenario), "answer": _said(baseline)},
        "optimised": {"row": study.optimised, "query": query_of(study.optimised.scenario), "answer": _said(optimised)},
        "gains": _gains(baseline, optimised),
    }


def _said(result: dict[str, Any]) -> str:
    return result["error"]["message"] if "error" in result else answer(result)


def _figures(study: CaseStudy, baseline: dict[str, Any], optimised: dict[str, Any]) -> list[dict[str, Any]]:
    """Published and predicted figures, one row each."""
    before, after = study.claim["before"], study.claim["after"]
    metrics = {metric.path: metric for metric in (*SERVING, *TRAINING, *COST)}
    rows = []
    for name in dict.fromkeys([*before, *after]):
        path = SAME_FIGURE.get(name)
        rows.append(
            {
                "name": name,
                "label": LABELS.get(name) or CLAIM_LABELS.get(name, name),
                "kind": KINDS.get(name, "exact"),
                "before": before.get(name),
                "after": after.get(name),
                **{
                    f"{role}_value": _in_unit(name, value_at(result, path)) if path else None
                    for role, result in (("baseline", baseline), ("optimised", optimised))
                },
                **{
                    role: figure(result, metrics[path]) if path else ""
                    for role, result in (("baseline", baseline), ("optimised", optimised))
                },
            }
        )
    return rows


def _in_unit(name: str, value: float | None) -> float | None:
    """A predicted figure in the unit of the claim."""
    return None if value is None else value / UNITS.get(name, 1.0)


def _gains(baseline: dict[str, Any], optimised: dict[str, Any]) -> float | None:
    """Predicted speed-up of the optimised set-up."""
    for path in ("training.tokens_per_s", "inference.output_tokens_per_s"):
        old, new = value_at(baseline, path), value_at(optimised, path)
        if old and new:
            return float(new / old)
    return None
