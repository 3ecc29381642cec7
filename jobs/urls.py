"""Addresses of jobs."""

from django.urls import path

from jobs import api

api_urlpatterns = [
    path("jobs/<uuid:job_id>/", api.JobView.as_view(), name="api-job"),
    path("jobs/<uuid:job_id>/cancel/", api.JobCancelView.as_view(), name="api-job-cancel"),
]
