"""Language models in the administration."""

from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest
from simple_history.admin import SimpleHistoryAdmin

from llms.models import LanguageModel, ModelAlias
from llms.services import model_size


@admin.register(LanguageModel)
class LanguageModelAdmin(SimpleHistoryAdmin):
    """Configurations with their history; sizes follow from them."""

    list_display: ClassVar[tuple[str, ...]] = ("name", "family", "total_params", "source_kind", "owner")
    list_filter: ClassVar[tuple[str, ...]] = ("family", "source_kind")
    search_fields: ClassVar[tuple[str, ...]] = ("name",)
    readonly_fields: ClassVar[tuple[str, ...]] = ("family", "total_params", "active_params", "refusal")

    def save_model(self, request: HttpRequest, obj: LanguageModel, form: Any, change: bool) -> None:
        model_size(obj)
        super().save_model(request, obj, form, change)


@admin.register(ModelAlias)
class ModelAliasAdmin(admin.ModelAdmin):
    """Other names."""

    list_display: ClassVar[tuple[str, ...]] = ("name", "model", "approximate")
    search_fields: ClassVar[tuple[str, ...]] = ("name", "model__name")
    autocomplete_fields: ClassVar[tuple[str, ...]] = ("model",)
