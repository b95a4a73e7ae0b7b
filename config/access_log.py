"""The web server's log of requests, without what opens something."""

from typing import Any

from gunicorn.glogging import Logger

from annotation.refusals import without_secrets


class AccessLog(Logger):  # type: ignore[misc]
    """gunicorn's own, but the secrets of invitations and password links are left out of paths and referrers."""

    def atoms(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        known = super().atoms(*args, **kwargs)
        return {name: without_secrets(value) if isinstance(value, str) else value for name, value in known.items()}
