"""Loads the three case studies that ship with the product."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from planner.services import case_study_load

CASE_STUDIES = Path(__file__).parent / "data" / "case_studies.json"
DATA_FILES = [CASE_STUDIES]


def case_study_facts() -> list[dict[str, Any]]:
    """The shipped studies."""
    facts: list[dict[str, Any]] = json.loads(CASE_STUDIES.read_text(encoding="utf-8"))
    return facts


def seed() -> str:
    """Write the case studies; a line that says what was loaded."""
    studies = [case_study_load(facts=facts, position=position) for position, facts in enumerate(case_study_facts())]
    return f"{len(studies)} case studies"
