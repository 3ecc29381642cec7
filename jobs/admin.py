"""Jobs in the administration."""

from django.contrib import admin
from django.http import HttpRequest

from jobs.models import Job


@admin.register(Job)
class JobAdmin(admin.ModelAdmin):
    """Jobs can be looked at."""

    list_display = ("id", "kind", "status", "done", "total", "owner", "created_at")
    list_filter = ("kind", "status")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Job | None = None) -> bool:
        return False
