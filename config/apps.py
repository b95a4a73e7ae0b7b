"""The wiring as an app of its own, for its checks alone."""

from django.apps import AppConfig


class WiringConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        from django.conf import settings

        from config import checks  # noqa: F401 - they register themselves
        from core.observability import logs, requests, tasks  # noqa: F401 - tasks registers itself

        requests.begin()
        logs.sentry_begin(settings.SENTRY_DSN)
