"""Routes of log-in, account and tokens."""

from django.contrib.auth.views import LogoutView
from django.urls import path

from accounts import second_step, tokens, views

urlpatterns = [
    path("login/", views.LogIn.as_view(), name="login"),
    path("account/", views.account, name="account"),
    path("account/sessions/<uuid:session_uuid>/end/", views.session_revoke, name="session-end"),
    path("account/sessions/end/", views.sessions_revoke, name="sessions-end"),
    path("account/password/", views.PasswordChange.as_view(), name="password-change"),
    path("password/reset/", views.password_forgotten, name="password-forgotten"),
    path("password/choose/<uidb64>/<token>/", views.PasswordChoose.as_view(), name="password-choose"),
    path("login/code/", second_step.login_code, name="login-code"),
    path("account/second-step/", second_step.second_step, name="totp"),
    path("account/second-step/begin/", second_step.begin, name="totp-begin"),
    path("account/second-step/codes/", second_step.codes_renew, name="totp-codes"),
    path("account/second-step/off/", second_step.turn_off, name="totp-off"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("tokens/", tokens.tokens, name="tokens"),
    path("tokens/<uuid:token_uuid>/revoke/", tokens.revoke, name="token-revoke"),
]
