"""Names that the form's boxes suggest, read again only after the catalogue changed."""

from __future__ import annotations

from functools import lru_cache

from gpus import selectors as gpus
from llms import selectors as llms
from llms.models import LanguageModel


def model_names() -> list[str]:
    """Ids of all models."""
    return _models(llms.catalogue_stamp())


def gpu_names() -> list[tuple[str, str]]:
    """(id, name) of all accelerators that can be predicted."""
    return [(slug, gpu.name) for slug, gpu in gpus.gpu_book().values.items()]


@lru_cache(maxsize=2)
def _models(stamp: str) -> list[str]:
    return list(LanguageModel.objects.order_by("name").values_list("name", flat=True))
