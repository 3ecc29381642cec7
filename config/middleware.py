"""What happens to every request: it is measured, bounded in size and, where an installation says so, signed in."""

import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.translation import gettext as _

from config.metrics import REQUEST_SECONDS
from faces.errors import error_response, is_api

UPLOADS = "/api/v1/uploads/"  # takes a file as the raw body
NextStep = Callable[[HttpRequest], HttpResponse]


def _route(request: HttpRequest) -> str:
    """The pattern that matched, so that a label never holds user input."""
    match = request.resolver_match
    return match.route if match else "unmatched"


class RequestMetricsMiddleware:
    """Times each request by route and status."""

    def __init__(self, get_response: NextStep) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        start = time.perf_counter()
        response = self.get_response(request)
        seconds = time.perf_counter() - start
        REQUEST_SECONDS.labels(request.method, _route(request), response.status_code).observe(seconds)
        return response


def _body_limit(request: HttpRequest) -> int:
    """Files may be larger than JSON and form fields."""
    file = (request.content_type or "").startswith("multipart/") or request.path == UPLOADS
    limit: int = settings.ROOFTREE_MAX_UPLOAD_BYTES if file else settings.ROOFTREE_MAX_BODY_BYTES
    return limit


class BodyLimitMiddleware:
    """Refuses a body over the limit before anything reads it."""

    def __init__(self, get_response: NextStep) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        limit = _body_limit(request)
        if int(request.META.get("CONTENT_LENGTH") or 0) <= limit:
            return self.get_response(request)
        message = _("The body is larger than %(limit)d bytes, the most that is read.") % {"limit": limit}
        return error_response(request, 413, "too_large", message)


class LoginMiddleware(LoginRequiredMiddleware):
    """Asks for a sign-in everywhere when ROOFTREE_LOGIN_REQUIRED is set; REST says 401 by its own permission."""

    def process_view(
        self,
        request: HttpRequest,
        view_func: Callable[..., Any],
        view_args: tuple[Any, ...],
        view_kwargs: dict[str, Any],
    ) -> HttpResponseBase | None:
        if not settings.ROOFTREE_LOGIN_REQUIRED or request.path.startswith("/api/"):
            return None
        refusal = super().process_view(request, view_func, view_args, view_kwargs)
        if refusal is not None and is_api(request):
            return error_response(request, 401, "not_authenticated", _("Sign in first."))
        return refusal
