"""Forms of accounts."""

from django import forms
from django.contrib.auth.forms import BaseUserCreationForm
from django.utils.translation import gettext_lazy as _

from accounts.models import Scope, User

LIFETIMES = [("30", _("30 days")), ("90", _("90 days")), ("365", _("one year")), ("", _("never expires"))]


class TokenForm(forms.Form):
    """What a new token is called, may do, and how long it lives."""

    name = forms.CharField(label=_("Name"), max_length=80, help_text=_("Where it will be used."))
    scopes = forms.MultipleChoiceField(
        label=_("May"), choices=Scope.choices, widget=forms.CheckboxSelectMultiple, initial=[Scope.READ, Scope.PLAN]
    )
    days = forms.TypedChoiceField(
        label=_("Expires after"), choices=LIFETIMES, coerce=int, empty_value=None, required=False, initial="365"
    )


class SetupForm(BaseUserCreationForm):
    """The first administrator's name and password."""

    class Meta:
        model = User
        fields = ("username",)
