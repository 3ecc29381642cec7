"""Jobs in the administration."""

from django.contrib import admin

from jobs.models import Job


@admin.register(Job)
class JobAdmin(admin.ModelAdmin):
    """Jobs can be looked at."""

    list_display = ("id", "kind", "status", "done", "total", "owner", "created_at")
    list_filter = ("kind", "status")
