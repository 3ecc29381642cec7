"""Home: what can be asked, the case studies, recent scenarios."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from faces.twins import csv_twin, json_twin
from planner.present import answer
from planner.queries import query_of
from planner.selectors import case_studies, predictions_of, scenarios_visible

RECENT = 8


def _questions() -> list[tuple[str, str, str]]:
    """(question, page, query): what a person may want to know first."""
    return [
        (_("Does Llama 3.1 70B fit on one H100, and what would make it fit?"), "plan", "gpu_count=1"),
        (
            _("How fast do 8 H100 serve it in FP8 to 64 people at once, and what does a million tokens cost?"),
            "plan",
            "gpu_count=8&inference.weights=fp8",
        ),
        (
            _("How long do 512 H100 need to train 8B on 15 trillion tokens?"),
            "plan",
            "workload=training&model=llama-3.1-8b&gpu_count=512&training.total_tokens=15000000000000&training.global_batch=1024",
        ),
        (_("Which GPU serves it cheapest with 50 ms per token?"), "rank", "inference.slo.tpot_s=0.05"),
        (
            _("How do speed and cost move over GPUs, formats and load?"),
            "sweep",
            "gpu=h100-sxm,h200-sxm&inference.weights=bf16,fp8&inference.concurrency=1..256 x2",
        ),
    ]


@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """The start page."""
    recent = list(scenarios_visible(request.user).filter(seeded=False)[:RECENT])
    answers = predictions_of([row.scenario for row in recent], user=request.user)
    said = [answer(found) if "error" not in found else found["error"]["message"] for found in answers]
    return render(
        request,
        "planner/home.html",
        {
            "questions": _questions(),
            "studies": case_studies(),
            "recent": [
                {"row": row, "answer": text, "query": query_of(row.scenario)}
                for row, text in zip(recent, said, strict=True)
            ],
        },
    )


def _facts(request: HttpRequest) -> list[dict[str, Any]]:
    rows = scenarios_visible(request.user).filter(seeded=False)[:RECENT]
    studies: list[dict[str, Any]] = [
        {"kind": "case_study", "id": study.slug, "name": study.title} for study in case_studies()
    ]
    return [*studies, *({"kind": "scenario", "id": row.pk, "name": row.name} for row in rows)]


@require_GET
def home_json(request: HttpRequest) -> HttpResponse:
    """Case studies and recent scenarios."""
    return json_twin(_facts(request))


@require_GET
def home_csv(request: HttpRequest) -> HttpResponse:
    """The same as rows."""
    return csv_twin(_facts(request), "home", ["kind", "id", "name"])
