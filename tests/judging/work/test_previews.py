"""Examples and tutorials are shown to those who judge or lead, as long as they do."""

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Membership, Project
from annotation.models import Moment
from judging.models import GuidelineExample
from judging.work.selectors.assignments import preview_visible_to
from tests.factories import BatchFactory, KnownPairFactory, MembershipFactory, MomentFactory, annotator
from tests.judging.play import judge

pytestmark = pytest.mark.django_db


@pytest.fixture
def example(project: Project) -> Moment:
    moment = MomentFactory(video__corpus=project.dataset.corpus, preview_state="ready")
    GuidelineExample.objects.create(guideline=project.guidelines.get(), grade=4, query_text="a query", moment=moment)
    return moment


@pytest.fixture
def taught(project: Project) -> Moment:
    """The moment of a tutorial's first pair."""
    moment = MomentFactory(video__corpus=project.dataset.corpus, preview_state="ready")
    KnownPairFactory(exam=None, project=project, moment=moment, source="lead", rank=None, tutorial_position=1, truth=4)
    return moment


def visibility_of(member: Membership, *moments: Moment) -> list[bool]:
    previews = [preview_visible_to(user=member.user, preview=moment.preview_uuid) for moment in moments]
    return [moment is not None for moment in previews]


@pytest.mark.parametrize(
    ("status", "visible"),
    [
        *((status, True) for status in ("candidate", "training", "exam", "qualified")),
        *((status, False) for status in ("suspended", "left")),
    ],
)
def test_annotators_see_what_teaches_them_until_they_are_out(
    project: Project, example: Moment, taught: Moment, status: str, visible: bool
) -> None:
    member = MembershipFactory(project=project, status=status)
    assert visibility_of(member, example, taught) == [visible] * 2


@pytest.mark.parametrize(("role", "visible"), [("lead", True), ("admin", True), ("participant", False)])
def test_who_leads_sees_it_and_participants_do_not(
    project: Project, example: Moment, taught: Moment, role: str, visible: bool
) -> None:
    assert visibility_of(MembershipFactory(project=project, role=role), example, taught) == [visible] * 2


def test_the_guideline_of_who_is_out_has_no_pictures(project: Project, example: Moment, client: Client) -> None:
    for status, pictures in (("qualified", True), ("left", False)):
        client.force_login(MembershipFactory(project=project, status=status).user)
        page = client.get(reverse("judging:guideline", args=[project.uuid])).content.decode()
        assert (str(example.preview_uuid) in page) is pictures


@pytest.mark.parametrize("person_status", ["qualified", "suspended", "left"])
def test_what_was_judged_is_shown_as_long_as_one_judges(person_status: str) -> None:
    batch = BatchFactory(pairs=2)
    person = annotator(batch.project)
    judge(batch, [3, 0], person)
    moments = [pair.candidate.moment for pair in batch.pairs.all()]
    Moment.objects.update(preview_state="ready")
    member = Membership.objects.get(user=person)
    assert visibility_of(member, *moments) == [True, True]
    Membership.objects.filter(pk=member.pk).update(status=person_status)
    assert visibility_of(member, *moments) == [person_status == "qualified"] * 2
    Membership.objects.filter(pk=member.pk).update(roles=["participant"], number=None, status="")
    assert visibility_of(member, *moments) == [False, False]
