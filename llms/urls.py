"""Addresses of language models. An id holds at most one slash."""

from django.urls import path, re_path
from rest_framework.routers import SimpleRouter

from llms import views
from llms.api import LanguageModelViewSet

NAME = r"(?P<name>[\w.-]+(?:/[\w.-]+)?)"

urlpatterns = [
    path("models/", views.models, name="models"),
    path("models.json", views.models, {"form": "json"}, name="models-json"),
    path("models.csv", views.models, {"form": "csv"}, name="models-csv"),
    path("models/new/", views.model_new, name="model-new"),
    path("models/import/", views.models_import, name="models-import"),
    path("models/size/", views.model_size, name="model-size"),
    re_path(rf"^models/{NAME}/edit/$", views.model_edit, name="model-edit"),
    re_path(rf"^models/{NAME}\.json$", views.model, {"form": "json"}, name="model-json"),
    re_path(rf"^models/{NAME}/$", views.model, name="model"),
]

router = SimpleRouter()
router.register("models", LanguageModelViewSet, basename="api-model")
api_urlpatterns = router.urls
