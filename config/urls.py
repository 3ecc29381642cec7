"""Addresses. Each app brings `urlpatterns` (pages) and `api_urlpatterns` (REST) in its module `urls`."""

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from django.conf import settings
from django.contrib import admin
from django.urls import include, path
from django.urls.resolvers import URLPattern, URLResolver
from django.views.generic import RedirectView
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from config.api import ApiRoot
from config.health import healthz
from config.metrics import metrics


def _url_modules() -> Iterator[ModuleType]:
    for name in settings.ROOFTREE_APPS:
        if name != "config" and find_spec(f"{name}.urls"):
            yield import_module(f"{name}.urls")


def _gather(attribute: str) -> list[URLPattern | URLResolver]:
    """The patterns of all apps, in the order of the floors."""
    return [pattern for module in _url_modules() for pattern in getattr(module, attribute, [])]


urlpatterns = [
    path("favicon.ico", RedirectView.as_view(url=f"/{settings.STATIC_URL.lstrip('/')}icon.svg", permanent=True)),
    path("healthz", healthz, name="healthz"),
    path("metrics", metrics, name="metrics"),
    path("admin/", admin.site.urls),
    path("i18n/", include("django.conf.urls.i18n")),
    path("api/v1/", ApiRoot.as_view(), name="api-root"),
    path("api/v1/", include(_gather("api_urlpatterns"))),
    path("api/schema/", SpectacularAPIView.as_view(), name="api-schema"),
    path("api/docs/", SpectacularSwaggerSplitView.as_view(url_name="api-schema"), name="api_docs"),
    path("", include(_gather("urlpatterns"))),
]

handler400 = "faces.errors.bad_request"
handler403 = "faces.errors.permission_denied"
handler404 = "faces.errors.not_found"
handler500 = "faces.errors.server_error"
