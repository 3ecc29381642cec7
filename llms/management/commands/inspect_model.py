"""`manage.py inspect_model config.json …`: what a configuration amounts to, one JSON line a file."""

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from roofline.architecture import UnsupportedArchitecture, parse

LARGEST_FILE = 16 * 2**20  # bytes; the longest published configuration has a tenth of it


class Command(BaseCommand):
    help = "Print parameters, KV cache and FLOPs of Hugging Face config.json files, one JSON line each."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("files", nargs="+", metavar="config.json")

    def handle(self, *args: Any, **options: Any) -> None:
        lines = [inspected(Path(file)) for file in options["files"]]
        for line in lines:
            self.stdout.write(json.dumps(line, allow_nan=False))
        if any("error" in line for line in lines):
            sys.exit(1)


def inspected(path: Path) -> dict[str, Any]:
    """The `model` block of a file, or the reason why there is none."""
    try:
        architecture = parse(_read(path), name=path.name)
    except UnsupportedArchitecture as error:
        return _failed(path, error.code, error.message)
    except (OSError, ValueError, RecursionError) as error:
        return _failed(path, "invalid_json", _reason(error))
    block = {key: value for key, value in architecture.summary().items() if key != "name"}
    return {"id": path.name, **block, "model_type": architecture.model_type, "warnings": list(architecture.warnings)}


def _read(path: Path) -> Any:
    if path.is_file() and path.stat().st_size > LARGEST_FILE:
        raise ValueError(f"a configuration has at most {LARGEST_FILE} bytes")
    return json.loads(path.read_text(encoding="utf-8-sig"))


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "not a configuration: nested too deeply"
    if isinstance(error, OSError):
        return f"cannot be read: {error.strerror}"
    return f"not JSON: {error}"


def _failed(path: Path, code: str, message: str) -> dict[str, Any]:
    return {"id": path.name, "error": {"code": code, "message": message}}
