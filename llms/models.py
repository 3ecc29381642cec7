"""Language models: the configuration as published, and the sizes that follow from it."""

from __future__ import annotations

from typing import Any, ClassVar

from django.core.validators import RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _
from simple_history.models import HistoricalRecords

from accounts.models import Owned

NAME = RegexValidator(
    r"^[A-Za-z0-9][\w.-]*(/[\w.-]+)?$",
    _("Letters, digits, full stops, hyphens and underscores, with at most one slash."),
)


class LanguageModelQuerySet(models.QuerySet["LanguageModel"]):
    """Models as a user may see them."""

    def visible_to(self, user: Any) -> LanguageModelQuerySet:
        """All: catalogues are shared by everybody on an installation."""
        return self.all()

    def supported(self) -> LanguageModelQuerySet:
        """Those that the engine can size."""
        return self.filter(refusal="")


def _size(label: Any, help_text: Any = "") -> models.BigIntegerField[Any, Any]:
    return models.BigIntegerField(label, null=True, editable=False, help_text=help_text)


class LanguageModel(Owned):
    """One model. All sizes are computed from `config`; none is typed in."""

    name = models.CharField(_("id"), max_length=120, unique=True, validators=[NAME])
    config = models.JSONField(_("configuration"), help_text=_("A Hugging Face config.json, as it is."))
    family = models.CharField(_("family"), max_length=60, editable=False)
    total_params = _size(_("parameters"))
    active_params = _size(_("active parameters"), _("Used for one token."))
    kv_bytes_per_token = _size(_("KV bytes per token"), _("16-bit, of the layers whose cache grows without bound."))
    summary = models.JSONField(_("sizes"), default=dict, editable=False)
    warnings = models.JSONField(_("warnings"), default=list, editable=False)
    refusal = models.TextField(_("why it cannot be sized"), blank=True, editable=False)
    source = models.CharField(_("source"), max_length=500, blank=True)
    source_kind = models.CharField(_("kind of source"), max_length=40, blank=True)
    updated_at = models.DateTimeField(_("changed"), auto_now=True)

    history = HistoricalRecords(excluded_fields=["updated_at", "summary", "warnings"])
    objects = LanguageModelQuerySet.as_manager()

    class Meta:
        ordering: ClassVar[list[str]] = ["name"]
        verbose_name = _("language model")
        verbose_name_plural = _("language models")

    def __str__(self) -> str:
        return self.name


class ModelAlias(Owned):
    """Another name of a language model."""

    name = models.CharField(_("name"), max_length=120, unique=True)
    model = models.ForeignKey(
        LanguageModel, verbose_name=_("language model"), on_delete=models.CASCADE, related_name="aliases"
    )
    approximate = models.BooleanField(
        _("approximate"), default=False, help_text=_("Near in dimensions, not the same checkpoint.")
    )

    class Meta:
        ordering: ClassVar[list[str]] = ["name"]
        verbose_name = _("other name")
        verbose_name_plural = _("other names")

    def __str__(self) -> str:
        return self.name
