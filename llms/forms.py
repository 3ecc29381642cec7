"""Forms of language models."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from llms.models import LanguageModel
from llms.services import LARGEST_CONFIG, config_read, model_save


class ModelForm(forms.ModelForm):
    """A name and a config.json, pasted or uploaded."""

    file = forms.FileField(label=gettext_lazy("config.json"), required=False)
    text = forms.CharField(
        label=gettext_lazy("or its text"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 12, "spellcheck": "false"}),
    )

    class Meta:
        model = LanguageModel
        fields = ("name", "source")

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        try:
            self.instance.config = config_read(self._text(cleaned))
        except ValidationError as error:
            self.add_error("text", error.message_dict["config"])
        return cleaned

    def _text(self, cleaned: dict[str, Any]) -> str:
        upload = cleaned.get("file")
        if not upload:
            return cleaned.get("text") or ""
        try:
            return str(upload.read(LARGEST_CONFIG + 1), "utf-8-sig")
        except UnicodeDecodeError as error:
            raise ValidationError({"config": [_("The file is not text in UTF-8.")]}) from error

    def store(self, user: Any) -> LanguageModel | None:
        """Size and store the model; None, with the reason at its field, when it cannot be sized."""
        try:
            return model_save(model=self.instance, user=user)
        except ValidationError as error:
            self.add_error("text", error.messages)
            return None


class SizeForm(forms.Form):
    """A bare size."""

    params_b = forms.FloatField(label=gettext_lazy("Parameters, billions"), min_value=0.01, max_value=100_000)
    active_params_b = forms.FloatField(
        label=gettext_lazy("Active parameters, billions"), min_value=0.01, max_value=100_000, required=False
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        total, active = cleaned.get("params_b"), cleaned.get("active_params_b")
        if total and active and active > total:
            raise ValidationError({"active_params_b": _("At most all parameters can be active.")})
        return cleaned
