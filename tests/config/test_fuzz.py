"""REST against its own description: whatever is sent, nothing breaks, and refusals have the one shape."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.core.transport import Response

from config.wsgi import application

pytestmark = pytest.mark.django_db
OPERATIONS = [
    ("GET", "/api/v1/gpus/"),
    ("POST", "/api/v1/gpus/"),
    ("PATCH", "/api/v1/gpus/{slug}/"),
    ("GET", "/api/v1/models/"),
    ("POST", "/api/v1/models/"),
    ("GET", "/api/v1/models/{name}/"),
    ("GET", "/api/v1/offers/"),
    ("POST", "/api/v1/offers/"),
    ("GET", "/api/v1/jobs/{job_id}/"),
    ("POST", "/api/v1/jobs/{job_id}/cancel/"),
]


@cache
def schema() -> Any:
    return schemathesis.openapi.from_wsgi("/api/schema/?format=json", application)


def check(answer: Response) -> None:
    assert answer.status_code < 500, answer.text
    if answer.status_code >= 400:
        error = answer.json()["error"]
        assert set(error) == {"code", "message", "fields"}


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_nothing_breaks(method: str, path: str, user: Any) -> None:
    from accounts.services import token_create

    _row, text = token_create(user=user, name="fuzz")

    @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def run(data: st.DataObject) -> None:
        case = data.draw(schema()[path][method].as_strategy())
        check(case.call(headers={**case.headers, "Authorization": f"Token {text}"}))

    run()
