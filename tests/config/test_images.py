"""The distributed installation uses the settings that there are."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = (ROOT / "config" / "settings.py").read_text(encoding="utf-8")


def test_it_works() -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))["services"]
    assert set(services) == {"web", "worker", "postgres", "redis"}
    assert services["web"]["environment"] == services["worker"]["environment"]


def test_variables_are_known() -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))["services"]
    image = re.findall(r"\b(ROOFTREE_\w+)=", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
    for name in [*services["web"]["environment"], *image]:
        assert f'"{name}"' in SETTINGS
