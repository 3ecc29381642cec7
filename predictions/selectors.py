"""Reads of calibrations."""

from typing import Any

from django.db.models import Q, QuerySet

from predictions.models import Calibration


def calibrations_visible(user: Any) -> QuerySet[Calibration]:
    """What `user` may see: their own, and those made for everyone."""
    own = Q(owner=user) if getattr(user, "is_authenticated", False) else Q(pk__in=())
    return Calibration.objects.filter(own | Q(for_everyone=True)).select_related("owner")


def calibration_active(user: Any = None) -> Calibration | None:
    """The calibration that `user`'s predictions carry: their own active one, else the one for everyone."""
    active = Calibration.objects.filter(active=True)
    if not active.exists():  # a quarter of the time of the whole question, and the usual answer
        return None
    return calibrations_visible(user).filter(active=True).order_by("for_everyone").first()
