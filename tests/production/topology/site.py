"""All servers of the site together."""

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from django.db import connections

from core.embedded.services import BASE_DIR
from core.processes import FileLock
from tests.production.topology import schema
from tests.production.topology.hosts import Beat, Host, Web, Worker, clean_environment
from tests.production.topology.nginx import Nginx
from tests.production.topology.person import Person
from tests.production.topology.server import POLITE_S, Server, program
from tests.production.topology.stores import BUCKET, Postgres, Redis, Storage, postgres_folder


def missing_programs() -> list[str]:
    """The Debian packages that are not there."""
    there = {
        "nginx": program("nginx"),
        "redis-server": program("redis-server"),
        "postgresql": postgres_folder(),
        "openssl": program("openssl"),
    }
    return [name for name, is_installed in there.items() if not is_installed]


class Site:
    """PostgreSQL, Redis, S3 double, two web hosts, a judging worker, two worker hosts, a gpu and a search worker, beat,
    nginx."""

    def __init__(self, *, cache_folder: Path) -> None:
        self.cache_folder = cache_folder  # what outlives the site: the migrated database, the static files
        cache_folder.mkdir(parents=True, exist_ok=True)
        self.folder = Path(tempfile.mkdtemp(prefix="momentjudge-site-"))
        self.folder.chmod(0o711)  # PostgreSQL may run as somebody else
        (self.folder / "log").mkdir()
        self.shared = self.folder / "shared"
        self.shared.mkdir()
        self.secret_key = secrets.token_urlsafe(50)
        self.metrics_token = secrets.token_urlsafe(30)
        self.in_bucket = False  # where web and worker hosts keep files
        self.postgres = Postgres("postgres", "127.0.0.2", self.folder)
        self.redis = Redis("redis", "127.0.0.3", self.folder)
        self.storage = Storage("storage", "127.0.0.4", self.folder)
        self.web = [self._web("web-1", "127.0.0.11"), self._web("web-2", "127.0.0.12")]
        self.judging = self._worker("judging", "127.0.0.26", "judging", 1)
        self.workers = [self._worker(f"worker-{n}", f"127.0.0.2{n}", "celery,uploads", 2) for n in (1, 2)]
        self.gpu = self._worker("gpu", "127.0.0.23", "gpu", 1)
        self.gpu.extra.update(TRAIN_DEVICE="cpu", TRAIN_THREADS="1")
        self.search = self._worker("search", "127.0.0.24", "search", 1)
        self.beat = Beat("beat", "127.0.0.25", self.folder, environment=self.environment, shared=self.shared)
        self.nginx = Nginx("nginx", "127.0.0.10", self.folder, web=self.web, media=self.shared / "media")
        self.nginx.storage = f"{self.storage.address}:{self.storage.port}"

    @property
    def url(self) -> str:
        return self.nginx.url

    @property
    def hosts(self) -> list[Host]:
        return [*self.web, self.judging, *self.workers, self.gpu, self.search, self.beat]

    @property
    def stores(self) -> list[Server]:
        return [self.postgres, self.redis, self.storage]

    @property
    def servers(self) -> list[Server]:
        """In the order of their start."""
        return [*self.stores, *self.hosts, self.nginx]

    def servers_named(self, *names: str) -> list[Server]:
        """The servers of these names; "worker" names both worker hosts, as one alone would leave work to the other."""
        return [server for server in self.servers if {server.name, server.name.rpartition("-")[0]} & set(names)]

    def environment(self) -> dict[str, str]:
        """Return each host's settings: those of production."""
        return clean_environment() | {
            "DJANGO_SETTINGS_MODULE": "config.settings.production",
            "DATABASE_URL": self.postgres.url,
            "BROKER_URL": self.redis.url,
            "ALLOWED_HOSTS": self.nginx.address,
            "SITE_URL": self.url,
            "SECRET_KEY": self.secret_key,
            "TRUSTED_PROXIES": "1",
            "MEDIA_ACCEL": "/protected/",
            "STATIC_ROOT": str(self.cache_folder / "static"),
            "PYTHONUNBUFFERED": "1",
            "METRICS_TOKEN": self.metrics_token,
            **(self.storage_environment() if self.in_bucket else {}),
        }

    def storage_environment(self) -> dict[str, str]:
        """Where the S3 double is, in the words of its clients."""
        keys = {"S3_ACCESS_KEY_ID": self.storage.key, "S3_SECRET_ACCESS_KEY": self.storage.secret}
        where = {"S3_ENDPOINT_URL": self.storage.url, "S3_REGION": "us-east-1", "S3_BUCKET": BUCKET}
        return {"MEDIA_STORAGE": "s3", **keys, **where}

    def storage_options(self, *, public_url: str = "") -> dict[str, str]:
        """The same for Django's storage; browsers are sent to ``public_url``."""
        options = {"bucket_name": BUCKET, "region_name": "us-east-1", "addressing": "path"}
        options |= {"endpoint_url": self.storage.url, "public_url": public_url or self.storage.url}
        return options | {"access_key": self.storage.key, "secret_key": self.storage.secret}

    # Starting and stopping

    def start(self) -> None:
        start_missing(self.stores)
        with FileLock(self.cache_folder / "lock").exclusive():  # another process of the tests starts a site of its own
            self.migrate()
            self.collect_static()
        start_missing(self.hosts)
        self.nginx.start()

    def migrate(self) -> None:
        dump = schema.dump_path(self.cache_folder)
        if dump.exists():
            schema.lay(self.postgres, dump)
            return
        self.manage("migrate", "--no-input", "--verbosity", "0")
        schema.keep(self.postgres, dump)

    def collect_static(self) -> None:
        """Collect them, unless these very files, by name, size and time, were collected before."""
        paths = [path for top in ("static", "config/settings") for path in (BASE_DIR / top).rglob("*.*")]
        stats = [(str(path), path.stat()) for path in sorted([*paths, BASE_DIR / "requirements" / "base.lock"])]
        state = repr([(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats if not name.endswith(".pyc")])
        stamp = self.cache_folder / "static.stamp"
        if not stamp.exists() or stamp.read_text() != state:
            self.manage("collectstatic", "--no-input", "--clear", "--verbosity", "0")
            stamp.write_text(state)

    def stop(self) -> None:
        """All at once: nothing may be left behind."""
        stop([self.nginx, *self.hosts], seconds=15)
        stop(self.stores[::-1], seconds=15)

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def kill(self, *names: str) -> None:
        """kill -9 of these servers; this process's own connections do not outlive PostgreSQL."""
        for server in self.servers_named(*names):
            server.kill()
        if "postgres" in names:
            connections.close_all()

    def bring_back(self, *names: str) -> None:
        """These servers run again, and answer."""
        start_missing(self.servers_named(*names))

    def mend(self) -> None:
        """Every server runs and is ready again, whatever a test did to it."""
        for servers in (self.stores, self.hosts, [self.nginx]):
            start_missing(servers)
        self.nginx.mend()

    def keep_files(self, *, in_bucket: bool) -> None:
        """In object storage or in the shared folder; where that changes, those who keep them start again."""
        if self.in_bucket == in_bucket:
            return
        self.in_bucket = in_bucket
        restart([*self.web, *self.workers])

    # Talking to it

    def manage(self, *words: str, seconds: float = 540) -> str:
        """A ``manage.py`` command on the first web host; what it printed."""
        result = subprocess.run(
            [sys.executable, str(BASE_DIR / "manage.py"), *words],
            env=self.web[0].environment(),
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        assert result.returncode == 0, f"manage.py {words[0]}: {result.stdout[-3000:]}{result.stderr[-3000:]}"
        return result.stdout

    def visitor(self) -> Person:
        return Person(self.url, str(self.nginx.certificate))

    def person(self, username: str, password: str) -> Person:
        return self.visitor().log_in(username, password)

    # Private

    def _web(self, name: str, address: str) -> Web:
        return Web(name, address, self.folder, environment=self.environment, shared=self.shared)

    def _worker(self, name: str, address: str, queues: str, processes: int) -> Worker:
        more = {"environment": self.environment, "shared": self.shared}
        return Worker(name, address, self.folder, queues=queues, processes=processes, **more)


@contextmanager
def running_site(folder: Path, *, failed: list[bool]) -> Iterator[Site]:
    """A site that runs inside the block; its logs are copied to ``folder`` when something ``failed``."""
    site, log_copy = Site(cache_folder=folder), folder / f"log-{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"
    site.postgres.flushes = False  # only processes die in tests, and a busy disk lets everybody wait
    try:
        site.start()
        yield site
    except BaseException:
        failed.append(True)
        raise
    finally:
        site.stop()
        if any(failed):
            shutil.rmtree(log_copy, ignore_errors=True)
            shutil.copytree(site.folder / "log", log_copy)
        site.remove()


def start_missing(servers: Sequence[Server]) -> None:
    """Those that do not run: all at once, then one wait."""
    fresh = [server for server in servers if not server.alive()]
    for server in fresh:
        server.start(wait=False)
    for server in fresh:
        server.await_ready()


def stop(servers: Sequence[Server], *, seconds: float = POLITE_S) -> None:
    """Ask all of them to end, then wait for each."""
    for server in servers:
        server.send_signal(server.polite)
    for server in servers:
        server.stop(seconds)


def restart(servers: Sequence[Server]) -> None:
    """All at once: most of a start is waiting for others."""
    stop(servers)
    start_missing(servers)


PATIENCE_S = 900  # nothing is asked to be quick: whatever comes at all may come on a machine that does much else


def eventually(
    there: Callable[[], object],
    *,
    seconds: float = PATIENCE_S,
    every: float = 0.1,
    explain: Callable[[], object] = str,
) -> None:
    """Wait until ``there()`` is true; ``seconds`` only where what is tested is how long it takes. A failure ends with
    what ``explain()`` returns."""
    deadline = time.monotonic() + seconds
    while not there():
        assert time.monotonic() < deadline, f"{there} is not so after {seconds:.0f} s {explain()}"
        time.sleep(every)
