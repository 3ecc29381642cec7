"""Addresses of measured runs: pages with their twins, and REST."""

from django.urls import path
from rest_framework.routers import SimpleRouter

from benchmarks_ingest import api
from benchmarks_ingest.views import calibrations, columns, listing, runs, uploads
from faces.twins import page_with_twins

urlpatterns = [
    *page_with_twins("measured", "measured", listing.measured, listing.measured_json, listing.measured_csv),
    path("measured/upload/", uploads.upload, name="measured-upload-files"),
    path("measured/waiting/", uploads.waiting, name="measured-waiting"),
    path("measured/confirm/", uploads.confirm, name="measured-confirm"),
    *page_with_twins(
        "measured/uploads", "measured-uploads", uploads.uploads, uploads.uploads_json, uploads.uploads_csv
    ),
    *page_with_twins(
        "measured/uploads/<uuid:pk>", "measured-upload", uploads.upload_page, uploads.upload_json, uploads.upload_csv
    ),
    path("measured/uploads/<uuid:pk>/status/", uploads.upload_status, name="measured-upload-status"),
    path("measured/uploads/<uuid:pk>/delete/", uploads.upload_remove, name="measured-upload-remove"),
    path("measured/uploads/<uuid:pk>/columns/", columns.columns, name="measured-columns"),
    *page_with_twins("measured/runs/<int:pk>", "measured-run", runs.run_page, runs.run_json, runs.run_csv),
    path("measured/runs/<int:pk>/use/", runs.run_toggle, name="measured-run-use"),
    *page_with_twins(
        "measured/calibrations",
        "measured-calibrations",
        calibrations.calibrations,
        calibrations.calibrations_json,
        calibrations.calibrations_csv,
    ),
    path("measured/calibrations/make/", calibrations.calibration_make, name="measured-calibration-make"),
    path("measured/calibrations/back/", calibrations.calibration_back, name="measured-calibration-back"),
    path("measured/calibrations/<int:pk>/", calibrations.calibration, name="measured-calibration"),
    path("measured/calibrations/<int:pk>/switch/", calibrations.calibration_switch, name="measured-calibration-switch"),
]

router = SimpleRouter()
router.register("runs", api.RunViewSet, basename="api-run")
router.register("uploads", api.UploadViewSet, basename="api-upload")
router.register("calibrations", api.CalibrationViewSet, basename="api-calibration")
api_urlpatterns = router.urls
