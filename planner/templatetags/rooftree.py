"""The one tag module of the pages: numbers as people read them, navigation, addresses."""

from __future__ import annotations

from typing import Any

from django import template
from django.template.context import Context
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from planner import formats

register = template.Library()

register.filter("sig", formats.sig)
register.filter("whole", formats.whole)
register.filter("gib", formats.gib)
register.filter("seconds", formats.seconds)
register.filter("usd", formats.usd)
register.filter("percent", formats.percent)
register.filter("ratio", formats.ratio)
register.filter("si", formats.si)
register.filter("as_format", formats.formatted)


@register.filter
def item(mapping: dict[str, Any] | None, key: str) -> Any:
    """A value of a mapping by a key that is only known at run time."""
    return mapping.get(key) if mapping else None


@register.filter
def breakable(text: object) -> SafeString:
    """A figure with its range: a line may end before the bracket, and nowhere else."""
    figure, bracket, rest = str(text).partition(" (")
    if not bracket:
        return format_html('<span class="whole">{}</span>', figure)
    return format_html('<span class="whole">{}</span> <span class="whole">({}</span>', figure, rest)


@register.simple_tag(takes_context=True)
def nav_item(context: Context, name: str, label: str) -> SafeString | str:
    """One entry of the top bar; nothing where that page is not installed."""
    try:
        url = reverse(name)
    except NoReverseMatch:
        return ""
    request = context.get("request")
    here = request is not None and url != "/" and request.path.startswith(url)
    return format_html('<li><a href="{}"{}>{}</a></li>', url, SafeString(' aria-current="page"') if here else "", label)


@register.simple_tag(takes_context=True)
def query_with(context: Context, **changes: Any) -> str:
    """The present query string with some values replaced; None removes one."""
    query = context["request"].GET.copy()
    for key, value in changes.items():
        if value is None:
            query.pop(key, None)
        else:
            query[key] = value
    return f"?{query.urlencode()}"


@register.simple_tag(takes_context=True)
def twin(context: Context, extension: str) -> str:
    """Address of this page's JSON or CSV twin, with the same query."""
    request = context["request"]
    query = request.META.get("QUERY_STRING", "")
    path = request.path.rstrip("/") or "/home"
    return f"{path}.{extension}" + (f"?{query}" if query else "")
