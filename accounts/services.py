"""Acts on accounts: tokens and the first administrator."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from datetime import timedelta

from django.core.exceptions import ValidationError
from django.db import transaction
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import ApiToken, Scope, SetupLink, User

LINK_LIFE = timedelta(days=1)
DEFAULT_TOKEN_DAYS = 365


def token_create(
    *, user: User, name: str, scopes: Iterable[str] = (Scope.READ, Scope.PLAN), days: int | None = DEFAULT_TOKEN_DAYS
) -> tuple[ApiToken, str]:
    """Make a token; returns the row and the text, which is never shown again. `days` None never expires."""
    chosen = sorted(set(scopes))
    unknown = set(chosen) - set(Scope.values)
    if unknown or not chosen:
        raise ValidationError({"scopes": [_("Choose from %(scopes)s.") % {"scopes": ", ".join(Scope.values)}]})
    expiry = None if days is None else timedelta(days=days)
    token, text = ApiToken.objects.create(user=user, expiry=expiry, name=name, scopes=chosen)
    return token, text


def token_revoke(*, user: User, token_key: str) -> int:
    """Delete a token of this user; returns how many went."""
    deleted: int = ApiToken.objects.filter(user=user, token_key=token_key).delete()[0]
    return deleted


def setup_needed() -> bool:
    """Whether nobody can administer this installation yet."""
    return not User.objects.filter(is_superuser=True, is_active=True).exists()


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def setup_link_create() -> str:
    """Make a one-time link to the first administrator's sign-in; earlier ones stop working. Returns its path."""
    secret = secrets.token_urlsafe(32)
    SetupLink.objects.usable().delete()
    SetupLink.objects.create(digest=_digest(secret), expires_at=timezone.now() + LINK_LIFE)
    return reverse("setup", args=[secret])


def setup_link_works(secret: str) -> bool:
    """Whether the link is known, unused and not expired, and still needed."""
    return setup_needed() and SetupLink.objects.usable().filter(digest=_digest(secret)).exists()


@transaction.atomic
def setup_complete(*, secret: str, username: str, password: str) -> User | None:
    """Use up the link and make the administrator; None when the link does not work (any more)."""
    if not setup_needed():
        return None
    used = SetupLink.objects.usable().filter(digest=_digest(secret)).update(used_at=timezone.now())
    return User.objects.create_superuser(username=username, password=password) if used else None
