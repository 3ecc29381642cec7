"""The Celery application. Its settings stand in config/settings.py; what a job does is in jobs/."""

import os

from celery import Celery

from jobs.broker import register_transport

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
register_transport()

app = Celery("rooftree")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
