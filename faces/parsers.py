"""JSON as REST calls may send it."""

import json
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _
from rest_framework import exceptions
from rest_framework.parsers import JSONParser


def _too_deep(value: Any, limit: int) -> bool:
    """Whether `value` nests deeper than `limit`, level by level so that depth costs no stack."""
    level = [value]
    for _depth in range(limit):
        level = [child for node in level for child in _children(node)]
        if not level:
            return False
    return True


def _children(node: Any) -> Iterator[Any]:
    if isinstance(node, dict):
        yield from (child for child in node.values() if isinstance(child, dict | list))
    elif isinstance(node, list):
        yield from (child for child in node if isinstance(child, dict | list))


class BoundedJSONParser(JSONParser):
    """JSON that is neither too deep nor holds NaN or Infinity."""

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        try:
            data = super().parse(stream, media_type, parser_context)
        except (RecursionError, UnicodeDecodeError, json.JSONDecodeError) as error:
            raise exceptions.ParseError(_("The body is not JSON that can be read.")) from error
        if _too_deep(data, settings.ROOFTREE_MAX_JSON_DEPTH):
            raise exceptions.ParseError(
                _("The JSON nests deeper than %(limit)d levels.") % {"limit": settings.ROOFTREE_MAX_JSON_DEPTH}
            )
        return data
