"""REST of measured runs against its own description: whatever is sent, nothing breaks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.config.test_fuzz import check, schema

from .conftest import serve, uploaded

pytestmark = pytest.mark.django_db
FIELDS = ("model", "gpu", "gpu_count", "tp", "input_tokens", "weights", "x")
OPERATIONS = [
    ("GET", "/api/v1/uploads/"),
    ("POST", "/api/v1/uploads/"),
    ("GET", "/api/v1/runs/"),
    ("POST", "/api/v1/runs/confirm/"),
    ("POST", "/api/v1/calibrations/"),
    ("POST", "/api/v1/calibrations/{id}/activate/"),
]


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_nothing_breaks(method: str, path: str, user: Any) -> None:
    from accounts.services import token_create

    _row, text = token_create(user=user, name="fuzz", scopes=["read", "plan", "upload"])

    @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def run(data: st.DataObject) -> None:
        case = data.draw(schema()[path][method].as_strategy())
        check(case.call(headers={**case.headers, "Authorization": f"Token {text}"}))

    run()


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(body=st.dictionaries(st.sampled_from(FIELDS), st.text() | st.integers() | st.floats()))
def test_any_confirmation_is_answered(body: dict[str, Any], api_uploader: Any, user: Any) -> None:
    run = uploaded(user, serve()).runs.get()
    answer = api_uploader.generic(
        "POST", f"/api/v1/runs/{run.pk}/confirm/", json.dumps(body), content_type="application/json"
    )
    assert answer.status_code in (200, 400)
