"""Who may call what over REST."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from rest_framework.permissions import SAFE_METHODS, BasePermission

from accounts.models import ApiToken, Scope

if TYPE_CHECKING:  # rest_framework.views itself imports this module
    from rest_framework.request import Request
    from rest_framework.views import APIView


def _scope_needed(request: Request, view: APIView) -> str:
    """`read` to look and to compute; to change, what the view names in `scope`."""
    if request.method in SAFE_METHODS:
        return Scope.READ
    return getattr(view, "scope", Scope.READ if getattr(view, "stateless", False) else Scope.PLAN)


def _is_open(request: Request, view: APIView) -> bool:
    """Reading, and views that change no shared data, need no sign-in unless the installation says so."""
    harmless = request.method in SAFE_METHODS or getattr(view, "stateless", False)
    return harmless and not settings.ROOFTREE_LOGIN_REQUIRED


class ScopedAccess(BasePermission):
    """The default of every REST view.

    A view may set `scope` (what a change needs) and `stateless` (its POST changes no shared data).
    """

    message = "This token does not carry the scope that the call needs."

    def has_permission(self, request: Request, view: APIView) -> bool:
        if not request.user.is_authenticated:
            return _is_open(request, view)
        if isinstance(request.auth, ApiToken):
            return request.auth.allows(_scope_needed(request, view))
        return True
