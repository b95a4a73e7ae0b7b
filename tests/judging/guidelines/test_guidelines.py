"""The guideline: drafts, versions, confirmations."""

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Project, User
from core.exceptions import NotPossible
from core.models import AuditEvent
from judging.exceptions import GuidelineStale, NotPossibleNow
from judging.guidelines.selectors import BODY, SUBJECTS, guideline_in_force, guideline_text, levels_of
from judging.guidelines.services import (
    Example,
    draft_discard,
    draft_example_remove,
    draft_example_set,
    draft_open,
    draft_publish,
    draft_save,
    guideline_begin,
    guideline_confirm,
    guideline_publish,
    policy_publish,
)
from judging.models import GuidelineConfirmation, GuidelineDraft, ScreeningAttempt
from judging.work.selectors.assignments import readiness
from tests.factories import NOW, MembershipFactory, MomentFactory, ProjectFactory, annotator, lead
from tests.judging.settings import screening_attempt, screening_question

pytestmark = pytest.mark.django_db
LEVELS = ["zero", "one", "two", "three", "four"]


@pytest.fixture
def actor(project: Project) -> User:
    return lead(project)


def examples_of(version: object) -> list[tuple[int, str]]:
    return list(version.examples.order_by("grade").values_list("grade", "query_text"))  # type: ignore[attr-defined]


class TestDraft:
    def test_nobody_judges_by_a_draft_until_it_is_published(self, project: Project, actor: User) -> None:
        draft_save(project=project, actor=actor, body="# Next", levels=LEVELS, changes="All is new.")
        assert guideline_in_force(project.pk).version == 1
        guideline = draft_publish(project=project, actor=actor)
        assert guideline_in_force(project.pk) == guideline
        assert (guideline.version, guideline.body, guideline.changes) == (2, "# Next", "All is new.")
        assert (guideline.levels, guideline.created_by) == (LEVELS, actor)
        assert AuditEvent.objects.filter(action="guideline.publish", data__version=2, actor=actor).exists()
        assert not GuidelineDraft.objects.exists()

    def test_examples_go_over_and_change_in_the_draft_alone(self, project: Project, actor: User) -> None:
        moment = MomentFactory(video__corpus=project.dataset.corpus)
        examples = [Example(grade, "q", moment.pk) for grade in (0, 4)]
        old = guideline_publish(project=project, actor=None, body="b", levels=LEVELS, examples=examples)
        annotator(project)
        draft_example_set(project=project, actor=actor, grade=4, query_text="other", moment=moment)
        draft_example_remove(project=project, actor=actor, grade=0)
        assert examples_of(old) == [(0, "q"), (4, "q")]
        assert examples_of(draft_publish(project=project, actor=actor)) == [(4, "other")]
        assert examples_of(guideline_publish(project=project, actor=None, body="c", levels=LEVELS)) == [(4, "other")]

    def test_an_example_can_be_watched_in_this_project(self, project: Project, actor: User) -> None:
        for moment in (MomentFactory(), MomentFactory(video__corpus=project.dataset.corpus, uncut=True)):
            with pytest.raises(NotPossibleNow):
                draft_example_set(project=project, actor=actor, grade=1, query_text="q", moment=moment)

    def test_a_draft_begun_before_another_version_is_not_published(self, project: Project, actor: User) -> None:
        draft_open(project=project, actor=actor)
        guideline_publish(project=project, actor=None, body="meanwhile", levels=LEVELS)
        with pytest.raises(GuidelineStale):
            draft_publish(project=project, actor=actor)
        assert guideline_in_force(project.pk).body == "meanwhile"

    def test_discarding(self, project: Project, actor: User) -> None:
        draft_open(project=project, actor=actor)
        assert draft_discard(project=project)
        assert not draft_discard(project=project)
        with pytest.raises(NotPossibleNow):
            draft_publish(project=project, actor=actor)


class TestConfirmation:
    def test_confirming_twice_is_once(self, project: Project) -> None:
        person = MembershipFactory(project=project, confirmed=False).user
        for _ in range(2):
            guideline_confirm(project=project, annotator=person, version=1)
        assert GuidelineConfirmation.objects.filter(annotator=person).count() == 1
        assert AuditEvent.objects.filter(action="guideline.confirm", actor=person).count() == 1
        assert readiness(project_id=project.pk, annotator_id=person.pk, now=NOW).confirmed

    @pytest.mark.parametrize("version", [0, 1, 3])
    def test_only_the_version_in_force_can_be_confirmed(self, project: Project, version: int) -> None:
        person = annotator(project)
        guideline_publish(project=project, actor=None, body="two", levels=LEVELS)
        with pytest.raises(GuidelineStale, match="Version 2"):
            guideline_confirm(project=project, annotator=person, version=version)
        assert not readiness(project_id=project.pk, annotator_id=person.pk, now=NOW).confirmed

    def test_the_test_before_the_training_comes_first(self, project: Project) -> None:
        question = screening_question(project)
        policy_publish(project=project, actor=None, screening_is_open=True, screening_questions=1, screening_passing=1)
        person = MembershipFactory(project=project, status="candidate", confirmed=False).user
        with pytest.raises(NotPossible, match="multiple-choice test"):
            guideline_confirm(project=project, annotator=person, version=1)
        assert not GuidelineConfirmation.objects.filter(annotator=person).exists()
        attempt = screening_attempt(person, [question])
        ScreeningAttempt.objects.filter(pk=attempt.pk).update(answers=[0], score=1, answered_at=NOW)
        guideline_confirm(project=project, annotator=person, version=1)
        assert GuidelineConfirmation.objects.filter(annotator=person).exists()

    def test_what_is_new_since_the_version_confirmed(self, client: Client, project: Project) -> None:
        client.force_login(annotator(project))
        guideline_publish(project=project, actor=None, body="two", levels=LEVELS, changes="Second.")
        guideline_publish(project=project, actor=None, body="three", levels=LEVELS)
        context = client.get(f"/guideline/{project.uuid}/").context
        read = context["read"]
        assert read.version == 1
        assert [version.version for version in context["notes"]] == [2]
        changed_lines = {(line.sign, line.text) for line in context["lines"]}
        assert ("new", "three") in changed_lines
        assert ("gone", read.body) in changed_lines


class TestFirstText:
    """The text that every project begins with, which speaks of people and of a query that is not the project's."""

    def test_a_lead_sees_that_nobody_has_edited_it(self, client: Client, project: Project) -> None:
        client.force_login(lead(project))
        page = reverse("judging:guideline", args=[project.uuid])
        guideline_publish(project=project, actor=None, body=BODY, levels=LEVELS)
        assert "nobody has edited it" in client.get(page).text
        guideline_publish(project=project, actor=None, body=f"{BODY} More.", levels=LEVELS)
        assert "nobody has edited it" not in client.get(page).text

    @pytest.mark.parametrize("subjects", SUBJECTS)
    def test_three_answers_fill_it(self, client: Client, project: Project, subjects: str) -> None:
        client.force_login(lead(project))
        answers = {"subjects": subjects, "query": "A  dog digs $5 <b>", "detail": "a fox instead of a dog"}
        answer = client.get(reverse("judging:guideline-edit", args=[project.uuid]), answers)
        body = answer.context["form"]["body"].value()
        assert f"Do {SUBJECTS[subjects][0]} do what" in body and '"A dog digs $5 <b>"' in body
        assert "(a fox instead of a dog)" in body and "board" not in body
        assert "&lt;b&gt;" in answer.text and "<b>&quot;*" not in answer.text
        assert guideline_in_force(project.pk).body != body and not GuidelineDraft.objects.exists()

    def test_answers_that_are_none_change_nothing(self, client: Client, project: Project) -> None:
        client.force_login(lead(project))
        answer = client.get(reverse("judging:guideline-edit", args=[project.uuid]), {"subjects": "ghosts", "query": ""})
        assert answer.context["form"]["body"].value() == guideline_in_force(project.pk).body
        assert "Select a valid choice" in answer.text and '<details class="clips" id="clips" open>' in answer.text

    def test_without_answers_it_is_as_it_was(self) -> None:
        assert guideline_text() == BODY
        assert guideline_text(top_grade=4) == BODY
        assert "A person who does nothing of the query is worth **0**." in BODY and "$" not in BODY
        assert "## The five grades\n\nFor the query" in BODY and "it is no **4**," in BODY
        assert "costs one grade, not all." in BODY


@pytest.mark.parametrize(
    ("top_grade", "number"),
    list(enumerate(["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"], start=1)),
)
def test_every_scale_has_its_levels_and_its_text(top_grade: int, number: str) -> None:
    levels, body = levels_of(top_grade), guideline_text(top_grade=top_grade)
    assert len(levels) == len(set(levels)) == top_grade + 1
    assert levels[0].startswith("No: " if top_grade == 1 else "Unrelated")
    assert levels[-1].startswith("Yes: " if top_grade == 1 else "Perfect: ")
    rows = [line for line in body.splitlines() if line.startswith("| **")]
    assert [row.split(" | ")[0] for row in rows] == [f"| **{grade}**" for grade in range(top_grade, -1, -1)]
    assert f"## The {number} grades" in body and f"it is no **{top_grade}**," in body and "$" not in body
    assert (f"makes a **{top_grade}** impossible" in body) == (top_grade < 3)
    assert ("costs one grade, not all" in body) == (top_grade >= 3)
    if top_grade > 4:
        assert [row.split(" | ")[1].removesuffix(" |") for row in rows] == levels[::-1]
    examples = [row.split(" | ")[2].removesuffix(" |") for row in rows] if top_grade <= 4 else []
    assert len(set(examples)) == (top_grade + 1 if top_grade <= 4 else 0)


def test_of_imported_judgments_no_guideline_is_known(client: Client) -> None:
    project = ProjectFactory(guideline=None)
    client.force_login(lead(project))
    assert "There is none" in client.get(reverse("judging:guideline", args=[project.uuid])).text


def test_a_project_begins_with_the_guideline_of_its_scale_and_keeps_to_it() -> None:
    project = ProjectFactory(guideline=None, top_grade=1, max_spread=0)
    guideline = guideline_begin(project=project, actor=None)
    assert (guideline.levels, guideline.body) == (levels_of(1), guideline_text(top_grade=1))
    with pytest.raises(NotPossible, match="what the grades 0 to 1 mean"):
        guideline_publish(project=project, actor=None, body="b", levels=LEVELS)


def test_who_is_qualified_by_word_reads_the_guideline_first_and_no_new_version(
    client: Client, project: Project
) -> None:
    client.force_login(person := MembershipFactory(project=project, confirmed=False).user)
    desk = reverse("judging:desk", args=[project.uuid])
    page = client.get(desk).text
    assert "Read the guideline" in page and "has a new version" not in page
    guideline_confirm(project=project, annotator=person, version=guideline_in_force(project.pk).version)
    guideline_publish(project=project, actor=None, body="b", levels=LEVELS)
    assert "has a new version" in client.get(desk).text
