"""Calibrations: what confirmed runs taught the engine, versioned; at most one is active for a person, one for
everyone."""

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from roofline import calibration as engine


class Calibration(models.Model):
    """One fit. `cells` is a list of [kind of run, ln(time ratio), runs]; `report` the errors before and after,
    cross-validated."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="calibrations", verbose_name=_("owner")
    )
    name = models.CharField(_("name"), max_length=200)
    version = models.CharField(_("version"), max_length=64, unique=True)
    created_at = models.DateTimeField(_("made"), auto_now_add=True)
    cells = models.JSONField(_("cells"), default=list)
    report = models.JSONField(_("report"), default=dict)
    runs = models.PositiveIntegerField(_("runs"), default=0)
    active = models.BooleanField(_("active"), default=False)
    for_everyone = models.BooleanField(_("for everyone"), default=False)

    class Meta:
        ordering = ("-created_at", "-pk")
        verbose_name = _("calibration")
        verbose_name_plural = _("calibrations")
        constraints = (
            models.UniqueConstraint(
                fields=("owner",), condition=Q(active=True, for_everyone=False), name="one_active_calibration_each"
            ),
            models.UniqueConstraint(
                fields=("for_everyone",), condition=Q(active=True, for_everyone=True), name="one_active_for_everyone"
            ),
        )

    def __str__(self) -> str:
        return f"{self.name} ({self.version})"

    def engine_value(self) -> engine.Calibration:
        """The calibration as the engine reads it."""
        cells: list[Any] = self.cells
        return engine.Calibration(self.version, {tuple(kind): float(bias) for kind, bias, _runs in cells})
