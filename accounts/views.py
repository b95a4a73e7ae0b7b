"""The person's own account: name and e-mail, password, log-ins; and a new password for who has forgotten theirs."""

from typing import Any, cast
from uuid import UUID

from axes.handlers.proxy import AxesProxyHandler
from axes.utils import reset as axes_reset
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm, UsernameField
from django.contrib.auth.views import LoginView, PasswordChangeView, PasswordResetConfirmView
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.views.decorators.http import require_http_methods, require_POST

from accounts.models import Identity, Project, User
from accounts.second_step import NOT_YOURS, PASSWORDS, TOO_MANY_PASSWORDS, code_ask, password_is_right, session_keep
from accounts.services.credentials import tokens_revoke, totp_device
from accounts.services.identities import identity_set, password_reset_request
from accounts.services.throttles import (
    LOGINS_TO,
    address_block,
    logins_from,
    throttle_forget,
    throttle_or_refuse,
    throttle_take_back,
)
from accounts.sessions import session_end, sessions_end, sessions_of
from core.exceptions import NotPossible

SENT = (
    "If an account has this address, a message with a link is on its way to it. The link works once, within a day."
    " If nothing comes, ask the lead of your project for a new password."
)
TOO_MANY_FROM = "Too many wrong log-ins came from your network address."
TOO_MANY_TO = (
    "Too many wrong passwords for this user name, from many places. A link to a new password lets you in at once:"
    " ask for one, or ask the lead of your project."
)


class IdentityForm(forms.Form):
    name = forms.CharField(max_length=200, widget=forms.TextInput({"autocomplete": "name"}))
    email = forms.EmailField(
        max_length=254, required=False, label="E-mail", widget=forms.EmailInput({"autocomplete": "email"})
    )
    password = forms.CharField(
        max_length=4096,
        strip=False,
        required=False,
        label="Your password, to change the e-mail",
        widget=forms.PasswordInput({"autocomplete": "current-password"}),
    )


class OwnPasswordForm(PasswordChangeForm):
    """Django's; wrong old passwords are counted as everywhere, and tokens may end with the old one."""

    ends_tokens = forms.BooleanField(required=False, initial=True)

    def clean_old_password(self) -> str:
        throttle_or_refuse(PASSWORDS, str(self.user.uuid), TOO_MANY_PASSWORDS)
        old = str(super().clean_old_password())
        throttle_forget(PASSWORDS, str(self.user.uuid))
        return old


class EmailForm(forms.Form):
    email = forms.EmailField(max_length=254, label="E-mail", widget=forms.EmailInput({"autocomplete": "email"}))


class LogInForm(AuthenticationForm):
    """Django's, with a longest user name: the table of wrong passwords has one, too."""

    username = UsernameField(
        max_length=User._meta.get_field("username").max_length,
        label="User name",
        widget=forms.TextInput({"autofocus": True}),
        error_messages={"max_length": "No user name has more than %(limit_value)d characters."},
    )
    password = forms.CharField(
        max_length=4096, strip=False, widget=forms.PasswordInput({"autocomplete": "current-password"})
    )

    def clean(self) -> dict[str, Any]:
        """Every try counts until it went well: by where it comes from, and by the name, wherever from."""
        username = self.cleaned_data.get("username")
        if (
            not username
            or "password" not in self.cleaned_data
            or not AxesProxyHandler.is_allowed(self.request, {"username": username})
        ):
            return super().clean()  # counts nothing, or is locked out already
        limits = [
            (logins_from(), address_block(cast(HttpRequest, self.request)), TOO_MANY_FROM),
            (LOGINS_TO, username, TOO_MANY_TO),
        ]
        for limit, who, words in limits:
            throttle_or_refuse(limit, who, words)
        cleaned = super().clean()
        for limit, who, _ in limits:
            throttle_take_back(limit, who)
        return cleaned


class LogIn(LoginView):
    """Django's, with the projects that take whoever comes, and a second step for who has set one up."""

    template_name = "accounts/login.html"
    authentication_form = LogInForm
    redirect_authenticated_user = True

    def form_valid(self, form: Any) -> HttpResponse:
        if totp_device(form.get_user()):
            return code_ask(self.request, form.get_user(), self.get_success_url())
        return super().form_valid(form)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        open_projects = Project.objects.filter(registration_is_open=True).order_by("name")
        return super().get_context_data(**kwargs) | {
            "open_projects": open_projects,
            "sends_mail": bool(settings.EMAIL_HOST),
        }


@login_required
@require_http_methods(["GET", "POST"])
def account(request: HttpRequest) -> HttpResponse:
    person = cast(User, request.user)
    identity = Identity.objects.filter(user=person).first()
    initial = {"name": identity.name, "email": identity.email} if identity else {}
    form = IdentityForm(request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid() and _may_change(request, form):
        try:
            identity_set(user=person, name=form.cleaned_data["name"], email=form.cleaned_data["email"])
        except NotPossible as refused:
            form.add_error("email", str(refused))
        else:
            messages.success(request, "Saved.")
            return redirect("account")
    context = {"form": form, "memberships": person.memberships.select_related("project").order_by("project__name")}
    context |= {"sessions": sessions_of(person), "device": totp_device(person)}
    return render(request, "accounts/account.html", context, status=422 if form.errors else 200)


def _may_change(request: HttpRequest, form: IdentityForm) -> bool:
    """Links to new passwords go to the e-mail: whoever changes it could keep the account."""
    if "email" not in form.changed_data:
        return True
    password = form.cleaned_data["password"]
    if password and password_is_right(request, password):
        return True
    form.add_error("password", NOT_YOURS if password else "Changing the e-mail takes your password.")
    return False


class PasswordChange(PasswordChangeView):
    """Django's; every other session of the person ends, and the tokens where that stayed ticked."""

    form_class = OwnPasswordForm

    template_name = "accounts/password_change.html"
    success_url = reverse_lazy("account")

    def form_valid(self, form: Any) -> HttpResponse:
        messages.success(self.request, "Your password is changed. Wherever else you were logged in, you are no more.")
        answer = super().form_valid(form)
        user = cast(User, self.request.user)
        sessions_end(user=user, actor=user, but=self.request.session.session_key)
        if form.cleaned_data["ends_tokens"]:
            tokens_revoke(user=user)
        return answer

    def form_invalid(self, form: Any) -> HttpResponse:
        session_keep(self.request, cast(User, self.request.user))
        return super().form_invalid(form)


@require_http_methods(["GET", "POST"])
def password_forgotten(request: HttpRequest) -> HttpResponse:
    """Ask for a link to a new password; the answer is the same whether or not the address is known."""
    form = EmailForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        password_reset_request(email=form.cleaned_data["email"], address=address_block(request))
        messages.success(request, SENT)
        return redirect("login")
    context = {"form": form, "sends_mail": bool(settings.EMAIL_HOST)}
    return render(request, "accounts/password_forgotten.html", context, status=422 if form.errors else 200)


class PasswordChoose(PasswordResetConfirmView):
    """Where the link leads; Django moves its secret out of the address at once."""

    template_name = "accounts/password_choose.html"
    success_url = reverse_lazy("login")

    def form_valid(self, form: Any) -> HttpResponse:
        messages.success(self.request, "Your new password is set, and your API tokens are revoked. Log in with it.")
        sessions_end(user=form.user, actor=form.user)
        tokens_revoke(user=form.user)
        throttle_forget(LOGINS_TO, form.user.username)
        axes_reset(username=form.user.username)
        return super().form_valid(form)


@login_required
@require_POST
def session_revoke(request: HttpRequest, session_uuid: UUID) -> HttpResponse:
    if not session_end(user=cast(User, request.user), uuid=session_uuid):
        raise Http404
    messages.success(request, "Logged out there.")
    return redirect("account")


@login_required
@require_POST
def sessions_revoke(request: HttpRequest) -> HttpResponse:
    """Log out everywhere else."""
    user = cast(User, request.user)
    ended = sessions_end(user=user, actor=user, but=request.session.session_key)
    messages.success(request, "Logged out everywhere else." if ended else "You were logged in nowhere else.")
    return redirect("account")
