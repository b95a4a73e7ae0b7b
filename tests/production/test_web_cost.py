"""What a web process costs: memory after it has served, each page's code and templates included."""

from pathlib import Path

from django.urls import reverse

from tests.production.topology import Site
from tests.production.topology.server import descendants
from tests.production.topology.world import World, always, judge_all

LARGEST_MB = 150


def resident_mb(pid: int) -> float:
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(fields["VmRSS"].split()[0]) / 1024


def test_a_web_process_stays_small(site: Site) -> None:
    world = World.make(annotators=1)
    world.batch(pairs=6)
    judge_all(world.person(site, world.annotators[0]), world, always(3))
    lead = world.person(site, world.lead)
    for name in ("overview", "review-queue", "queries", "releases", "people", "agreement", "figures"):
        for _ in range(4):
            assert lead.get(reverse(f"judging:{name}", args=[world.project.uuid])).status_code == 200
    sizes = [round(resident_mb(pid)) for web in site.web for pid in descendants(web.pid)]
    assert len(sizes) == 4
    assert max(sizes) <= LARGEST_MB, sizes
