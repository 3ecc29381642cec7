"""Addresses of accelerators."""

from django.urls import path
from rest_framework.routers import SimpleRouter

from gpus import views
from gpus.api import GpuViewSet

urlpatterns = [
    path("gpus/", views.gpus, name="gpus"),
    path("gpus.json", views.gpus, {"form": "json"}, name="gpus-json"),
    path("gpus.csv", views.gpus, {"form": "csv"}, name="gpus-csv"),
    path("gpus/new/", views.gpu_new, name="gpu-new"),
    path("gpus/import/", views.gpus_import, name="gpus-import"),
    path("gpus/<str:slug>.json", views.gpu, {"form": "json"}, name="gpu-json"),
    path("gpus/<str:slug>/", views.gpu, name="gpu"),
    path("gpus/<str:slug>/edit/", views.gpu_edit, name="gpu-edit"),
]

router = SimpleRouter()
router.register("gpus", GpuViewSet, basename="api-gpu")
api_urlpatterns = router.urls
