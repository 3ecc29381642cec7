"""Jobs in the administration."""

from typing import ClassVar

from django.contrib import admin

from jobs.models import Job


@admin.register(Job)
class JobAdmin(admin.ModelAdmin):
    """Jobs can be looked at."""

    list_display: ClassVar[tuple[str, ...]] = ("id", "kind", "status", "done", "total", "owner", "created_at")
    list_filter: ClassVar[tuple[str, ...]] = ("kind", "status")
