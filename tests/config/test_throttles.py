"""Rate limits over all processes."""

from __future__ import annotations

import pytest
import time_machine
from django.core.cache import cache
from rest_framework.test import APIClient

from faces.throttles import AnonymousThrottle

pytestmark = pytest.mark.django_db


@pytest.fixture
def two_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    cache.clear()
    AnonymousThrottle.counters.clear()
    monkeypatch.setattr(AnonymousThrottle, "rate", "2/minute", raising=False)


def test_it_works(api: APIClient, two_a_minute: None) -> None:
    with time_machine.travel("2026-01-01T00:00:30Z", tick=False):
        assert [api.get("/api/v1/gpus/mi300x/").status_code for _ in range(3)] == [200, 200, 429]
        answer = api.get("/api/v1/gpus/mi300x/")
        assert answer.headers["Retry-After"] == "30"
        assert answer.json()["error"]["code"] == "throttled"
    with time_machine.travel("2026-01-01T00:01:01Z", tick=False):
        assert api.get("/api/v1/gpus/mi300x/").status_code == 200


def test_person_is_not_counted_as_a_stranger(api_signed: APIClient, two_a_minute: None) -> None:
    assert {api_signed.get("/api/v1/gpus/mi300x/").status_code for _ in range(4)} == {200}


def test_what_a_caller_says_of_its_address_is_not_believed(api: APIClient, two_a_minute: None) -> None:
    with time_machine.travel("2026-01-01T00:02:30Z", tick=False):
        answers = [api.get("/api/v1/gpus/mi300x/", HTTP_X_FORWARDED_FOR=f"10.0.0.{number}") for number in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
