"""The hosts that run our code: web, worker, gpu and search worker, beat. Each has a data folder of its own."""

import http.client
import os
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from tests.production.topology.server import Server

Environment = Callable[[], dict[str, str]]


class Host(Server):
    """A process of ours; ``shared`` is the disk that all hosts see."""

    def __init__(self, name: str, address: str, folder: Path, *, environment: Environment, shared: Path) -> None:
        super().__init__(name, address, folder)
        self.var = self.folder / "var"
        self.shared, self._environment = shared, environment
        self.extra: dict[str, str] = {}  # of this host alone; counts from its next start

    def environment(self) -> dict[str, str]:
        own = {"MOMENTJUDGE_VAR": str(self.var), "EXPERIMENTS_ROOT": str(self.shared / "experiments")}
        return self._environment() | own | self.extra

    def prepare(self) -> None:
        if self.var.exists():
            return
        self.var.mkdir(mode=0o711)
        for name in ("media", "features"):
            (self.shared / name).mkdir(exist_ok=True)
            (self.var / name).symlink_to(self.shared / name)


class Web(Host):
    """gunicorn, as docker/ starts it."""

    def command(self) -> list[str]:
        return [sys.executable, "-m", "gunicorn", "--config", "docker/gunicorn.conf.py", "config.wsgi"]

    def environment(self) -> dict[str, str]:
        return super().environment() | {"DATABASE_POOL": "4", "WEB_BIND": f"{self.address}:{self.port}"}

    def ready(self) -> bool:
        return self.status("/healthz") == 200

    def public_host(self) -> str:
        return urlsplit(self.environment()["SITE_URL"]).netloc

    def status(self, path: str) -> int | None:
        """How it answers when asked past nginx; None when it does not."""
        connection = http.client.HTTPConnection(self.address, self.port, timeout=60)
        try:
            connection.request("GET", path, headers={"X-Forwarded-Proto": "https", "Host": self.public_host()})
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()


class Worker(Host):
    """Celery on the queues it is told."""

    def __init__(self, name: str, address: str, folder: Path, *, queues: str, processes: int, **more: object) -> None:
        super().__init__(name, address, folder, **more)  # type: ignore[arg-type]
        self.queues, self.processes = queues, processes

    def command(self) -> list[str]:
        words = ["--queues", self.queues, "--hostname", f"{self.name}@{self.address}"]
        words += ["--concurrency", str(self.processes), "--loglevel", "INFO", "--without-gossip", "--without-mingle"]
        return [sys.executable, "-m", "celery", "-A", "config", "worker", *words]

    def environment(self) -> dict[str, str]:
        quiet = {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}
        return super().environment() | quiet

    def ready(self) -> bool:
        return f"{self.name}@{self.address} ready" in self.log_output()


class Beat(Host):
    """The clock that sends the sweeps."""

    def command(self) -> list[str]:
        schedule = ["--schedule", str(self.var / "beat"), "--pidfile", ""]
        return [sys.executable, "-m", "celery", "-A", "config", "beat", "--loglevel", "INFO", *schedule]

    def ready(self) -> bool:
        return "beat: Starting" in self.log_output()


def clean_environment() -> dict[str, str]:
    """The caller's, without what would speak into the settings of the site."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("MOMENTJUDGE_", "DJANGO_"))}
