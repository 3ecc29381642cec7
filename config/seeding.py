"""Loads the facts that ship with the project: an app with facts has a module `seeding` with `DATA_FILES`, `seed()`."""

import hashlib
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from django.conf import settings

from jobs.models import DataLoad


def _modules() -> Iterator[tuple[str, ModuleType]]:
    """The seeding modules, in the order of the floors."""
    for name in settings.ROOFTREE_APPS:
        if name != "config" and find_spec(f"{name}.seeding"):
            yield name, import_module(f"{name}.seeding")


def _version(module: ModuleType) -> str:
    """A hash of the data and of the code that reads it."""
    digest = hashlib.sha256()
    for path in [Path(module.__file__ or ""), *sorted(module.DATA_FILES)]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def seeds_missing() -> list[str]:
    """Apps whose facts were never loaded."""
    loaded = set(DataLoad.objects.values_list("app", flat=True))
    return [name for name, _ in _modules() if name not in loaded]


def seed_all(*, force: bool = False) -> Iterator[str]:
    """Load what changed since the last time; yields a line for each app that was loaded."""
    loaded = dict(DataLoad.objects.values_list("app", "version"))
    for name, module in _modules():
        version = _version(module)
        if force or loaded.get(name) != version:
            summary = module.seed()
            DataLoad.objects.update_or_create(app=name, defaults={"version": version, "summary": summary})
            yield f"{name}: {summary}"
