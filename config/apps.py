"""The wiring as an app of its own, for its checks alone."""

from django.apps import AppConfig


class WiringConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        from django.conf import settings

        from config import checks, sentry, slow_queries, task_traces  # noqa: F401 - two register themselves

        slow_queries.begin()
        sentry.begin(settings.SENTRY_DSN)
