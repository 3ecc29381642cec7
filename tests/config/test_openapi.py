"""The description of the REST interface. A change of the interface shows as a change of docs/openapi.json."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.validation import validate_schema

SNAPSHOT = Path(__file__).resolve().parents[2] / "docs" / "openapi.json"
RENEW = "ROOFTREE_RENEW_SNAPSHOTS"


@pytest.fixture(scope="module")
def schema() -> Any:
    return json.loads(json.dumps(SchemaGenerator().get_schema(request=None, public=True), default=str))


def test_it_works(schema: Any) -> None:
    assert schema["openapi"].startswith("3.1")
    assert "/api/v1/jobs/{job_id}/" in schema["paths"]


def test_snapshot(schema: Any) -> None:
    """Renew it with ROOFTREE_RENEW_SNAPSHOTS=1 make test ARGS=tests/config/test_openapi.py."""
    text = json.dumps(schema, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    if os.environ.get(RENEW):
        SNAPSHOT.write_text(text, encoding="utf-8")
    assert json.loads(SNAPSHOT.read_text(encoding="utf-8")) == schema, f"renew the snapshot: {RENEW}=1"


def test_schema_is_valid(schema: Any) -> None:
    validate_schema(schema)


@pytest.mark.django_db
def test_documentation_page(client: Client) -> None:
    page = client.get("/api/docs/")
    assert page.status_code == 200
    assert "<script>" not in page.content.decode(), "inline scripts are forbidden by the policy"
