"""Cost of a web process: memory after it has served, each page's code and templates included."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from django.urls import reverse

from tests.production.topology import Site
from tests.production.topology.project import Scenario, always, judge_all
from tests.production.topology.server import descendants

LARGEST_MB = 150
AT_ONCE = 40  # who try to log in, each with a name of their own


def sizes_mb(site: Site, field: str = "VmRSS") -> list[int]:
    sizes = [memory_mb(pid, field) for web in site.web for pid in descendants(web.pid)]
    assert len(sizes) == 4
    return sizes


def memory_mb(pid: int, field: str) -> int:
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return round(int(fields[field].split()[0]) / 1024)


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
    sizes = sizes_mb(site)
    assert max(sizes) <= LARGEST_MB, sizes


def test_many_log_ins_at_once_leave_it_small(site: Site) -> None:
    """Whoever wants may have a password checked; what that takes at its most counts, too."""
    with ThreadPoolExecutor(AT_ONCE) as strangers:
        answers = list(strangers.map(lambda number: log_in_refused(site, number), range(AT_ONCE)))
    assert answers == [200] * AT_ONCE
    sizes = sizes_mb(site, "VmHWM")
    assert max(sizes) <= LARGEST_MB, sizes
