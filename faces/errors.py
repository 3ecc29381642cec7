"""One shape for every error: JSON for programs, a page in the same frame for people."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

Fields = Mapping[str, list[str]]


def error_body(code: str, message: str, fields: Fields | None = None) -> dict[str, Any]:
    """The body that every face gives: `{"error": {"code", "message", "fields"}}`."""
    return {"error": {"code": code, "message": message, "fields": dict(fields or {})}}


def is_api(request: HttpRequest) -> bool:
    """Whether a program asks: under /api/, or a .json twin, or by its Accept header."""
    if request.path.startswith("/api/") or request.path.endswith(".json"):
        return True
    accept = request.headers.get("Accept", "")
    return "application/json" in accept and "text/html" not in accept


def error_response(
    request: HttpRequest, status: int, code: str, message: str, fields: Fields | None = None
) -> HttpResponse:
    """The error as JSON or as a page, whichever the caller reads."""
    if is_api(request):
        return JsonResponse(error_body(code, message, fields), status=status)
    template = {404: "404.html", 500: "500.html"}.get(status, "error.html")
    return render(request, template, {"status": status, "code": code, "message": message}, status=status)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400."""
    return error_response(request, 400, "bad_request", _("The request could not be read."))


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403."""
    return error_response(request, 403, "permission_denied", str(exception) or _("You may not do this."))


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404."""
    return error_response(request, 404, "not_found", _("There is nothing at this address."))


def server_error(request: HttpRequest) -> HttpResponse:
    """500: says nothing of the cause; the log does."""
    return error_response(request, 500, "server_error", _("Something broke on our side; it was logged."))


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403 for a form without its token."""
    return error_response(request, 403, "csrf_failed", _("The form is stale: reload the page and try again."))
