"""`manage.py inspect_model`: one JSON line a file, errors in their place."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

import roofline

MODELS = Path(roofline.__file__).parent / "data" / "models"


def inspect(*files: Path) -> tuple[list[dict[str, object]], int]:
    out, status = StringIO(), 0
    try:
        call_command("inspect_model", *map(str, files), stdout=out)
    except SystemExit as stop:
        status = int(stop.code or 0)
    return [json.loads(line) for line in out.getvalue().splitlines()], status


def test_it_works() -> None:
    lines, status = inspect(MODELS / "Qwen__Qwen3-8B.json", MODELS / "openai__gpt-oss-20b.json")
    assert status == 0
    assert [line["id"] for line in lines] == ["Qwen__Qwen3-8B.json", "openai__gpt-oss-20b.json"]
    assert lines[1]["window"] == 128


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "invalid_json"),
        ("<html>", "invalid_json"),
        ("[" * 100_000, "invalid_json"),
        ("[1]", "unsupported_architecture"),
        ('{"model_type": "bert"}', "unsupported_architecture"),
        ('{"model_type": "llama", "hidden_size": NaN}', "invalid_config"),
    ],
)
def test_a_bad_file_gives_an_error_on_its_line(tmp_path: Path, text: str, code: str) -> None:
    bad = tmp_path / "config.json"
    bad.write_text(text)
    lines, status = inspect(bad, MODELS / "Qwen__Qwen3-8B.json")
    assert status == 1
    assert lines[0]["id"] == "config.json"
    assert lines[0]["error"]["code"] == code  # type: ignore[index]
    assert lines[1]["total_params"] == 8_190_735_360


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    lines, status = inspect(tmp_path / "missing.json", tmp_path, tmp_path / "binary.json")
    assert status == 1
    assert [line["error"]["code"] for line in lines] == ["invalid_json"] * 3  # type: ignore[index]
