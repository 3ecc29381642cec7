"""Stamps of tables."""

from __future__ import annotations

from typing import Any

import pytest

from costs.selectors import OFFER_TABLES
from faces.stamps import stamps
from gpus.models import Gpu, GpuAlias
from gpus.selectors import GPU_TABLES, catalogue_stamp
from llms.selectors import MODEL_TABLES

pytestmark = pytest.mark.django_db


def test_a_stamp_moves_with_its_own_tables_alone() -> None:
    before = stamps(GPU_TABLES, MODEL_TABLES, OFFER_TABLES)
    Gpu.objects.order_by("pk").first().save()  # type: ignore[union-attr]
    after = stamps(GPU_TABLES, MODEL_TABLES, OFFER_TABLES)
    assert [one != other for one, other in zip(before, after, strict=True)] == [True, False, False]


def test_a_new_name_and_a_row_that_goes_move_it_too() -> None:
    seen = {catalogue_stamp()}
    alias = GpuAlias.objects.create(gpu=Gpu.objects.all()[0], name="one more name")
    seen.add(catalogue_stamp())
    alias.delete()
    Gpu.objects.filter(pk=Gpu.objects.order_by("updated_at")[0].pk).delete()
    seen.add(catalogue_stamp())
    assert len(seen) == 3


def test_all_catalogues_are_one_question(django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(1):
        stamps(GPU_TABLES, MODEL_TABLES, OFFER_TABLES)
