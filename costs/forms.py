"""The form of an offer."""

from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from costs.dates import past_day
from costs.models import Offer


class OfferForm(forms.ModelForm):
    """An offer; its date as the source states it."""

    date = forms.CharField(
        label=_("Date"), max_length=10, help_text=_("A day, a month or a year: 2026-07-20, 2026-07.")
    )

    class Meta:
        model = Offer
        fields = (
            "gpu", "provider", "machine", "gpus_per_instance", "region", "price_per_gpu_hour_usd",
            "purchase_model", "date", "source", "notes",
        )  # fmt: skip

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk:
            self.initial["date"] = self.instance.date_stated

    def validate_unique(self) -> None:
        """The date as stated is no box of its own, but part of what makes an offer the same."""
        super().validate_unique()
        if not self.errors:
            try:
                self.instance.validate_constraints()
            except forms.ValidationError as error:
                self.add_error(None, error)

    def clean_date(self) -> Any:
        """The first day of what is stated."""
        stated = self.cleaned_data["date"].strip()
        try:
            first = past_day(stated, timezone.now().date())
        except ValueError as error:
            raise forms.ValidationError(str(error)) from error
        self.instance.date_stated = stated
        return first
