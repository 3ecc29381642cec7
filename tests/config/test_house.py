"""Readiness, metrics, seeding, security headers."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client

from config import seeding
from config.secrets import secret_key
from jobs.models import DataLoad

pytestmark = pytest.mark.django_db


def test_it_works(client: Client) -> None:
    answer = client.get("/healthz")
    assert answer.status_code == 200
    assert answer.json() == {"ready": True, "problems": []}


def test_not_ready_without_the_catalogue(client: Client) -> None:
    DataLoad.objects.filter(app="gpus").delete()
    answer = client.get("/healthz")
    assert answer.status_code == 503
    assert answer.json()["problems"] == ["data of gpus is not loaded"]


def test_unchanged_facts_are_not_loaded_again() -> None:
    assert list(seeding.seed_all()) == []


def test_changed_facts_are_loaded_again() -> None:
    DataLoad.objects.filter(app="gpus").update(version="older")
    assert [line.partition(":")[0] for line in seeding.seed_all()] == ["gpus"]


def test_prepare_may_be_repeated() -> None:
    call_command("prepare")


def test_metrics_name_routes_and_no_input(client: Client) -> None:
    client.get("/gpus/h100-sxm5-80gb/")
    client.get("/some-secret-path/")
    text = client.get("/metrics").content.decode()
    assert 'route="gpus/<str:slug>/"' in text
    assert "some-secret-path" not in text
    assert "rooftree_jobs" in text


def test_security_headers(client: Client) -> None:
    headers = client.get("/gpus/").headers
    policy = headers["Content-Security-Policy"]
    assert "unsafe-inline" not in policy
    assert "unsafe-eval" not in policy
    assert "script-src 'self'" in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"


def test_secret_key_is_made_once_and_private(tmp_path: Path) -> None:
    first = secret_key(tmp_path / "key")
    assert secret_key(tmp_path / "key") == first
    assert len(first) > 40
    assert (tmp_path / "key").stat().st_mode & 0o077 == 0
