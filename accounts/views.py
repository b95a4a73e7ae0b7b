"""The person's own account: name and e-mail, password, log-ins; and a new password for who has forgotten theirs."""

from typing import Any, cast
from uuid import UUID

from allauth.account.forms import LoginForm
from allauth.account.internal.stagekit import clear_login
from allauth.account.views import LoginView
from allauth.socialaccount.adapter import get_adapter as provider_adapter
from allauth.socialaccount.models import SocialAccount
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm, SetPasswordForm, UsernameField
from django.contrib.auth.views import PasswordChangeView, PasswordResetConfirmView
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.views.decorators.http import require_http_methods, require_POST

from accounts.adapters import AccountAdapter, no_passkeys
from accounts.limits import address_block, tries_forget
from accounts.models import Identity, Project, User
from accounts.second_step import NOT_YOURS, password_is_right, session_keep
from accounts.services.credentials import account_lock, second_steps, tokens_revoke
from accounts.services.identities import identity_set, password_links, password_reset_request
from accounts.sessions import session_end, sessions_end, sessions_of
from core.exceptions import NotPossible

SENT = (
    "If an account has this address, a message with a link is on its way to it. The link works once, within a day."
    " If nothing comes, ask the lead of your project for a new password."
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


class ChosenPasswordForm(SetPasswordForm):  # type: ignore[type-arg]
    """Django's; it saves the whole account, so nobody may change it in between."""

    @transaction.atomic
    def set_password_and_save(self, user: User, *args: Any, **values: Any) -> User:
        account_lock(user)
        return super().set_password_and_save(user, *args, **values)


class OwnPasswordForm(ChosenPasswordForm, PasswordChangeForm):
    """Django's; wrong old passwords are counted as everywhere, and tokens may end with the old one."""

    ends_tokens = forms.BooleanField(required=False, initial=True)

    def clean_old_password(self) -> str:
        old = str(self.cleaned_data["old_password"])
        if not AccountAdapter().reauthenticate(self.user, old):
            raise forms.ValidationError(self.error_messages["password_incorrect"], code="password_incorrect")
        return old


class EmailForm(forms.Form):
    email = forms.EmailField(max_length=254, label="E-mail", widget=forms.EmailInput({"autocomplete": "email"}))


class LogInForm(LoginForm):
    """allauth's, with names and words of Django's."""

    username = UsernameField(
        max_length=User._meta.get_field("username").max_length,
        label="User name",
        widget=forms.TextInput({"autofocus": True}),
        error_messages={"max_length": "No user name has more than %(limit_value)d characters."},
    )
    password = forms.CharField(
        max_length=4096, strip=False, widget=forms.PasswordInput({"autocomplete": "current-password"})
    )
    field_order = ("username", "password")

    def __init__(self, *args: Any, **values: Any) -> None:
        super().__init__(*args, **values)
        for name in ("login", "remember"):
            del self.fields[name]

    def clean(self) -> dict[str, Any]:
        if not self.errors:
            self.user = AccountAdapter().authenticate(self.request, **self.cleaned_data)
            if self.user is None:
                words = AuthenticationForm.error_messages["invalid_login"]
                raise forms.ValidationError(words, params={"username": "user name"})
        return self.cleaned_data

    def login(self, request: HttpRequest, redirect_url: str | None = None) -> HttpResponse:
        return AccountAdapter().log_in(request, cast(User, self.user), redirect_url)


class LogIn(LoginView):
    """allauth's, with the projects that take whoever comes; a second step follows for who has set one up."""

    template_name = "accounts/login.html"
    form_class = LogInForm

    def _redirect_to_pending_stage(self, request: HttpRequest, stage: Any) -> None:
        if request.method == "POST":
            clear_login(request)

    def get_context_data(self, **values: Any) -> dict[str, Any]:
        open_projects = Project.objects.filter(registration_is_open=True).order_by("name")
        return super().get_context_data(**values) | {
            "open_projects": open_projects,
            "sends_mail": bool(settings.EMAIL_HOST),
            "providers": provider_adapter().list_providers(self.request),
            "no_passkeys": no_passkeys(self.request),
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
    context |= {"sessions": sessions_of(person), "second_steps": second_steps(person)}
    linked = set(SocialAccount.objects.filter(user=person).values_list("provider", flat=True))
    providers = provider_adapter().list_providers(request)
    context |= {"providers": [(one, one.sub_id in linked) for one in providers]}
    context["former_providers"] = sorted(linked - {one.sub_id for one in providers})
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

    form_class = ChosenPasswordForm
    token_generator = password_links
    template_name = "accounts/password_choose.html"
    success_url = reverse_lazy("login")

    def form_valid(self, form: Any) -> HttpResponse:
        messages.success(self.request, "Your new password is set, and your API tokens are revoked. Log in with it.")
        sessions_end(user=form.user, actor=form.user)
        tokens_revoke(user=form.user)
        tries_forget(form.user.username)
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
