"""kill -9 while files are imported: all of a file is there in the end, or nothing meanwhile; nothing twice."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db.models import F

from annotation.corpora.services import imports
from annotation.corpora.services.imports import corpus_import_create
from annotation.models import CorpusImport, Description, Moment
from core.models import AuditEvent
from judging.imports import services
from judging.imports.label_studio import Mapped
from judging.models import Judgment, JudgmentImport
from tests.judging.imports.exports import annotation, rated, task, text
from tests.production.faults.background.acts import KILLED, fresh, kill_at, lead_of, page_of, sweep
from tests.production.faults.latch import latch
from tests.production.topology import Site
from tests.production.topology.project import Scenario
from tests.production.topology.site import eventually

LINES, PAIRS = 5_000, 6_000


def late(row: Any) -> None:
    """As if it had not moved for three minutes."""
    at_work = type(row).objects.filter(pk=row.pk, state__in=type(row).AT_WORK)
    at_work.update(updated_at=F("updated_at") - timedelta(minutes=3))


def table() -> SimpleUploadedFile:
    lines = [f"v{n // 100:04},{n % 100},{n % 100}.5,Somebody opens door {n}.,200" for n in range(LINES)]
    return SimpleUploadedFile("many.csv", "\n".join(["video,start,end,description,duration", *lines]).encode())


@pytest.mark.parametrize("killed", KILLED)
def test_a_corpus_is_imported_whole_and_once_after_a_kill(killed: str, site: Site) -> None:
    scenario = Scenario.make(annotators=0)
    name, lead = scenario.project.dataset.corpus.name, lead_of(site, scenario)
    row = corpus_import_create(actor=scenario.lead, corpus_name=name, format="csv", file=table())
    eventually(lambda: fresh(row).state == "checked")
    with latch(site, "annotation_description", event="INSERT", passing=LINES // 2) as closed:
        imports.IMPORTS.confirm(row=row, actor=scenario.lead, skip_bad=False)
        kill_at(closed, site, killed)
        if killed == "worker":
            assert fresh(row).state == "importing"
            assert not Description.objects.filter(corpus__name=name).exists()
            assert "<b>Importing</b>" in page_of(site, lead, "annotation:import", row.uuid)
        closed.open()
        site.bring_back(killed)
    late(row)
    sweep("core.tasks.sweep")
    eventually(lambda: fresh(row).state == "done")
    assert Description.objects.filter(corpus__name=name).count() == LINES
    assert Moment.objects.filter(video__corpus__name=name).count() == LINES
    assert AuditEvent.objects.filter(actor=scenario.lead, action="corpus.confirm").count() == 1
    assert (CorpusImport.objects.get(pk=row.pk).file.name, fresh(row).error) == ("", "")


def test_judgments_are_imported_whole_and_once_after_a_kill(site: Site) -> None:
    scenario = Scenario.make(annotators=0)
    people = [annotation(2 * n + slot, 7 + slot, rated(n % 5)) for n in range(PAIRS) for slot in (0, 1)]
    export = [task(n, {"pair_id": n}, *people[2 * n : 2 * n + 2]) for n in range(PAIRS)]
    row = services.judgment_import_create(
        actor=scenario.lead,
        project_name=f"old {scenario.project.uuid}",
        mapped=Mapped(pair="pair_id"),
        file=SimpleUploadedFile("export.json", text(export).encode()),
    )
    eventually(lambda: fresh(row).state == "checked")
    with latch(site, "judging_judgment", event="INSERT", passing=PAIRS) as closed:
        services.IMPORTS.confirm(row=row, actor=scenario.lead, skip_bad=False)
        kill_at(closed, site, "worker")
        assert fresh(row).project is None
        closed.open()
        site.bring_back("worker")
    late(row)
    sweep("core.tasks.sweep")
    eventually(lambda: fresh(row).state == "done")
    project = JudgmentImport.objects.get(pk=row.pk).project
    assert Judgment.objects.filter(pair__batch__project=project).count() == 2 * PAIRS
