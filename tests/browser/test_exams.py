"""A person's way from the guideline to judging in a real browser, and each of its pages looked at."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from accounts.models import Project, User
from judging.guidelines.services import guideline_confirm, policy_publish
from judging.models import Exam, ExamAttempt, KnownPair
from judging.qualification.services.exams import exam_close, known_pair_explain
from judging.qualification.services.reports import exam_report
from tests import factories
from tests.browser import acts
from tests.browser.conftest import Browse
from tests.browser.site import LONG, UNBROKEN
from tests.browser.test_every_page import visit
from tests.judging.exams import examinee, give, hand_in, newcomer, pairs_in_order, start
from tests.judging.settings import screening_question

GRADES = (0, 4, 2, 3)


def exam_of(project: Project) -> Exam:
    """An open exam of a first cohort: two queries with two pairs each, whose clips can be watched."""
    exam: Exam = factories.ExamFactory(project=project, queries=2, depth=2)
    for text in (LONG, UNBROKEN):
        query = factories.QueryFactory(project=project, split="train", text=text)
        for rank in (1, 2):
            factories.KnownPairFactory(exam=exam, query=query, rank=rank)
    return exam


def tutorial_of(project: Project) -> None:
    for position, truth in enumerate((4, 1), start=1):
        factories.KnownPairFactory(
            exam=None,
            project=project,
            source="lead",
            truth=truth,
            tutorial_position=position,
            explanation="Seen whole.",
        )


def sit(user: User, project: Project, grades: dict[int, int]) -> ExamAttempt:
    attempt = start(user, project)
    for known_pair in pairs_in_order(attempt):
        give(user, known_pair, grades[known_pair.pk])
    hand_in(attempt)
    return attempt


def press(page: Page, grade: int) -> None:
    """A key, as soon as the page takes one."""
    page.locator("figure.clip .controls").wait_for()  # the scripts are at work
    acts.settle(page)
    page.keyboard.press(str(grade))


def path(name: str, row: object) -> str:
    return reverse(f"judging:{name}", args=[row.uuid])  # type: ignore[attr-defined]


def test_from_the_guideline_to_judging(browse: Browse) -> None:
    project = acts.project()
    policy_publish(project=project, actor=None, exam_levels=1)  # four pairs tell no levels apart
    tutorial_of(project)
    exam = exam_of(project)
    others = dict(zip(exam.known_pairs.order_by("pk").values_list("pk", flat=True), GRADES, strict=True))
    for _ in range(3):
        sit(examinee(project), project, others)
    user = newcomer(project)
    page = browse(user)
    assert visit(page, acts.desk(project)) == []
    guideline_confirm(project=project, annotator=user, version=1)

    page.goto(acts.desk(project))
    page.get_by_role("button", name="Do the tutorial").click()
    press(page, 0)
    expect(page.get_by_text("Look again.")).to_be_visible()
    assert visit(page, page.url) == []
    acts.settle(page)
    page.get_by_role("button", name="Next pair").click()
    expect(page.get_by_text("pair 2 of 2", exact=True)).to_be_visible()
    press(page, 1)
    expect(page.get_by_text("Just so.")).to_be_visible()
    acts.settle(page)
    page.get_by_role("button", name="Done").click()
    expect(page.get_by_role("heading", name="The tutorial is done")).to_be_visible()
    assert visit(page, page.url, acts.desk(project)) == []

    page.get_by_role("button", name="Start the exam").click()
    attempt = ExamAttempt.objects.get(annotator=user, purpose="exam")
    assert visit(page, path("attempt", attempt)) == []
    far = exam.known_pairs.order_by("pk")[0]
    for position, known_pair in enumerate(pairs_in_order(attempt), start=1):
        expect(page.get_by_text(f"pair {position} of 4", exact=True)).to_be_visible()
        press(page, 2 if known_pair == far else others[known_pair.pk])
    expect(page.get_by_role("heading", name="A last look")).to_be_visible()
    assert visit(page, path("attempt-look", attempt)) == []
    page.get_by_role("button", name="Hand in").click()
    expect(page.get_by_role("heading", name="Your grades are in")).to_be_visible()
    assert visit(page, path("attempt", attempt), acts.desk(project)) == []

    boss = factories.lead(project)
    exam_close(exam=exam, actor=boss)
    exam_report(exam_id=exam.pk)
    known_pair_explain(pair=KnownPair.objects.get(pk=far.pk), actor=boss, explanation="Nobody hurries.")
    page.goto(acts.desk(project))
    page.get_by_role("button", name="See the feedback").click()
    expect(page.get_by_text("Nobody hurries.")).to_be_visible()
    assert visit(page, path("attempt", attempt)) == []
    press(page, 1)
    expect(page.get_by_role("heading", name="You have passed")).to_be_visible()
    assert visit(page, path("attempt", attempt), acts.desk(project)) == []


@pytest.mark.browser_all
def test_the_leads_pages_are_clean_while_an_exam_is_open_and_when_it_is_closed(browse: Browse) -> None:
    project = acts.project()
    exam, boss = exam_of(project), factories.lead(project)
    for grades in (GRADES, GRADES, (2, 2, 2, 2)):
        people = dict(zip(exam.known_pairs.order_by("pk").values_list("pk", flat=True), grades, strict=True))
        sit(examinee(project), project, people)
    page, pages = browse(boss), (path("exams", project), path("exam", exam))
    complaints = visit(page, *pages)
    exam_close(exam=exam, actor=boss)
    exam_report(exam_id=exam.pk)
    assert complaints + visit(page, *pages) == []


@pytest.mark.browser_all
def test_the_pages_of_the_screening_test_are_clean(browse: Browse) -> None:
    project = acts.project()
    for number in range(2):
        screening_question(project, description=f"What happens in clip {number}?", options=[f"right {LONG}", UNBROKEN])
    policy_publish(project=project, actor=None, screening_questions=2, screening_passing=2, screening_is_open=True)
    page, address = browse(newcomer(project)), path("screening", project)
    complaints = visit(page, address)
    page.get_by_role("button", name="Begin the test").click()
    complaints += visit(page, address)
    for right in page.get_by_role("radio", name="right").all():
        right.check()
    page.locator("main form button").last.click()
    expect(page.get_by_role("heading", name="Passed")).to_be_visible()
    assert complaints + visit(page, address) == []
