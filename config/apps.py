"""The wiring as an app of its own, for its checks alone."""

from django.apps import AppConfig


class WiringConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        from config import checks  # noqa: F401 - they register themselves
