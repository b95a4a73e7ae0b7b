"""kill -9 while captions are rewritten by the rules: every description has its caption in the end, checked, once."""

import pytest
from django.db.models import Count

from accounts.models import Project
from annotation.captions.services.rewriting import rewriting_start
from annotation.models import Caption, Description, Moment, Rewriting
from core.models import AuditEvent, Job
from tests.factories import VideoFactory
from tests.production.faults.background.acts import KILLED, kill_at, lead_of, page_of, sweep
from tests.production.faults.latch import latch
from tests.production.topology import Site
from tests.production.topology.project import Scenario
from tests.production.topology.site import eventually

SWEEP = "core.tasks.sweep"
SENTENCES = 240


def described(project: Project) -> None:
    """Descriptions with names, some of which the rules cannot hide."""
    video = VideoFactory(corpus=project.dataset.corpus, duration_s=2.0 * SENTENCES)
    moments = Moment.objects.bulk_create(
        Moment(video=video, start_s=2.0 * n, end_s=2.0 * n + 1, preview_state="failed", preview_error="a test")
        for n in range(SENTENCES)
    )
    Description.objects.bulk_create(
        Description(
            corpus=project.dataset.corpus,
            moment=moment,
            source_id=n,
            text=f"Rachel hands Joey {n} letters and Monica reads letter {n + 1} aloud.",
            kind="video",
        )
        for n, moment in enumerate(moments)
    )


def captions(project: Project) -> dict[str, int]:
    """How many there are in each state."""
    rows = (
        Caption.objects.filter(description__corpus=project.dataset.corpus_id)
        .values_list("state")
        .annotate(n=Count("pk"))
    )
    return dict(rows.order_by())


@pytest.mark.parametrize("killed", KILLED)
def test_every_caption_is_made_and_checked_once_after_a_kill(killed: str, site: Site) -> None:
    scenario = Scenario.make(annotators=0)
    project, lead = scenario.project, lead_of(site, scenario)
    described(project)
    with latch(site, "annotation_caption", passing=SENTENCES // 3) as closed:
        row = rewriting_start(corpus=project.dataset.corpus, provider="rules", actor=scenario.lead, project=project)
        kill_at(closed, site, killed)
        if killed != "postgres":
            assert captions(project)["proposed"]
            assert "Rewriting descriptions" in page_of(site, lead, "annotation:captions", project.uuid)
        closed.open()
        site.bring_back(killed)
    sweep(SWEEP)
    eventually(lambda: Rewriting.objects.get(pk=row.pk).finished_at)
    counts = captions(project)
    assert sum(counts.values()) == SENTENCES and set(counts) <= {"accepted", "in_review"}, counts
    assert Caption.objects.filter(description__corpus=project.dataset.corpus_id, similarity=None).count() == 0
    assert Rewriting.objects.get(pk=row.pk).error == ""
    assert list(Job.objects.filter(project=project).values_list("state", "title")) == [
        ("done", "Descriptions rewritten")
    ]
    assert AuditEvent.objects.filter(project=project, action="captions.rewrite").count() == 1
