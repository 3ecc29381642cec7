"""Every refusal of a REST call in the one shape of errors."""

from collections.abc import Iterator
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.core.exceptions import ValidationError as DjangoValidationError
from django.http import Http404
from django.utils.translation import gettext as _
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from faces.errors import error_body

NON_FIELD = "__all__"


def _flatten(detail: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """(field path, sentence) of each complaint in a nested error detail."""
    if isinstance(detail, dict):
        for key, value in detail.items():
            name = "" if key in ("non_field_errors", NON_FIELD) else str(key)
            yield from _flatten(value, ".".join(part for part in (path, name) if part))
    elif isinstance(detail, list | tuple):
        for index, value in enumerate(detail):
            nested = isinstance(value, dict)
            yield from _flatten(value, f"{path}[{index}]" if nested and value else path)
    else:
        yield path, str(detail)


def field_errors(detail: Any) -> dict[str, list[str]]:
    """Complaints by the dotted path of their field; those of no field are under `__all__`."""
    fields: dict[str, list[str]] = {}
    for path, message in _flatten(detail):
        fields.setdefault(path or NON_FIELD, []).append(message)
    return fields


def first_sentence(fields: dict[str, list[str]]) -> str:
    """One sentence for a person who reads only one."""
    path, messages = next(iter(fields.items()))
    return messages[0] if path == NON_FIELD else f"{path}: {messages[0]}"


def _invalid(detail: Any) -> dict[str, Any]:
    fields = field_errors(detail)
    return error_body("invalid", first_sentence(fields) if fields else _("Invalid input."), fields)


def _as_drf(error: Exception) -> exceptions.APIException | None:
    """Django's own exceptions in DRF's words."""
    if isinstance(error, exceptions.APIException):
        return error
    if isinstance(error, Http404):
        return exceptions.NotFound(str(error) or None)
    if isinstance(error, PermissionDenied):
        return exceptions.PermissionDenied(str(error) or None)
    if isinstance(error, DjangoValidationError):
        return exceptions.ValidationError(error.message_dict if hasattr(error, "error_dict") else error.messages)
    fields = getattr(error, "fields", None)
    if isinstance(error, ValueError) and isinstance(fields, dict):
        return exceptions.ValidationError(fields)  # the engine's own refusals name their fields
    if isinstance(error, RequestDataTooBig):
        too_big = exceptions.APIException(_("The body is larger than what is read."), "too_large")
        too_big.status_code = 413
        return too_big
    return None


def _headers(error: exceptions.APIException) -> dict[str, str]:
    headers = {}
    if realm := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = str(realm)
    if wait := getattr(error, "wait", None):
        headers["Retry-After"] = str(int(wait))
    return headers


def exception_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """Every refusal in the one shape of errors; what is no refusal is left to the 500 page."""
    known = _as_drf(error)
    if known is None:
        return None
    set_rollback()
    if isinstance(known, exceptions.ValidationError):
        body = _invalid(known.detail)
    else:
        body = error_body(str(known.get_codes()), str(known.detail))
    return Response(body, status=known.status_code, headers=_headers(known))
