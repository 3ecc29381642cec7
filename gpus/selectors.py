"""Reads of accelerators, and their turning into engine values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from faces.names import NameBook
from faces.stamps import Watched, stamps
from gpus.models import COLUMNS, Gpu, GpuAlias
from roofline import hardware


def gpus_visible(user: Any) -> QuerySet[Gpu]:
    """The accelerators that `user` may see."""
    return Gpu.objects.visible_to(user)


def gpu_spec(gpu: Gpu) -> dict[str, Any]:
    """The row as the columns of the specification table."""
    return {column: getattr(gpu, column) for column in COLUMNS}


def gpu_value(gpu: Gpu) -> hardware.Gpu:
    """The row as an engine value. Raises HardwareError when its columns do not suffice."""
    return hardware.Gpu.from_spec({key: "" if value is None else value for key, value in gpu_spec(gpu).items()})


@dataclass(frozen=True)
class GpuBook:
    """The catalogue at one moment, for many look-ups: names and engine values."""

    stamp: str
    names: NameBook
    values: dict[str, hardware.Gpu]
    incomplete: dict[str, hardware.HardwareError]

    def resolve(self, name: str) -> hardware.Gpu:
        """The accelerator that `name` means; CatalogueNameError (a ScenarioError), with near names, if unknown."""
        slug = self.names.resolve(name)
        if slug in self.incomplete:
            raise self.incomplete[slug]
        return self.values[slug]


GPU_TABLES = (Watched(Gpu, "updated_at"), Watched(GpuAlias, "id"))


def catalogue_stamp() -> str:
    """Changes whenever an accelerator or one of its names does."""
    return stamps(GPU_TABLES)[0]


@lru_cache(maxsize=4)
def _book(stamp: str) -> GpuBook:
    values, incomplete = {}, {}
    for gpu in Gpu.objects.all():
        try:
            values[gpu.slug] = gpu_value(gpu)
        except hardware.HardwareError as error:
            incomplete[gpu.slug] = error
    aliases = dict(GpuAlias.objects.values_list("name", "gpu__slug"))
    names = NameBook.of("gpu", _("GPU"), [*values, *incomplete], aliases)
    return GpuBook(stamp, names, values, incomplete)


def gpu_book(user: Any = None, *, stamp: str | None = None) -> GpuBook:
    """The catalogue as it stands; read again only after a change. `stamp`: what `catalogue_stamp` just said, where that is known."""
    return _book(stamp or catalogue_stamp())


def gpu_resolve(name: str, user: Any = None) -> hardware.Gpu:
    """The accelerator that `name` (id, other name, any case) means; CatalogueNameError with near names otherwise."""
    return gpu_book(user).resolve(name)
