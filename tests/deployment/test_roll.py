"""docker/roll with doubles of what it calls: somebody is asked all the time, also when a roll fails and is repeated."""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from core.embedded.services import BASE_DIR

pytestmark = pytest.mark.deployment

TEMPLATE = BASE_DIR / "docker" / "nginx" / "momentjudge.conf.template"
JUDGING = "momentjudge-queue@judging"
STORAGE = "    server 127.0.0.1:9 down;"  # of the template, and none of roll's business
DOUBLE = f"""\
#!{sys.executable} -SE
import json, os, re, shutil, subprocess, sys
from pathlib import Path

folder = Path(__file__).parent
name, words = Path(sys.argv[0]).name, sys.argv[1:]
answering, broken, conf, loaded = (folder / each for each in ("answering", "broken", "conf", "loaded"))


def host(text):
    return (re.search(r"web-\\d|800\\d", text) or [""])[0]


def serving():
    block = re.search(r"upstream momentjudge_web {{(.*?)\\n}}", loaded.read_text(), re.DOTALL)[1]
    asked = {{host(line) for line in block.split(";") if " server " in line and not line.endswith(" down")}}
    return sorted(asked & set(os.listdir(answering)))


def tell():
    with (folder / "calls").open("a") as calls:
        print(json.dumps({{"words": [name, *words], "serving": serving()}}), file=calls)


def replace(web):
    (answering / web).unlink(missing_ok=True)
    tell()
    if not (broken / web).exists():
        (answering / web).touch()
    elif name == "compose":
        sys.exit("container " + web + " is unhealthy")


def reload():
    shutil.copy(conf, loaded)


tell()
match [name, *words]:
    case ["compose", "config", "--services"]:
        print("nginx", "web-2", "web-1", "worker", sep="\\n")
    case ["systemctl", "list-units", *_]:
        print("momentjudge-web@8001.service loaded active running web host at port 8001")
        print("momentjudge-web@8002.service loaded failed failed web host at port 8002")
    case ["compose", "exec", "-T", "nginx", "nginx", "-s", "reload"] | ["nginx", "-s", "reload"]:
        reload()
    case ["compose", "exec", "-T", "nginx", *command]:
        subprocess.run(command, check=True)
    case ["compose", "exec", "-T", web, "docker/healthy", "web"]:
        sys.exit(not (answering / web).exists())
    case ["curl", *_, url]:
        sys.exit(not (answering / host(url)).exists())
    case ["compose", "up", "--detach", "--no-deps", "--wait", "--wait-timeout", _, web]:
        replace(web)
    case ["systemctl", "restart", unit] if host(unit):
        replace(host(unit))
    case ["systemctl", "is-active", *_, unit]:
        sys.exit(not (answering / unit).exists())
    case ["compose", "run" | "up" | "ps", *_] | ["systemctl", "restart", *_] | ["systemd-run", *_]:
        pass
    case _:
        sys.exit(f"roll asks for {{name}} {{words}}")
"""


@dataclass
class Site:
    """Two web hosts, nginx's list of them, and what was called while who served."""

    folder: Path
    method: str
    hosts: tuple[str, str]
    calls: list[dict[str, list[str]]] = field(default_factory=list)
    errors: str = ""

    def prepare(self) -> None:
        for name in ("answering", "broken"):
            (self.folder / name).mkdir()
        for host in self.hosts:
            (self.folder / "answering" / host).touch()
        for name in ("compose", "systemctl", "curl", "nginx", "systemd-run"):
            (self.folder / name).write_text(DOUBLE)
            (self.folder / name).chmod(0o755)
        servers = ("web-1:8000", "web-2:8000") if self.method == "compose" else ("127.0.0.1:8001", "127.0.0.1:8002")
        server_lines = "".join(f"server {name} max_fails=2 fail_timeout=5s; " for name in servers)
        self.conf.write_text(TEMPLATE.read_text().replace("${MJ_WEB_SERVERS}", server_lines))
        shutil.copy(self.conf, self.folder / "loaded")

    @property
    def conf(self) -> Path:
        return self.folder / "conf"

    def roll(self) -> int:
        (self.folder / "calls").write_text("")
        settings = {"PATH": f"{self.folder}:{os.environ['PATH']}", "COMPOSE": "compose", "NGINX_CONF": str(self.conf)}
        command = [str(BASE_DIR / "docker" / "roll"), self.method]
        environment = os.environ | settings | {"DRAIN_S": "0", "START_S": "0"}
        process = subprocess.run(command, env=environment, stderr=subprocess.PIPE, text=True, check=False)
        self.errors = process.stderr
        self.calls = [json.loads(line) for line in (self.folder / "calls").read_text().splitlines()]
        return process.returncode

    def breaks(self, host: str) -> None:
        (self.folder / "broken" / host).touch()

    def mend(self, host: str) -> None:
        (self.folder / "broken" / host).unlink()

    def answers_late(self, host: str) -> None:
        (self.folder / "answering" / host).touch()

    def out_of_the_list(self) -> list[str]:
        block = re.search(r"upstream momentjudge_web \{(.*?)\n\}", self.conf.read_text(), re.DOTALL)
        assert block is not None
        return [host for line in block[1].split(";") for host in self.hosts if host in line and line.endswith(" down")]

    def somebody_served(self) -> bool:
        return all(call["serving"] for call in self.calls)

    def called(self, *words: str) -> bool:
        return any(call["words"][: len(words)] == list(words) for call in self.calls)


@pytest.fixture(params=["compose", "systemd"])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Site:
    hosts = ("web-1", "web-2") if request.param == "compose" else ("8001", "8002")
    site = Site(tmp_path, request.param, hosts)
    site.prepare()
    (site.folder / "answering" / JUDGING).touch()
    return site


def test_a_roll_drains_one_host_after_the_other_and_ends_with_all_in_service(site: Site) -> None:
    before = site.conf.read_text()
    assert STORAGE in before
    assert site.roll() == 0
    assert site.somebody_served()
    served = [call["serving"] for call in site.calls]
    assert [site.hosts[0]] in served and [site.hosts[1]] in served
    assert site.conf.read_text() == before


@pytest.mark.parametrize("broken", [0, 1])
def test_a_host_whose_new_code_fails_gets_no_requests_until_a_roll_succeeds(site: Site, broken: int) -> None:
    before = site.conf.read_text()
    site.breaks(site.hosts[broken])
    for _ in range(2):
        assert site.roll() != 0
        assert site.out_of_the_list() == [site.hosts[broken]]
        assert site.somebody_served()
        assert not site.called("compose", "up", "--detach", "--no-deps", "worker")
        assert not site.called("systemctl", "restart", "momentjudge-worker@*")
    site.mend(site.hosts[broken])
    assert site.roll() == 0
    assert site.somebody_served()
    assert site.calls[-1]["serving"] == list(site.hosts)
    assert site.conf.read_text() == before


def test_a_host_that_answers_after_its_roll_was_given_up_is_drained_once(site: Site) -> None:
    before = site.conf.read_text()
    site.breaks(site.hosts[0])
    assert site.roll() != 0
    site.mend(site.hosts[0])
    site.answers_late(site.hosts[0])
    assert site.roll() == 0
    assert site.somebody_served()
    assert site.conf.read_text() == before


def test_a_drained_host_that_answers_is_taken_back_when_the_roll_fails(site: Site) -> None:
    """As when the new image is missing: nothing was replaced."""
    before = site.conf.read_text()
    program = site.folder / ("compose" if site.method == "compose" else "systemctl")
    program.write_text(DOUBLE.replace("def replace(web):\n", "def replace(web):\n    sys.exit('no such image')\n"))
    assert site.roll() != 0
    assert site.conf.read_text() == before
    assert site.somebody_served()


def test_a_roll_brings_the_judging_worker_first_or_says_that_it_is_missing(site: Site) -> None:
    """Work finished on a new web host is decided by a worker of its queue alone."""
    assert site.roll() == 0
    judging, web = (
        (["compose", "up", "--detach", "--no-deps", "judging"], "web-1")
        if site.method == "compose"
        else (["systemctl", "restart", "momentjudge-queue@judging*"], "momentjudge-web@8001")
    )
    words = [call["words"] for call in site.calls]
    started = [number for number, call in enumerate(words) if call[-1] == web and {"up", "restart"} & set(call)]
    assert words.index(judging) < min(started)
    if site.method == "compose":
        assert site.called("compose", "up", "--detach", "--no-deps", "worker", "search", "beat")
        return
    assert site.called("systemctl", "restart", "momentjudge-worker@*", "momentjudge-queue@*")
    assert "judging" not in site.errors
    (site.folder / "answering" / JUDGING).unlink()
    assert site.roll() == 0
    assert f"enable --now {JUDGING}" in site.errors
