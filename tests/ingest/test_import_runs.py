"""`manage.py import_runs`: files, folders and archives in, JSON lines out."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from .serving_cases import VLLM, dumps
from .test_reading import zipped


def imported(*paths: Path) -> list[dict[str, Any]]:
    out = io.StringIO()
    call_command("import_runs", "--dry-run", *map(str, paths), stdout=out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_it_works(tmp_path: Path) -> None:
    folder = tmp_path / "h100"
    folder.mkdir()
    (folder / "a.json").write_text(dumps(VLLM))
    (folder / "b.txt").write_bytes(b"")
    (tmp_path / "c.zip").write_bytes(zipped(a=dumps({**VLLM, "duration": 25.0}).encode()))
    lines = imported(folder, tmp_path / "c.zip")
    assert [(Path(line["file"]).name, line["status"]) for line in lines] == [
        ("a.json", "to_confirm"),
        ("b.txt", "refused"),
        ("a", "to_confirm"),
    ]
    assert lines[0]["run"]["ttft_mean_s"] == 0.15


def test_the_same_run_twice_is_a_duplicate(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text(dumps(VLLM))
    assert [line["status"] for line in imported(tmp_path)] == ["to_confirm", "duplicate"]


def test_a_missing_file_ends_with_status_one(tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        imported(tmp_path / "none.json")


def test_a_large_file_is_refused_unread(tmp_path: Path) -> None:
    with (tmp_path / "big.json").open("wb") as big:
        big.truncate(2 * 2**30)
    (line,) = imported(tmp_path / "big.json")
    assert "2048 MB" in line["reason"]
