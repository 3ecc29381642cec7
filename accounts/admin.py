"""Users and tokens in the administration."""

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.http import HttpRequest

from accounts.models import ApiToken, User

admin.site.register(User, UserAdmin)


@admin.register(ApiToken)
class ApiTokenAdmin(admin.ModelAdmin):
    """Tokens can be looked at and revoked; they are made where their text can be shown once."""

    list_display = ("name", "user", "scope_names", "created", "expiry")
    readonly_fields = ("user", "name", "scopes", "created", "expiry")
    exclude = ("digest", "token_key")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False
