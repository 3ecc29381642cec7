"""Signing in, and the first administrator."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client, override_settings
from django.utils import timezone

from accounts.models import User
from accounts.services import setup_link_create, setup_needed

pytestmark = pytest.mark.django_db
FORM = {"username": "root", "password1": "correct horse battery", "password2": "correct horse battery"}


def test_it_works(client: Client, user: Any) -> None:
    answer = client.post("/sign-in/", {"username": "ada", "password": "a long enough password"})
    assert answer.status_code == 302
    assert client.get("/tokens/").status_code == 200
    assert client.post("/sign-out/").status_code == 302
    assert client.get("/tokens/").status_code == 302


def test_wrong_password_stays_outside(client: Client, user: Any) -> None:
    assert client.post("/sign-in/", {"username": "ada", "password": "wrong"}).status_code == 200
    assert client.get("/tokens/").status_code == 302


@override_settings(AXES_ENABLED=True, AXES_FAILURE_LIMIT=3)
def test_guessing_is_locked_out(client: Client, user: Any) -> None:
    for _ in range(3):
        client.post("/sign-in/", {"username": "ada", "password": "wrong"})
    answer = client.post("/sign-in/", {"username": "ada", "password": "a long enough password"})
    assert answer.status_code == 429


def test_setup_link_makes_one_administrator_once(client: Client) -> None:
    link = setup_link_create()
    assert client.get(link).status_code == 200
    assert client.get(link).status_code == 200, "looking does not use it up"
    assert client.post(link, FORM).status_code == 302
    assert User.objects.get(username="root").is_superuser
    assert not setup_needed()
    assert Client().get(link).status_code == 404
    assert Client().post(link, {**FORM, "username": "second"}).status_code == 404


def test_setup_link_expires(client: Client) -> None:
    link = setup_link_create()
    with time_machine.travel(timezone.now() + timedelta(days=2)):
        assert client.get(link).status_code == 404


def test_newer_setup_link_ends_the_older(client: Client) -> None:
    older, newer = setup_link_create(), setup_link_create()
    assert client.get(older).status_code == 404
    assert client.get(newer).status_code == 200


def test_weak_password_is_refused(client: Client) -> None:
    link = setup_link_create()
    assert client.post(link, {**FORM, "password1": "1234", "password2": "1234"}).status_code == 200
    assert setup_needed()


@override_settings(ROOFTREE_LOGIN_REQUIRED=True)
def test_installation_may_ask_for_a_sign_in_everywhere(client: Client, signed_in: Client) -> None:
    stranger = Client()
    assert stranger.get("/gpus/").headers["Location"].startswith("/sign-in/")
    assert stranger.get("/api/v1/gpus/").status_code == 401
    assert stranger.get("/healthz").status_code == 200
    assert stranger.get("/sign-in/").status_code == 200
    assert stranger.get("/gpus.json").status_code == 401
    assert signed_in.get("/gpus/").status_code == 200
