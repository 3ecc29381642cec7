"""Addresses of accounts."""

from django.contrib.auth.views import LogoutView
from django.urls import path

from accounts import views

urlpatterns = [
    path("sign-in/", views.SignInView.as_view(), name="sign-in"),
    path("sign-out/", LogoutView.as_view(), name="sign-out"),
    path("setup/<str:secret>/", views.setup, name="setup"),
    path("tokens/", views.tokens, name="tokens"),
    path("tokens/<str:token_key>/revoke/", views.token_revoke, name="token-revoke"),
]
