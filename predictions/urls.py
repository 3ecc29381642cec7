"""Addresses of predictions."""

from django.urls import path

from predictions import api

api_urlpatterns = [path("predictions/", api.PredictionsView.as_view(), name="api-predictions")]
