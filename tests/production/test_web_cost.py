"""Cost of a web process: memory after it has served, each page's code and templates included; and what log-ins add."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from django.urls import reverse

from tests.production.topology import Site
from tests.production.topology.project import Scenario, always, judge_all
from tests.production.topology.server import descendants

LARGEST_MB = 150
HASH_MB = 19  # of memory that Argon2 takes to check one password
AT_ONCE = 40  # who try to log in, each with a name of their own


def processes(site: Site) -> list[int]:
    pids = [pid for web in site.web for pid in descendants(web.pid)]
    assert len(pids) == 4
    return pids


def memory_mb(pid: int, field: str = "VmRSS") -> int:
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return round(int(fields[field].split()[0]) / 1024)


def forget_peak(pid: int) -> None:
    """Let VmHWM, the most memory a process has had, begin again from what it has now."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def log_in_refused(site: Site, number: int) -> int:
    credentials = {"username": f"nobody-{number}", "password": "not a password of anybody"}
    stranger = site.visitor()
    stranger.session.headers["Connection"] = "close"  # each request as if by another
    return stranger.post("/login/", credentials).status_code


def test_a_web_process_stays_small(site: Site) -> None:
    scenario = Scenario.make(annotators=1)
    scenario.batch(pairs=6)
    judge_all(scenario.person(site, scenario.annotators[0]), scenario, always(3))
    lead = scenario.person(site, scenario.lead)
    for name in ("overview", "review-queue", "queries", "releases", "people", "agreement", "figures"):
        for _ in range(4):
            assert lead.get(reverse(f"judging:{name}", args=[scenario.project.uuid])).status_code == 200
    sizes = [memory_mb(pid) for pid in processes(site)]
    assert max(sizes) <= LARGEST_MB, sizes


def test_many_log_ins_at_once_take_the_memory_of_one(site: Site) -> None:
    """Whoever wants may have a password checked, so a process checks one at a time."""
    before = {pid: memory_mb(pid) for pid in processes(site)}
    for pid in before:
        forget_peak(pid)
    with ThreadPoolExecutor(AT_ONCE) as strangers:
        answers = list(strangers.map(lambda number: log_in_refused(site, number), range(AT_ONCE)))
    assert answers == [200] * AT_ONCE
    added = [memory_mb(pid, "VmHWM") - size for pid, size in before.items()]
    assert max(added) >= HASH_MB - 1, added  # or nothing was checked
    assert max(added) < 1.7 * HASH_MB, added
