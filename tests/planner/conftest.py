"""Fixtures of the pages' tests: an engine of plain arithmetic, saved scenarios."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from planner.models import Scenario
from planner.services import scenario_create
from tests.planner.fakes import fake_engine

SERVING = {
    "workload": "inference",
    "model": "llama-3.1-70b",
    "gpu": "h100-sxm",
    "gpu_count": 8,
    "inference": {"weights": "fp8"},
}
TRAINING = {
    "workload": "training",
    "model": "llama-3.1-8b",
    "gpu": "h100-sxm",
    "gpu_count": 64,
    "training": {"total_tokens": 1e12},
}


@pytest.fixture
def plain_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Predictions by plain arithmetic, so that a page's test does not depend on coefficients."""
    monkeypatch.setattr("predictions.services.engine_predict", fake_engine)


@pytest.fixture
def saved(user: Any) -> Callable[..., Scenario]:
    """Makes saved scenarios of `user`."""

    def make(name: str = "eight H100", tags: tuple[str, ...] = (), **changes: Any) -> Scenario:
        return scenario_create(owner=user, name=name, scenario={**SERVING, **changes}, tags=tags)

    return make
