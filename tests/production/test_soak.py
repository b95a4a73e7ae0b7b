"""People use the site for long: nothing fails, and no process grows. Five minutes; SOAK_S=3600 for an hour."""

import os
from pathlib import Path

import pytest

from benchmarks.database import load_people_create, project_seed
from benchmarks.load import load_run
from tests.production.growth import gone, too_large
from tests.production.topology import Site

SOAK_S = float(os.environ.get("SOAK_S", "300"))
ANNOTATORS = 20
PAIRS_A_BATCH = 20


@pytest.mark.timeout(SOAK_S + 1800)
def test_nothing_fails_and_nothing_grows(site: Site, tmp_path: Path) -> None:
    queries = 40 + int(ANNOTATORS * SOAK_S / 6 / PAIRS_A_BATCH)
    project = project_seed(annotators=0, queries=queries).project
    people = load_people_create(project, annotators=ANNOTATORS, leads=2, uploads=True)
    found = load_run(site, people, tmp_path, seconds=SOAK_S, warm_s=30.0)
    assert found.errors == []
    assert people.recorded() == found.judgments
    assert found.judgments > ANNOTATORS * SOAK_S / 10
    hosts, web = {host.name for host in site.hosts}, {host.name for host in site.web}
    assert too_large(found.memory_mb, web=web, workers=hosts - web) == []
    assert gone(found.memory_mb, hosts=hosts) == []
    assert [server.name for server in site.servers if not server.alive()] == []
