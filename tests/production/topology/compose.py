"""``docker compose`` for docker/roll where no engine runs: its words are acted on with the servers of the site."""

import os
import shlex
import subprocess
import sys
import time

from core.embedded.services import BASE_DIR
from tests.production.topology.hosts import Web
from tests.production.topology.site import Site, eventually, restart

DOUBLE = """\
#!/usr/bin/env bash
# Hands its words to the test and prints its answer.
printf '%s\\n' "$@" > {folder}/asked.new && mv {folder}/asked.new {folder}/asked
while [ ! -e {folder}/answer ]; do sleep 0.05; done
cat {folder}/answer && rm {folder}/answer
"""


class Roll:
    """One run of docker/roll on the site. Servers are started by this process, in its main thread."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.calls: list[str] = []
        self.folder = site.folder / "compose"
        self.folder.mkdir(exist_ok=True)
        self.script = self.folder / "compose"
        self.script.write_text(DOUBLE.format(folder=self.folder))
        self.script.chmod(0o755)

    def run(self) -> None:
        """All of it, as an operator runs it."""
        environment = {
            "COMPOSE": str(self.script),
            "NGINX_CONF": str(self.site.nginx.folder / "site.conf"),
            "DRAIN_S": "1",
        }
        log = self.folder / "roll.log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                [str(BASE_DIR / "docker" / "roll")], env=os.environ | environment, stdout=out, stderr=out
            )
            while process.poll() is None:
                self._serve()
                time.sleep(0.05)
        assert process.returncode == 0, log.read_text()

    def _serve(self) -> None:
        request_file = self.folder / "asked"
        if request_file.exists():
            words = request_file.read_text().splitlines()
            request_file.unlink()
            self.calls.append(shlex.join(words))
            draft = self.folder / "answer.new"
            draft.write_text(self._do(words))
            draft.rename(self.folder / "answer")

    def _do(self, words: list[str]) -> str:
        match words:
            case ["run", "--rm", "migrate", "docker/migrate", "--rolling"]:
                self._migrate()
            case ["config", "--services"]:
                return "".join(f"{name}\n" for name in ("beat", "nginx", *(web.name for web in self.site.web)))
            case ["exec", "-T", "nginx", "nginx", "-s", "reload"]:
                subprocess.run([*self.site.nginx.command(), "-s", "reload"], check=True, capture_output=True)
            case ["exec", "-T", name, "docker/healthy", "web"]:
                assert [web.status("/readyz") for web in self.site.web if web.name == name] == [200]
            case ["exec", "-T", "nginx", *command]:
                subprocess.run([self._addressed(word) for word in command], check=True)
            case ["up", "--detach", "--no-deps", "--wait", "--wait-timeout", _, name]:
                self._replace(name)
            case ["up", "--detach", "--no-deps", *names]:
                self._replace(*names)
            case ["ps", "--quiet", *_]:
                pass
            case _:
                raise AssertionError(f"docker/roll asks compose for {words}")
        return ""

    def _migrate(self) -> None:
        environment = self.site.web[0].environment() | {"PYTHON": sys.executable}
        result = subprocess.run(
            [str(BASE_DIR / "docker" / "migrate"), "--rolling"], env=environment, capture_output=True, check=False
        )
        assert result.returncode == 0, result.stderr.decode()[-3000:]

    def _replace(self, *names: str) -> None:
        servers = self.site.servers_named(*names)
        restart(servers)
        for server in servers:
            if isinstance(server, Web):
                eventually(lambda web=server: web.status("/readyz") == 200)

    def _addressed(self, text: str) -> str:
        """Containers have names; hosts here have addresses."""
        for web in self.site.web:
            text = text.replace(web.name, web.address)
        return text
