"""Fixtures that all tests share. The database of the tests holds the shipped catalogues."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from tests import services


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> None:
    """The shipped facts, loaded once; each test's changes are rolled back."""
    from config.seeding import seed_all

    with django_db_blocker.unblock():
        list(seed_all())


@pytest.fixture
def user(db: None) -> Any:
    """Somebody without special rights."""
    from accounts.models import User

    return User.objects.create_user("ada", password="a long enough password")


@pytest.fixture
def signed_in(client: Client, user: Any) -> Client:
    """A browser in which `user` is signed in."""
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


@pytest.fixture
def api(db: None) -> APIClient:
    """A REST client without credentials."""
    return APIClient()


@pytest.fixture
def api_signed(user: Any) -> APIClient:
    """A REST client with a token that may read and plan."""
    from accounts.services import token_create

    _row, text = token_create(user=user, name="tests")
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Token {text}")
    return client


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """A Redis of this session."""
    with services.redis_server() as address:
        yield address


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A PostgreSQL of this session, empty."""
    with services.postgres_server() as address:
        yield address


@pytest.fixture(scope="session")
def served() -> Iterator[services.ServedHouse]:
    """A whole installation with its worker, served on a free port for the session."""
    with services.served_house() as house:
        yield house


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """The system's Chromium under Playwright."""
    from playwright.sync_api import sync_playwright

    path = services.chromium_path()
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield chromium
        chromium.close()
