"""Routes of the apps."""

from django.urls import include, path

from accounts.menu import guide, home
from core.observability.health import healthz, readyz
from core.observability.metrics import metrics
from judging.people.views import person_export

urlpatterns = [
    path("", include("judging.urls")),  # first, as it is asked most
    path("", home, name="home"),
    path("", include("accounts.urls")),
    path("account/export/", person_export, name="person-export"),
    path("help/", guide, name="help"),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
    path("corpora/", include("annotation.urls")),
    path("api/", include("config.api")),
    path("runs/", include("models_runner.urls")),
    path("", include("models_runner.pools.urls")),
]
handler500 = "core.error_pages.server_error"
handler400 = "core.error_pages.unreadable"
handler404 = "core.error_pages.not_found"
handler403 = "core.error_pages.forbidden"
