"""Reads of language models, and their turning into engine values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from faces.names import NameBook
from faces.stamps import Watched, stamps
from llms.models import LanguageModel, ModelAlias
from roofline.architecture import Architecture, UnsupportedArchitecture, parse
from roofline.errors import ScenarioError


def models_visible(user: Any) -> QuerySet[LanguageModel]:
    """The models that `user` may see."""
    return LanguageModel.objects.visible_to(user)


@dataclass(frozen=True)
class ModelBook:
    """The catalogue at one moment, for many look-ups. Configurations are read and sized when first asked for."""

    stamp: str
    names: NameBook

    def resolve(self, name: str) -> Architecture:
        """The model that `name` means. ScenarioError for an unknown one (CatalogueNameError, with near names) and for
        one that the engine cannot size."""
        known = self.names.resolve(name)
        try:
            return _architecture(self.stamp, known)
        except UnsupportedArchitecture as error:
            refusal = ScenarioError({"model": [f"{known}: {error}"]})
            refusal.code = error.code
            raise refusal from error


@lru_cache(maxsize=512)
def _architecture(stamp: str, name: str) -> Architecture:
    return parse(LanguageModel.objects.only("config").get(name=name).config, name=name)


MODEL_TABLES = (Watched(LanguageModel, "updated_at"), Watched(ModelAlias, "id"))


def catalogue_stamp() -> str:
    """Changes whenever a model or one of its names does."""
    return stamps(MODEL_TABLES)[0]


@lru_cache(maxsize=4)
def _book(stamp: str) -> ModelBook:
    names = LanguageModel.objects.values_list("name", flat=True)
    aliases = dict(ModelAlias.objects.values_list("name", "model__name"))
    return ModelBook(stamp, NameBook.of("model", _("model"), names, aliases))


def model_book(user: Any = None, *, stamp: str | None = None) -> ModelBook:
    """The catalogue as it stands; read again only after a change. `stamp`: what `catalogue_stamp` just said, where that is known."""
    return _book(stamp or catalogue_stamp())


def model_resolve(name: str, user: Any = None) -> Architecture:
    """The model that `name` (id, unique last part, other name, any case) means; see ModelBook.resolve for errors."""
    return model_book(user).resolve(name)
