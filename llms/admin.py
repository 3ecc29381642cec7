"""Language models in the administration."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from simple_history.admin import SimpleHistoryAdmin

from llms.models import LanguageModel, ModelAlias
from llms.services import model_size


@admin.register(LanguageModel)
class LanguageModelAdmin(SimpleHistoryAdmin):
    """Configurations with their history; sizes follow from them."""

    list_display = ("name", "family", "total_params", "source_kind", "owner")
    list_filter = ("family", "source_kind")
    search_fields = ("name",)
    readonly_fields = ("family", "total_params", "active_params", "refusal")

    def save_model(self, request: HttpRequest, obj: LanguageModel, form: Any, change: bool) -> None:
        model_size(obj)
        super().save_model(request, obj, form, change)


@admin.register(ModelAlias)
class ModelAliasAdmin(admin.ModelAdmin):
    """Other names."""

    list_display = ("name", "model", "approximate")
    search_fields = ("name", "model__name")
    autocomplete_fields = ("model",)
