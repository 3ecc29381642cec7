"""Views that stay open when an installation asks for a sign-in."""

from django.contrib.auth.decorators import login_not_required as open_view

__all__ = ["open_view"]
