"""Pages of language models."""

import json
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from faces.history import changes
from faces.imports import import_page
from faces.lists import Column, Listing, listing_response
from faces.numbers import billions, exact
from faces.tables import Importer
from llms.filters import LanguageModelFilter
from llms.forms import ModelForm, SizeForm
from llms.models import LanguageModel
from llms.selectors import models_visible
from llms.serializers import LanguageModelDetailSerializer, LanguageModelLineSerializer, LanguageModelSerializer
from roofline.architecture import UnsupportedArchitecture, typical

LISTING = Listing(
    title=_("Models"),
    about=_("Sizes are computed from each model's published configuration, to the parameter."),
    columns=(
        Column("name", _("Name"), link=lambda model: reverse("model", args=[model.name])),
        Column("family", _("Family")),
        Column("total_params", _("Parameters"), number=True, write=billions),
        Column("active_params", _("Active"), number=True, write=billions),
        Column("kv_bytes_per_token", _("KV bytes per token"), number=True, write=exact),
        Column("source_kind", _("Configuration")),
    ),
    filters=LanguageModelFilter,
    serializer=LanguageModelSerializer,
    line_serializer=LanguageModelLineSerializer,
    new_url="model-new",
    import_url="models-import",
)
IMPORTER = Importer(
    serializer=LanguageModelDetailSerializer,
    find=lambda cells: LanguageModel.objects.filter(name=cells.get("name", "")).first(),
    key=("name",),
)


def models(request: HttpRequest, form: str = "html") -> HttpResponse:
    """All models."""
    return listing_response(request, LISTING, models_visible(request.user).prefetch_related("aliases"), form)


def model(request: HttpRequest, name: str, form: str = "html") -> HttpResponse:
    """One model: its sizes, where they come from, its configuration, its history."""
    row = get_object_or_404(models_visible(request.user).prefetch_related("aliases"), name=name)
    if form == "json":
        return JsonResponse(LanguageModelDetailSerializer(row).data)
    context = {
        "model": row,
        "sizes": _sizes(row.summary),
        "parts": row.summary.get("parts", {}),
        "config": json.dumps(row.config, indent=2),
        "changes": list(changes(row)),
    }
    return render(request, "llms/model.html", context)


def _sizes(summary: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(name, value) for name, value in summary.items() if name not in ("parts", "name") and value is not None]


@login_required
def model_new(request: HttpRequest) -> HttpResponse:
    """Add a model by its config.json."""
    return _edit(request, None)


@login_required
def model_edit(request: HttpRequest, name: str) -> HttpResponse:
    """Change a model; its history keeps what it was."""
    return _edit(request, get_object_or_404(models_visible(request.user), name=name))


def _edit(request: HttpRequest, row: LanguageModel | None) -> HttpResponse:
    initial = {"text": json.dumps(row.config, indent=2)} if row else {}
    form = ModelForm(request.POST or None, request.FILES or None, instance=row, initial=initial)
    stored = form.store(request.user) if form.is_valid() else None
    if stored:
        return redirect("model", stored.name)
    title = row.name if row else _("New model")
    return render(request, "faces/edit.html", {"form": form, "title": title, "back_url": reverse("models")})


@login_required
def models_import(request: HttpRequest) -> HttpResponse:
    """Add and change models by a CSV file with a column `config`."""
    return import_page(request, IMPORTER, title=_("Import models"), done_url=reverse("models"))


def model_size(request: HttpRequest) -> HttpResponse:
    """What a bare size means: the typical dimensions that the planner would take, and the sizes that follow."""
    form = SizeForm(request.GET or None)
    context: dict[str, Any] = {"form": form}
    if form.is_valid():
        try:
            architecture = typical(form.cleaned_data["params_b"], form.cleaned_data["active_params_b"])
            context |= {"architecture": architecture, "sizes": _sizes(architecture.summary())}
        except UnsupportedArchitecture as error:
            form.add_error(None, str(error))
    return render(request, "llms/size.html", context)
