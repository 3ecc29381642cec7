"""The form of an accelerator."""

from typing import Any, ClassVar

from django import forms

from gpus.models import COLUMNS, Gpu
from roofline import hardware


class GpuForm(forms.ModelForm):
    """All columns of the specification table."""

    class Meta:
        model = Gpu
        fields = COLUMNS
        widgets: ClassVar[dict[str, Any]] = {
            "release_date": forms.DateInput(attrs={"type": "date"}),
            "notes": forms.Textarea(attrs={"rows": 3}),
        }

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        try:
            hardware.Gpu.from_spec({key: "" if value is None else value for key, value in cleaned.items()})
        except hardware.HardwareError as error:
            for column, messages in error.fields.items():
                if column not in self.errors:
                    self.add_error(column, messages)
        return cleaned
