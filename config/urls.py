"""Routes of the apps."""

from django.contrib.auth.views import LogoutView
from django.urls import include, path

from config.health import healthz, readyz
from config.metrics.page import metrics
from config.tokens import revoke, tokens
from config.views import guide, home

urlpatterns = [
    path("", home, name="home"),
    path("", include("config.account")),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("help/", guide, name="help"),
    path("tokens/", tokens, name="tokens"),
    path("tokens/<uuid:token_uuid>/revoke/", revoke, name="token-revoke"),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
    path("corpora/", include("annotation.urls")),
    path("", include("judging.urls")),
    path("api/", include("config.api")),
    path("runs/", include("models_runner.urls")),
    path("", include("models_runner.pools.urls")),
]
handler500 = "config.errors.server_error"
handler400 = "config.errors.unreadable"
handler404 = "config.errors.not_found"
handler403 = "config.errors.forbidden"
