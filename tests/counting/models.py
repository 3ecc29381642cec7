"""Rows that the counting job writes; deliberately without a constraint, so that doing a unit twice shows."""

from typing import ClassVar

from django.db import models


class CountedUnit(models.Model):
    """One unit done once."""

    objects: ClassVar[models.Manager]

    job = models.UUIDField()
    unit = models.IntegerField()
    process = models.IntegerField()

    def __str__(self) -> str:
        return str(self.unit)
