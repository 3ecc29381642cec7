"""The page of formats is complete."""

import re
from pathlib import Path

from benchmarks_ingest.parsers import registry

PAGE = Path(__file__).parents[2] / "docs" / "formats.md"


def test_every_format_has_its_line() -> None:
    documented = re.findall(r"^\| `([\w.-]+)` \|", PAGE.read_text(), re.MULTILINE)
    formats = set(registry().formats())
    assert formats - set(documented) == set()
    assert {name for name in documented if "-" in name} - formats == set()
