"""API tokens: made once, shown once, limited in time and scope."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
import time_machine
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import ApiToken
from accounts.services import token_create
from jobs.services import job_create

pytestmark = pytest.mark.django_db
NEW_GPU = {
    "slug": "own-1",
    "name": "Own 1",
    "vendor": "Own",
    "memory_gb": 80,
    "mem_bandwidth_gbs": 2000,
    "bf16_dense_tflops": 300,
}


def with_token(text: str) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Token {text}")
    return client


def test_it_works(user: Any) -> None:
    row, text = token_create(user=user, name="nightly")
    assert text not in (row.digest, row.token_key)
    assert with_token(text).post("/api/v1/gpus/", NEW_GPU).status_code == 201


@pytest.mark.parametrize("text", ["nonsense", "", "a b c", "ü"])
def test_wrong_token_is_refused(text: str, db: None) -> None:
    answer = with_token(text).get("/api/v1/gpus/")
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "authentication_failed"


def test_token_expires(user: Any) -> None:
    _row, text = token_create(user=user, name="short", days=1)
    assert with_token(text).get("/api/v1/gpus/").status_code == 200
    with time_machine.travel(timezone.now() + timedelta(days=2)):
        assert with_token(text).get("/api/v1/gpus/").status_code == 401


def test_scope_is_enforced(user: Any) -> None:
    _row, text = token_create(user=user, name="reader", scopes=["read"])
    assert with_token(text).get("/api/v1/gpus/").status_code == 200
    answer = with_token(text).post("/api/v1/gpus/", NEW_GPU)
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "permission_denied"


def test_command_prints_a_token_that_works(user: Any) -> None:
    out = StringIO()
    call_command("create_token", "ada", "--scope", "read,plan", stdout=out)
    assert with_token(out.getvalue().strip()).post("/api/v1/gpus/", NEW_GPU).status_code == 201


def test_command_makes_a_missing_user_without_a_password(client: Client) -> None:
    out, told = StringIO(), StringIO()
    call_command("create_token", "bob", stdout=out, stderr=told)
    assert with_token(out.getvalue().strip()).post("/api/v1/gpus/", NEW_GPU).status_code == 201
    assert "Made the user bob" in told.getvalue()
    assert not client.login(username="bob", password="")


def test_command_refuses_bad_name_and_unknown_scope(user: Any) -> None:
    with pytest.raises(CommandError, match="valid username"):
        call_command("create_token", "a b")
    with pytest.raises(CommandError, match="Choose from"):
        call_command("create_token", "ada", "--scope", "everything")


def test_page_shows_a_new_token_once(signed_in: Client) -> None:
    answer = signed_in.post("/tokens/", {"name": "laptop", "scopes": ["read"], "days": "30"})
    text = answer.context["made"]
    assert text in answer.content.decode()
    assert text not in signed_in.get("/tokens/").content.decode()
    assert with_token(text).get("/api/v1/gpus/").status_code == 200


def test_page_revokes_only_own_tokens(signed_in: Client, django_user_model: Any) -> None:
    other = django_user_model.objects.create_user("eve")
    foreign, _text = token_create(user=other, name="theirs")
    signed_in.post(f"/tokens/{foreign.token_key}/revoke/")
    assert ApiToken.objects.filter(pk=foreign.pk).exists()


def test_page_needs_a_sign_in(client: Client) -> None:
    assert client.get("/tokens/").headers["Location"].startswith("/sign-in/")


def test_reader_may_predict_but_not_cancel(user: Any) -> None:
    _row, text = token_create(user=user, name="reader", scopes=["read"])
    assert with_token(text).post("/api/v1/predictions/", {}).status_code == 400
    job = job_create(kind="counting", payload={}, total=1, owner=user)
    assert with_token(text).post(f"/api/v1/jobs/{job.pk}/cancel/").status_code == 403
