"""Pages of accounts: sign-in, first administrator, tokens."""

from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required, login_required
from django.contrib.auth.views import LoginView
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from accounts import services
from accounts.forms import SetupForm, TokenForm
from accounts.models import ApiToken, User


def signed_in(request: HttpRequest) -> User:
    """Whom `login_required` let through."""
    assert isinstance(request.user, User)
    return request.user


class SignInView(LoginView):
    """Sign in with name and password."""

    template_name = "accounts/sign_in.html"
    redirect_authenticated_user = True


@login_not_required
@never_cache
@sensitive_post_parameters()
def setup(request: HttpRequest, secret: str) -> HttpResponse:
    """The first administrator chooses a name and a password, once. Looking at the page does not use the link up."""
    if not services.setup_link_works(secret):
        raise Http404
    form = SetupForm(request.POST or None, initial={"username": "admin"})
    if form.is_valid():
        user = services.setup_complete(
            secret=secret, username=form.cleaned_data["username"], password=form.cleaned_data["password1"]
        )
        if user is None:
            raise Http404
        login(request, user, backend="django.contrib.auth.backends.ModelBackend")
        return redirect("/")
    return render(request, "accounts/setup.html", {"form": form})


@login_required
@never_cache
def tokens(request: HttpRequest) -> HttpResponse:
    """The user's tokens; a new one is shown once, on the answer to its making."""
    form = TokenForm(request.POST or None)
    made = None
    if form.is_valid():
        _token, made = services.token_create(user=signed_in(request), **form.cleaned_data)
        form = TokenForm()
    rows = ApiToken.objects.filter(user=signed_in(request))
    return render(request, "accounts/tokens.html", {"form": form, "made": made, "tokens": rows})


@login_required
@require_POST
def token_revoke(request: HttpRequest, token_key: str) -> HttpResponse:
    """End a token at once."""
    if services.token_revoke(user=signed_in(request), token_key=token_key):
        messages.success(request, _("The token no longer works."))
    return redirect("tokens")
