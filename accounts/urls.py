"""Routes of log-in, account and tokens. Pages of allauth that are not named here there are none of."""

from django.contrib.auth.views import LogoutView
from django.urls import path, re_path

from accounts import provider, second_step, tokens, views

urlpatterns = [
    path("login/", views.LogIn.as_view(), name="login"),
    path("account/", views.account, name="account"),
    path("account/sessions/<uuid:session_uuid>/end/", views.session_revoke, name="session-end"),
    path("account/sessions/end/", views.sessions_revoke, name="sessions-end"),
    path("account/password/", views.PasswordChange.as_view(), name="password-change"),
    path("password/reset/", views.password_forgotten, name="password-forgotten"),
    path("password/choose/<uidb64>/<token>/", views.PasswordChoose.as_view(), name="password-choose"),
    path("login/code/", second_step.LogInCode.as_view(), name="login-code"),
    path("login/passkey/", second_step.PasskeyLogIn.as_view(), name="passkey-login"),
    path("login/by/<slug:provider_id>/", provider.begin, name="openid_connect_login"),
    path("login/by/<slug:provider_id>/done/", provider.callback, name="openid_connect_callback"),
    path("account/confirm/", second_step.Confirm.as_view(), name="account_reauthenticate"),
    path("account/confirm/passkey/", second_step.ConfirmByPasskey.as_view(), name="mfa_reauthenticate_webauthn"),
    path("account/second-step/", second_step.second_step, name="totp"),
    path("account/second-step/begin/", second_step.begin, name="totp-begin"),
    path("account/second-step/codes/", second_step.codes_renew, name="totp-codes"),
    path("account/second-step/off/", second_step.turn_off, name="totp-off"),
    path("account/passkeys/", second_step.PasskeyAdd.as_view(), name="passkey-add"),
    path("account/passkeys/<uuid:passkey_uuid>/remove/", second_step.passkey_remove, name="passkey-remove"),
    path("account/providers/<slug:provider_id>/unlink/", provider.unlink, name="provider-unlink"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("tokens/", tokens.tokens, name="tokens"),
    path("tokens/<uuid:token_uuid>/revoke/", tokens.revoke, name="token-revoke"),
    # The same pages by the names that allauth asks for
    re_path("^login/$", views.LogIn.as_view(), name="account_login"),
    re_path("^login/code/$", second_step.LogInCode.as_view(), name="mfa_authenticate"),
    re_path("^account/second-step/$", second_step.second_step, name="mfa_index"),
]
