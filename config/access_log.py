"""The web server's log of requests, without what opens something."""

from typing import Any

from gunicorn.glogging import Logger

from config.logs import NOTES, formatter, log_format
from core.refusals import without_secrets


class AccessLog(Logger):  # type: ignore[misc]
    """gunicorn's own, but the secrets of invitations and password links are left out of paths and referrers.

    As JSON a line names its request, its route and the account by number, and no address.
    """

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        self.is_json = log_format() == "json"
        if self.is_json:
            for log in (self.error_log, self.access_log):
                for handler in log.handlers:
                    handler.setFormatter(formatter("json"))

    def atoms(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        known = super().atoms(*args, **kwargs)
        return {name: without_secrets(value) if isinstance(value, str) else value for name, value in known.items()}

    def access(self, resp: Any, req: Any, environ: dict[str, Any], request_time: Any) -> None:
        if not self.is_json:
            super().access(resp, req, environ, request_time)
        elif self.access_log_enabled:
            self.access_log.info("request", extra=told(resp, environ, request_time.total_seconds()))


def told(resp: Any, environ: dict[str, Any], seconds: float) -> dict[str, Any]:
    """A request in a few words; what it asked for by its query string is not among them."""
    return {
        "method": environ.get("REQUEST_METHOD", ""),
        "path": environ.get("RAW_URI", environ.get("PATH_INFO", "")).partition("?")[0],
        "status_code": int(str(resp.status).split()[0]),
        "bytes": getattr(resp, "sent", 0),
        "duration_ms": round(seconds * 1000, 1),
        **environ.get(NOTES, {}),
    }
