"""The documentation says what the code does."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.urls import Resolver404, resolve
from rest_framework.test import APIClient

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = (ROOT / "config" / "settings.py").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCUMENTED = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
READ = re.compile(r"env\.\w+\(\s*\"([A-Z_]+)\"")
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
LINKS = re.compile(r"\]\(([^)#]+)\)")


def test_it_works() -> None:
    assert set(READ.findall(SETTINGS)) == set(re.findall(r"^\| `([A-Z_]+)`", DOCUMENTED, re.MULTILINE))


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for link in LINKS.findall((ROOT / page).read_text(encoding="utf-8")):
        assert "://" in link or ((ROOT / page).parent / link).exists(), link


def test_pages_of_the_readme_exist() -> None:
    for path in re.findall(r"\(`(/[^`]+)`", README):
        try:
            resolve(path)
        except Resolver404:
            pytest.fail(f"README names {path}, which is no page")


def test_commands_of_the_readme_exist() -> None:
    from django.core.management import get_commands

    assert set(re.findall(r"manage\.py (\w+)", README)) <= set(get_commands())


def examples() -> list[dict[str, Any]]:
    return [json.loads(text) for text in re.findall(r"-d '\s*(\{.*?\})'", README, re.DOTALL)]


@pytest.mark.django_db
def test_rest_examples_of_the_readme_work(api: APIClient) -> None:
    assert examples()
    for example in examples():
        answer = api.post("/api/v1/predictions/", example)
        assert answer.status_code == 200, answer.content
        assert answer.json()["memory"]["fits"] is True
    for path in re.findall(r"curl -s 'localhost:8000([^']+)'", README):
        assert api.get(path).status_code == 200


def test_make_knows_the_promised_words() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for word in ("run", "test", "lint", "fix", "bench"):
        assert re.search(rf"^{word}:", makefile, re.MULTILINE)


def test_each_dependency_has_its_reason() -> None:
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    declared = re.findall(r'^  "([\w-]+)[^"]*", +# \w', pyproject, re.MULTILINE)
    for name in ("base", "dev"):
        lines = (ROOT / "requirements" / f"{name}.in").read_text(encoding="utf-8").splitlines()
        wanted = [re.match(r"[\w-]+", line).group() for line in lines if line and line[0] not in "#-"]  # type: ignore[union-attr]
        assert set(wanted) <= set(declared)


def test_locks_have_hashes_and_name_no_host() -> None:
    for name in ("base", "dev"):
        text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
        pinned = [line for line in text.splitlines() if "==" in line and not line.lstrip().startswith("#")]
        assert pinned
        assert all(line.endswith("\\") for line in pinned)
        assert not re.search(r"^[^#]*https?://", text, re.MULTILINE)
