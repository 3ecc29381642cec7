"""Checks of single values that Django does not ship."""

import math

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _


def finite(value: float) -> None:
    """Refuse NaN and the infinities, which pass every comparison or none."""
    if not math.isfinite(value):
        raise ValidationError(_("Enter a finite number."), code="not_finite")
