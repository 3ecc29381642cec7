"""The page on which a CSV file is previewed and imported."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from faces.tables import MOST_CHARACTERS, Importer, Line, table_import, table_preview


class TableForm(forms.Form):
    """A file, or its text."""

    file = forms.FileField(label=gettext_lazy("CSV file"), required=False)
    text = forms.CharField(
        label=gettext_lazy("or its text"),
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 8, "spellcheck": "false"}),
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        upload = cleaned.get("file")
        if upload:
            cleaned["text"] = _decode(upload.read(MOST_CHARACTERS + 1))
        if not cleaned.get("text"):
            raise ValidationError(_("Choose a file or paste its text."))
        return cleaned


def _decode(raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValidationError(_("The file is not text in UTF-8.")) from error


def import_page(request: HttpRequest, importer: Importer, *, title: Any, done_url: str) -> HttpResponse:
    """Form, then preview, then import. Needs a signed-in user (the caller's decorator)."""
    form = TableForm(request.POST or None, request.FILES or None)
    lines: list[Line] = []
    if form.is_valid():
        try:
            if "confirm" in request.POST:
                table_import(importer, form.cleaned_data["text"], request.user)
                messages.success(request, _("The table was imported."))
                return redirect(done_url)
            lines = table_preview(importer, form.cleaned_data["text"], request.user)
        except ValidationError as error:
            form.add_error(None, error)
    context = {
        "form": form,
        "title": title,
        "lines": lines,
        "text": form.cleaned_data.get("text", "") if form.is_bound and lines else "",
        "wrong": sum(bool(line.errors) for line in lines),
        "columns": list(importer.serializer().fields),
        "done_url": done_url,
    }
    return render(request, "faces/import.html", context, status=422 if form.is_bound and not form.is_valid() else 200)
