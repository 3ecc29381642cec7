"""Users and the tokens by which programs act for them."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from knox.models import AbstractAuthToken


class User(AbstractUser):  # type: ignore[django-manager-missing]  # tokens are reached through ApiToken
    """A person who signs in."""


class Owned(models.Model):
    """A row that somebody made; rows that ship with the project have no owner."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("owner"),
        null=True,
        blank=True,
        editable=False,
        on_delete=models.SET_NULL,
        related_name="+",
    )

    class Meta:
        abstract = True


class Scope(models.TextChoices):
    """What a token may do."""

    READ = "read", _("read")
    PLAN = "plan", _("plan: scenarios, sweeps, catalogue changes")
    UPLOAD = "upload", _("upload measured runs")


class ApiToken(AbstractAuthToken):
    """A named token with scopes. Only its digest is kept."""

    name = models.CharField(_("name"), max_length=80)
    scopes = models.JSONField(_("scopes"), default=list)

    class Meta:
        verbose_name = _("API token")
        verbose_name_plural = _("API tokens")
        ordering: ClassVar[list[str]] = ["-created"]

    def __str__(self) -> str:
        return self.name

    def allows(self, scope: str) -> bool:
        """Whether the token carries `scope`; whoever may change may read."""
        return scope in self.scopes or (scope == Scope.READ and Scope.PLAN in self.scopes)

    @property
    def scope_names(self) -> str:
        """The scopes as one line."""
        return ", ".join(self.scopes)


class SetupLinkQuerySet(models.QuerySet["SetupLink"]):
    """Links that still work."""

    def usable(self) -> SetupLinkQuerySet:
        """Neither used nor expired."""
        return self.filter(used_at=None, expires_at__gt=timezone.now())


class SetupLink(models.Model):
    """A one-time address that makes the first administrator. Only its digest is kept."""

    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    objects = SetupLinkQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.created_at:%Y-%m-%d %H:%M}"
