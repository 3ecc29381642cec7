"""Prometheus metrics: requests as they happen, jobs and rows as they stand when asked."""

import os
from collections.abc import Iterable

from django.http import HttpRequest, HttpResponse
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from config.access import open_view
from jobs.selectors import job_counts

REQUEST_SECONDS = Histogram(
    "rooftree_request_seconds",
    "Time to answer a request.",
    ["method", "route", "status"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)


class JobCollector(Collector):
    """Counts job rows by kind and status at each scrape."""

    def collect(self) -> Iterable[GaugeMetricFamily]:
        gauge = GaugeMetricFamily("rooftree_jobs", "Jobs by kind and status.", labels=["kind", "status"])
        for kind, status, count in job_counts():
            gauge.add_metric([kind, status], count)
        yield gauge


def _registry() -> CollectorRegistry:
    """All web processes together where they share a folder, else this one."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return REGISTRY
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return registry


@open_view
def metrics(request: HttpRequest) -> HttpResponse:
    """The text that Prometheus scrapes."""
    jobs = CollectorRegistry()
    jobs.register(JobCollector())
    return HttpResponse(generate_latest(_registry()) + generate_latest(jobs), content_type=CONTENT_TYPE_LATEST)
