"""Where things are kept: PostgreSQL, Redis, and a double of object storage."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import redis

from core.embedded.postgres import share_with, unprivileged
from tests.production.topology.server import Server, program

NAME, PASSWORD = "momentjudge", "of-this-topology"
BUCKET = "momentjudge"
POSTGRES_OPTIONS = {
    "max_connections": "100",
    "shared_buffers": "128MB",
    "log_line_prefix": "%m [%p] ",
    "log_min_duration_statement": "1000",
    "log_parameter_max_length": "0",
    "log_error_verbosity": "terse",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
}


def postgres_folder() -> Path | None:
    """Debian keeps each version's programs in a folder of its own, off the PATH; the newest is taken."""
    paths = [path for path in Path("/usr/lib/postgresql").glob("*/bin/postgres") if path.parts[4].isdecimal()]
    return max(paths, key=lambda path: int(path.parts[4])).parent if paths else None


class Postgres(Server):
    """Debian's PostgreSQL on a fresh cluster, with fsync as in production unless ``flushes`` is unset. As root it runs
    as nobody."""

    polite = signal.SIGINT  # the fast shutdown
    flushes = True

    def __init__(self, name: str, address: str, folder: Path) -> None:
        super().__init__(name, address, folder)
        self.extra: dict[str, str] = {}  # in its environment; counts from its next start

    def environment(self) -> dict[str, str]:
        return super().environment() | self.extra

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def url(self) -> str:
        return f"postgresql://{NAME}:{PASSWORD}@{self.address}:{self.port}/{NAME}"

    def prepare(self) -> None:
        self.prefix = unprivileged()
        if not self.data.exists():
            self._make_cluster()

    def command(self) -> list[str]:
        addresses = {"listen_addresses": self.address, "port": str(self.port), "unix_socket_directories": ""}
        values = addresses | POSTGRES_OPTIONS | {"fsync": "on" if self.flushes else "off"}
        options = [word for name, value in values.items() for word in ("-c", f"{name}={value}")]
        last_will = ["setpriv", "--pdeathsig", "INT", "--"] if shutil.which("setpriv") else []
        return [*self.prefix, *last_will, str(self.program("postgres")), "-D", str(self.data), *options]

    def ready(self) -> bool:
        try:
            with self.connect(dbname="postgres") as connection:
                if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [NAME]).fetchone() is None:
                    connection.execute(f"CREATE DATABASE {NAME}")
        except psycopg.OperationalError:
            return False
        return True

    def connect(self, **options: Any) -> psycopg.Connection[Any]:
        """A connection that commits each statement."""
        defaults = {"host": self.address, "port": self.port, "user": NAME, "password": PASSWORD, "dbname": NAME}
        return psycopg.connect(**{**defaults, "connect_timeout": 5, "autocommit": True, **options})

    def program(self, name: str) -> Path:
        """One of Debian's programs of the server's own version."""
        folder = postgres_folder()
        assert folder is not None, "apt-get install postgresql"
        return folder / name

    def _make_cluster(self) -> None:
        self.data.mkdir(mode=0o700)
        password = self.folder / "password"
        password.write_text(PASSWORD)
        share_with(self.data, self.prefix, owner=True)
        words = ["-D", str(self.data), "-U", NAME, "--auth=scram-sha-256", "--pwfile", str(password)]
        words += ["--encoding=UTF8", "--locale=C", "--no-instructions"]
        subprocess.run([*self.prefix, str(self.program("initdb")), *words], check=True, capture_output=True, cwd="/")


class Redis(Server):
    """Debian's redis-server; every write is appended to a file, flushed once a second."""

    @property
    def url(self) -> str:
        return f"redis://:{PASSWORD}@{self.address}:{self.port}/0"

    def command(self) -> list[str]:
        words = {"bind": self.address, "port": str(self.port), "dir": str(self.folder), "requirepass": PASSWORD}
        words |= {"appendonly": "yes", "appendfsync": "everysec", "save": "", "daemonize": "no"}
        executable = program("redis-server")
        assert executable is not None, "apt-get install redis-server"
        return [executable, *(word for name, value in words.items() for word in (f"--{name}", value))]

    def ready(self) -> bool:
        try:
            with socket.create_connection((self.address, self.port), timeout=1) as connection:
                connection.sendall(f"AUTH {PASSWORD}\r\nPING\r\n".encode())
                answers = connection.makefile("rb")
                return (answers.readline(), answers.readline()) == (b"+OK\r\n", b"+PONG\r\n")
        except OSError:
            return False

    def client(self) -> "redis.Redis":
        return redis.Redis.from_url(self.url, socket_timeout=5)


class Storage(Server):
    """A double of object storage: moto's server speaks S3; what was written to the bucket outlives kill -9."""

    key, secret = "of-this-topology", "of-this-topology"

    @property
    def url(self) -> str:
        return f"http://{self.address}:{self.port}"

    @property
    def objects(self) -> Path:
        """Each object as a file, by its quoted name."""
        return self.folder / "objects"

    def command(self) -> list[str]:
        words = ["--host", self.address, "--port", str(self.port), "--folder", str(self.objects), "--bucket", BUCKET]
        return [sys.executable, "-m", "tests.production.topology.versioned_bucket", *words]

    def environment(self) -> dict[str, str]:
        return dict(os.environ) | {"PYTHONUNBUFFERED": "1"}

    def ready(self) -> bool:
        if not self.listens():
            return False
        names = [bucket["Name"] for bucket in self.client().list_buckets()["Buckets"]]
        if BUCKET not in names:
            self.client().create_bucket(Bucket=BUCKET)
        return True

    def client(self) -> Any:
        import boto3  # type: ignore[import-untyped]

        keys = {"aws_access_key_id": self.key, "aws_secret_access_key": self.secret, "region_name": "us-east-1"}
        return boto3.client("s3", endpoint_url=self.url, **keys)
