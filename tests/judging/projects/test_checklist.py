"""The list of steps on the lead's first page: each with its state, numbers and button, gone when all is done."""

import pytest
from django.test import Client

from accounts.models import Project
from annotation.models import Caption, Moment
from judging.models import Batch, Release
from judging.projects.checklist import checklist_of
from judging.review.services import batch_review
from tests import factories
from tests.annotation.captions.test_captions import waiting
from tests.factories import lead
from tests.judging.play import judge_round
from tests.judging.views.acts import HTMX, url

pytestmark = pytest.mark.django_db


@pytest.fixture
def project() -> Project:
    return factories.ProjectFactory()  # type: ignore[no-any-return]


def states(project: Project) -> dict[str, str]:
    checklist = checklist_of(project)
    return {item.step.label: item.state for item in checklist.items} if checklist else {}


def facts(project: Project, label: str) -> str:
    checklist = checklist_of(project)
    assert checklist
    return next(item.step.facts for item in checklist.items if item.step.label == label)


def test_each_step_in_its_turn(project: Project) -> None:
    assert [*states(project).values()] == ["now"] + ["later"] * 7
    assert facts(project, "Videos") == "0 videos, 0 moments"
    moment = factories.MomentFactory(video__corpus=project.dataset.corpus, preview="", preview_state="missing")
    assert states(project)["Videos"] == "now" and facts(project, "Videos") == "1 video, 1 moment, 0 with a preview"
    Moment.objects.filter(pk=moment.pk).update(preview="x.gif", preview_state="ready")
    assert states(project)["Captions"] == "now"
    waiting(project, "name")
    assert facts(project, "Captions") == "0 captions in use, 1 to decide"
    Caption.objects.update(state="accepted", failed=[])
    assert states(project)["Queries"] == "now"
    query = factories.QueryFactory(project=project, split="val")
    assert facts(project, "Queries") == "1 val" and states(project)["People"] == "now"
    for _ in range(4):
        factories.annotator(project)
    assert facts(project, "People") == "4 qualified of the 4 that consensus needs"
    assert states(project)["Judge"] == "now" and facts(project, "Judge") == "0 of 0 batches done, 1 query not opened"
    batch = factories.BatchFactory(query=query)
    judge_round(batch, [2, 2], [2, 2])
    assert states(project)["Review"] == "now" and facts(project, "Review") == "0 queries decided, 1 waiting"
    batch_review(batch=batch, extend=False, lead=lead(project), reason="")
    assert states(project)["Release"] == "now"
    Release.objects.create(project=project, version=1, state="ready", archive="1.zip")
    assert checklist_of(project) is None, "training is optional"


def test_two_people_are_enough_while_nothing_waits_for_others(project: Project) -> None:
    batch = factories.BatchFactory(query__project=project)
    judge_round(batch, [2, 2], [2, 2])
    assert facts(project, "People") == "2 qualified of the 4 that consensus needs"
    assert states(project)["People"] == "done"
    Batch.objects.update(state="open", done_at=None)
    assert states(project)["People"] != "done"


def test_the_page_shows_it_unfolded_until_people_can_judge(client: Client, project: Project) -> None:
    client.force_login(lead(project))
    page = client.get(url("overview", project)).text
    assert '<details class="checklist" id="checklist" open>' in page and "0 of 8 steps are done" in page
    assert "Add videos and moments" in page and page.count('<span class="hint">optional</span>') == 1
    assert "checklist" not in client.get(url("overview", project), headers=HTMX).text, "it is not renewed with the rest"
