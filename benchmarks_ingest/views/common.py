"""What several pages share: twins, and rows that a visitor may see or else 404."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse

from benchmarks_ingest.models import MeasuredRun, Upload
from benchmarks_ingest.selectors import runs_visible, upload_get
from faces.tables import FORMULA
from gpus.selectors import gpu_book
from llms.selectors import model_book

MOST_ROWS = 100_000  # of one twin
Row = Mapping[str, Any]


def json_twin(payload: Any) -> JsonResponse:
    """The page's data as JSON."""
    return JsonResponse(payload, safe=False, json_dumps_params={"ensure_ascii": False})


def csv_twin(rows: Iterable[Row], name: str, columns: Sequence[str]) -> HttpResponse:
    """Rows as a CSV file without formulas."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows([_cell(row.get(column)) for column in columns] for row in rows)
    response = HttpResponse(text.getvalue(), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return response


def _cell(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


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
