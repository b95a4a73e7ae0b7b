"""People use the site for long: nothing fails, and no process grows. As many judgments as people give in five minutes,
and four times as fast; SOAK_S=3600 for an hour at the pace of people."""

import os
from pathlib import Path

import pytest

from benchmarks.database import load_people_create, project_seed
from benchmarks.load import load_run
from tests.production.growth import processes_gone, too_large
from tests.production.topology import Site

SOAK_S = float(os.environ.get("SOAK_S", "0"))
HURRY = 1.0 if SOAK_S else 4.0
ANNOTATORS = 20
PAIRS_A_BATCH = 20
JUDGMENT_S = 6  # of one annotator, in the mean
JUDGMENTS = int(ANNOTATORS * (SOAK_S or 300) / JUDGMENT_S)


@pytest.mark.timeout(SOAK_S + 1800)
def test_nothing_fails_and_nothing_grows(site: Site, tmp_path: Path) -> None:
    project = project_seed(annotators=0, queries=40 + JUDGMENTS // PAIRS_A_BATCH).project
    people = load_people_create(project, annotators=ANNOTATORS, leads=2, uploads=True)
    run = load_run(site, people, tmp_path, seconds=SOAK_S, judgments=JUDGMENTS, hurry=HURRY)
    assert run.errors == []
    assert people.recorded() == run.judgments >= JUDGMENTS
    hosts, web = {host.name for host in site.hosts}, {host.name for host in site.web}
    assert too_large(run.memory_mb, web=web, workers=hosts - web) == []
    assert processes_gone(run.memory_mb, hosts=hosts) == []
    assert [server.name for server in site.servers if not server.alive()] == []
