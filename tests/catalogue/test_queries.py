"""How many questions to the database a page costs: the same for ten rows and for a thousand."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

pytestmark = pytest.mark.django_db
LISTS = [
    ("/models/", 5),
    ("/models.json", 4),
    ("/models.csv", 3),
    ("/offers/", 7),
    ("/offers.json", 5),
    ("/offers.csv", 5),
]


@pytest.mark.parametrize(("path", "most"), LISTS)
def test_pages(client: Client, django_assert_max_num_queries: Any, path: str, most: int) -> None:
    client.get(path)
    with django_assert_max_num_queries(most):
        client.get(path)


@pytest.mark.parametrize("path", ["/api/v1/gpus/", "/api/v1/models/", "/api/v1/offers/"])
def test_rest(api: APIClient, django_assert_max_num_queries: Any, path: str) -> None:
    api.get(path)
    with django_assert_max_num_queries(5):
        api.get(path)


def test_names_cost_nothing_once_read(django_assert_max_num_queries: Any) -> None:
    from gpus.selectors import gpu_book

    book = gpu_book()
    with django_assert_max_num_queries(0):
        for _ in range(100):
            book.resolve("H100-SXM")
    with django_assert_max_num_queries(2):
        gpu_book()
