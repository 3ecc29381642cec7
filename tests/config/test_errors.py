"""Errors have one shape on every face."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client, override_settings
from rest_framework.test import APIClient

pytestmark = pytest.mark.django_db


def shape(answer: Any) -> dict[str, Any]:
    error = answer.json()["error"]
    assert set(error) == {"code", "message", "fields"}
    assert error["message"]
    return error


def test_it_works(client: Client) -> None:
    assert shape(client.get("/api/v1/nothing/"))["code"] == "not_found"


def test_page_gets_a_page(client: Client) -> None:
    answer = client.get("/nothing/")
    assert answer.status_code == 404
    assert "<nav" in answer.content.decode()


@override_settings(ROOFTREE_MAX_BODY_BYTES=1000)
def test_large_body_is_refused(client: Client) -> None:
    answer = client.post("/api/v1/predictions/", "x" * 1001, content_type="application/json")
    assert answer.status_code == 413
    assert shape(answer)["code"] == "too_large"


def test_ten_megabytes_are_refused(client: Client) -> None:
    body = '{"name": "' + "x" * 10_000_000 + '"}'
    assert client.post("/api/v1/predictions/", body, content_type="application/json").status_code == 413


@pytest.mark.parametrize(
    "body", ["", "{", "[1, 2", "\x00", '{"a": 1e}', "<html></html>", "\ud800".encode("utf-8", "surrogatepass")]
)
def test_broken_json(api_signed: APIClient, body: str | bytes) -> None:
    answer = api_signed.post("/api/v1/gpus/", body, content_type="application/json")
    assert answer.status_code == 400
    shape(answer)


@pytest.mark.parametrize("depth", [41, 900, 100_000])
def test_deep_json(api_signed: APIClient, depth: int) -> None:
    answer = api_signed.post("/api/v1/gpus/", "[" * depth + "]" * depth, content_type="application/json")
    assert answer.status_code == 400
    assert shape(answer)["code"] == "parse_error"


def test_nan_is_no_json(api_signed: APIClient) -> None:
    answer = api_signed.post("/api/v1/gpus/", '{"memory_gb": NaN}', content_type="application/json")
    assert answer.status_code == 400


def test_wrong_content_type(api_signed: APIClient) -> None:
    answer = api_signed.post("/api/v1/gpus/", "a=1", content_type="text/plain")
    assert answer.status_code == 415
    assert shape(answer)["code"] == "unsupported_media_type"


def test_wrong_method(api_signed: APIClient) -> None:
    answer = api_signed.delete("/api/v1/gpus/")
    assert answer.status_code == 405
    shape(answer)


def test_field_errors_name_their_fields(api_signed: APIClient) -> None:
    answer = api_signed.post("/api/v1/gpus/", {"slug": "Bad Slug", "name": "x", "vendor": "x", "memory_gb": -1})
    assert answer.status_code == 400
    error = shape(answer)
    assert error["code"] == "invalid"
    assert {"slug", "memory_gb"} <= set(error["fields"])


def test_change_without_sign_in(api: APIClient) -> None:
    answer = api.post("/api/v1/gpus/", {"slug": "x"})
    assert answer.status_code == 401
    assert shape(answer)["code"] == "not_authenticated"


def test_form_without_its_token(user: Any) -> None:
    client = Client(enforce_csrf_checks=True)
    answer = client.post("/sign-in/", {"username": "ada"})
    assert answer.status_code == 403
    assert "stale" in answer.content.decode()
