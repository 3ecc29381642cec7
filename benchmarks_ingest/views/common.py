"""What several pages share: rows that a visitor may see or else 404, and names to choose from."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest

from benchmarks_ingest.models import MeasuredRun, Upload
from benchmarks_ingest.selectors import runs_visible, upload_get
from gpus.selectors import gpu_book
from llms.selectors import model_book

MOST_ROWS = 100_000  # of one twin


def run_or_404(request: HttpRequest, pk: int) -> MeasuredRun:
    """One run."""
    row = runs_visible(request.user).filter(pk=pk).first()
    if row is None:
        raise Http404
    return row


def upload_or_404(request: HttpRequest, pk: UUID) -> Upload:
    """One upload."""
    try:
        return upload_get(user=request.user, upload_id=pk)
    except Upload.DoesNotExist:
        raise Http404 from None


def name_choices(user: Any) -> dict[str, list[str]]:
    """Ids for the boxes that suggest models and GPUs."""
    return {"models": sorted(model_book(user).names.ids.values()), "gpus": sorted(gpu_book(user).values)}
