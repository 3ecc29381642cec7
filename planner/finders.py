"""Serves the plotly.js that the plotly package ships, so the tree holds no copy of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage

PLOTLY_PATH = "plotly/plotly.min.js"


def plotly_folder() -> Path:
    """Folder of plotly.min.js inside the installed package (found without importing plotly, which is slow)."""
    spec = find_spec("plotly")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("plotly is not installed")
    return Path(spec.origin).parent / "package_data"


class PlotlyFinder(BaseFinder):
    """Finds exactly one file: plotly/plotly.min.js."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.storage = FileSystemStorage(location=plotly_folder())
        self.storage.prefix = "plotly"  # type: ignore[attr-defined]  # read by collectstatic

    def find(self, path: str, find_all: bool = False, **kwargs: Any) -> Any:
        if path != PLOTLY_PATH:
            return []
        found = str(plotly_folder() / "plotly.min.js")
        return [found] if find_all else found

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterator[tuple[str, FileSystemStorage]]:
        yield "plotly.min.js", self.storage
