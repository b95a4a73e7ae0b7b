"""nginx, with the very template that docker/ ships."""

import http.client
import os
import re
import socket
import ssl
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from core.embedded.services import BASE_DIR
from tests.production.topology.hosts import Web
from tests.production.topology.server import Server, ServerFailed, descendants, free_port, program
from tests.production.topology.stores import BUCKET

RELOADED_S = 180
TEMPLATE = BASE_DIR / "docker" / "nginx" / "momentjudge.conf.template"
MAIN = """\
{user}
worker_processes 2;
daemon off;
pid {folder}/nginx.pid;
error_log stderr notice;
events {{ worker_connections 1024; }}
http {{
    include /etc/nginx/mime.types;
    default_type application/octet-stream;
    access_log off;
    sendfile on;
    client_body_temp_path {folder}/bodies;
    proxy_temp_path {folder}/proxied;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/site.conf;
}}
"""


def rendered(values: dict[str, str], template: str | None = None) -> str:
    """The template with ``${MJ_...}`` filled in, as envsubst does it; an unknown name is an error."""
    return re.sub(r"\$\{(MJ_\w+)\}", lambda match: values[match[1]], template or TEMPLATE.read_text())


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


def _title(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().rstrip("\0 ")
    except OSError:
        return ""  # it has ended


class Nginx(Server):
    """TLS with a certificate of its own; ``web`` are asked in turn."""

    def __init__(self, name: str, address: str, folder: Path, *, web: Sequence[Web], media: Path) -> None:
        super().__init__(name, address, folder)
        self.web, self.media, self.plain_port = list(web), media, free_port(address)
        self.certificate, self.key = self.folder / "certificate.pem", self.folder / "key.pem"
        self.logs = folder / "log" / "nginx"
        self.also = f"listen [::1]:{self.port} ssl http2;" if has_ipv6() else ""
        self.storage = ""  # host and port of an object storage that browsers reach through here
        self.without: set[str] = set()  # web hosts that get no new request
        self.known: list[int] = []  # the web hosts' processes at its last start or reload

    @property
    def url(self) -> str:
        return f"https://{self.address}:{self.port}"

    @property
    def access_log(self) -> Path:
        return self.logs / "access.log"

    def prepare(self) -> None:
        self.logs.mkdir(exist_ok=True)
        if not self.certificate.exists():
            self._make_certificate()
        self.configure()

    def configure(self) -> None:
        self.known = [web.pid for web in self.web if web.process]
        user = "user root;" if os.geteuid() == 0 else ""
        (self.folder / "nginx.conf").write_text(MAIN.format(folder=self.folder, user=user))
        (self.folder / "site.conf").write_text(rendered(self.values()))

    def values(self) -> dict[str, str]:
        return {
            "MJ_LISTEN_HTTP": f"{self.address}:{self.plain_port}",
            "MJ_LISTEN_HTTPS": f"{self.address}:{self.port}",
            "MJ_LISTEN_HTTP_IPV6": "",
            "MJ_LISTEN_HTTPS_IPV6": self.also,
            "MJ_SITE_HOST": f"{self.address}:{self.port}",
            "MJ_CERTIFICATE": str(self.certificate),
            "MJ_CERTIFICATE_KEY": str(self.key),
            "MJ_RESOLVER": "",
            "MJ_WEB_SERVERS": "\n    ".join(map(self._upstream, self.web)),
            "MJ_CONNECTIONS_PER_ADDRESS": "400",
            "MJ_MAX_BODY": "220m",
            "MJ_MEDIA": str(self.media),
            "MJ_LOGS": str(self.logs),
            "MJ_STORAGE_SERVER": f"server {self.storage};" if self.storage else "",
            "MJ_BUCKET": BUCKET if self.storage else "",
        }

    def command(self) -> list[str]:
        executable = program("nginx")
        assert executable is not None, "apt-get install nginx"
        return [executable, "-p", str(self.folder), "-e", "stderr", "-c", str(self.folder / "nginx.conf")]

    def check(self) -> str:
        """Check the configuration with ``nginx -t``."""
        self.prepare()
        result = subprocess.run([*self.command(), "-t"], capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        return result.stderr

    @property
    def trusted(self) -> ssl.SSLContext:
        """Accepts its certificate, which nobody else has signed."""
        return ssl.create_default_context(cafile=str(self.certificate))

    def open_connection(self, timeout: float = 60) -> ssl.SSLSocket:
        """TLS on which anything may be written."""
        plain = socket.create_connection((self.address, self.port), timeout)
        return self.trusted.wrap_socket(plain, server_hostname=self.address)

    def ready(self) -> bool:
        connection = http.client.HTTPSConnection(self.address, self.port, timeout=60, context=self.trusted)
        try:
            connection.request("GET", "/healthz")
            connection.getresponse()
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
        return True

    def drain(self, web: Web) -> None:
        """Send no new request to this host; those under way are finished."""
        self.without.add(web.name)
        self.reload()

    def take_back(self, web: Web) -> None:
        self.without.discard(web.name)
        self.reload()

    def mend(self) -> None:
        """Ask every web host again: nginx passes over one that did not answer for a while."""
        if self.without or self.known != [web.pid for web in self.web]:
            self.without.clear()
            self.reload()

    def reload(self) -> None:
        """Connections that begin after this last; those to the old processes are closed between two requests."""
        old = set(self.accepting())
        self.configure()
        subprocess.run([*self.command(), "-s", "reload"], capture_output=True, check=True)
        deadline = time.monotonic() + RELOADED_S
        while not (now := set(self.accepting())) or now & old:
            if time.monotonic() > deadline:
                raise ServerFailed(f"{self.name} has not read its configuration again.\n{self.tail()}")
            time.sleep(0.02)

    def accepting(self) -> list[int]:
        """The processes that take new connections; one that was told to end titles itself so."""
        return [pid for pid in descendants(self.pid) if _title(pid) == "nginx: worker process"]

    def _upstream(self, web: Web) -> str:
        down = " down" if web.name in self.without else ""
        return f"server {web.address}:{web.port} max_fails=2 fail_timeout=5s{down};"

    def _make_certificate(self) -> None:
        openssl = program("openssl")
        assert openssl is not None, "apt-get install openssl"
        words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
        words += ["-subj", f"/CN={self.address}", "-addext", f"subjectAltName=IP:{self.address}"]
        words += ["-keyout", str(self.key), "-out", str(self.certificate)]
        subprocess.run([openssl, *words], check=True, capture_output=True)
