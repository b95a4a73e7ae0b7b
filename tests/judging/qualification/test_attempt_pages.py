"""The pages of an attempt, with htmx and without: pairs, last look, feedback, result, and the way on the desk."""

import re
from datetime import timedelta

import pytest
from django.core.files.base import ContentFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Project, User
from judging.guidelines.services import policy_publish
from judging.models import KnownPair, Sitting
from judging.qualification.services.exams import exam_close, exam_create
from tests.conftest import Messages
from tests.factories import GIF, BatchFactory, ProjectFactory, annotator, lead
from tests.judging.exams import (
    EVERYBODY,
    by_pair,
    closed_exam,
    cohort_exam,
    examinee,
    newcomer,
    pairs_in_order,
    regrade,
    sit,
    start,
    status_of,
    tutorial,
)
from tests.judging.settings import screening_question
from tests.judging.views.acts import HEADERS, HTMX, KEY, url

pytestmark = pytest.mark.django_db
TRUTHS = (0, 1, 2, 3, 4)


@pytest.fixture
def project() -> Project:
    return ProjectFactory()  # type: ignore[no-any-return]


def page(client: Client, name: str, row: object, **more: object) -> str:
    answer = client.get(url(name, row), **more)  # type: ignore[arg-type]
    assert answer.status_code == 200, answer.status_code
    return answer.content.decode()


def press(client: Client, known_pair: KnownPair, grade: object, *, headers: dict[str, str] | None = None) -> object:
    """Load the pair and press one of its buttons."""
    key = KEY.search(client.get(url("known-pair", known_pair)).content.decode())
    form = {"key": key.group(1) if key else "", "grade": grade, "active_ms": "1500"}
    return client.post(url("known-grade", known_pair), form, headers=headers or {})


@pytest.mark.parametrize("mode", HEADERS)
def test_an_exam_from_the_desk_to_the_waiting_page(client: Client, project: Project, mode: str) -> None:
    cohort_exam(project)
    user = examinee(project)
    client.force_login(user)
    assert "Start the exam" in page(client, "desk", project)
    begun = client.post(url("sitting-start", project), {"purpose": "exam"})
    attempt = Sitting.objects.get()
    Sitting.objects.update(created_at=timezone.now() - timedelta(hours=1))
    assert begun.headers["Location"] == url("sitting", attempt)
    for number, known_pair in enumerate(pairs_in_order(attempt), start=1):
        assert f"pair {number} of 4" in page(client, "sitting", attempt)
        answer = press(client, known_pair, 3, headers=HEADERS[mode])
        assert answer.status_code == (200 if mode == "htmx" else 302)  # type: ignore[attr-defined]
    assert "Handing in makes all grades final" in page(client, "sitting-look", attempt)
    press(client, pairs_in_order(attempt)[0], 1, headers=HEADERS[mode])
    client.post(url("sitting-hand-in", attempt), headers=HEADERS[mode])
    assert "Your grades are in" in page(client, "sitting", attempt)
    assert "Your grades are in" in page(client, "desk", project)
    first = attempt.grades.get(position=1)
    assert (first.grade, first.attempt) == (1, 0)
    assert first.active_ms is not None and first.active_ms >= 1500


def test_the_examinee_learns_nothing_of_captions_ranks_or_truth(client: Client, project: Project) -> None:
    cohort_exam(project)
    user = examinee(project)
    attempt = start(user, project)
    client.force_login(user)
    html = page(client, "sitting", attempt)
    known_pair = pairs_in_order(attempt)[0]
    KnownPair.objects.filter(pk=known_pair.pk).update(explanation="A secret word.")
    press(client, known_pair, 2)
    html += page(client, "known-pair", known_pair)
    assert "secret" not in html
    assert "truth" not in html.lower()
    assert "rank" not in html.lower()
    assert str(known_pair.moment.video) not in html


@pytest.mark.parametrize("mode", HEADERS)
def test_the_feedback_round_shows_truth_explanation_and_guideline(
    client: Client, project: Project, messages: Messages, mode: str
) -> None:
    exam = cohort_exam(project, queries=1, depth=2)
    for grades in ([0, 3], [0, 2]):
        sit(examinee(project), project, by_pair(exam, grades))
    user = examinee(project)
    other = examinee(project)
    sit(other, project, by_pair(exam, [0, 3]))
    attempt = sit(user, project, by_pair(exam, [4, 0]))
    with messages():
        exam_close(exam=exam, actor=lead(project))
    far = exam.known_pairs.order_by("pk")[1]
    KnownPair.objects.filter(pk=far.pk).update(explanation="The door is half open.")
    client.force_login(user)
    assert "Some pairs have come back" in page(client, "desk", project)
    html = page(client, "known-pair", far)
    assert "the truth is <b>between 2 and 3</b>" in html
    assert "The door is half open." in html
    assert "Partly" in html and "Good" in html
    again = press(client, far, 1, headers=HEADERS[mode])
    assert "pair 2 of 2" in page(client, "known-pair", far) or "pair 1 of 2" in page(client, "known-pair", far)
    assert again.status_code in (200, 302)  # type: ignore[attr-defined]
    assert list(attempt.grades.filter(known_pair=far).values_list("grade", flat=True)) == [0, 1]
    with messages():
        press(client, far, 2, headers=HEADERS[mode])
        press(client, exam.known_pairs.order_by("pk")[0], 1, headers=HEADERS[mode])
    result = page(client, "sitting", attempt)
    assert "Not passed" in result
    assert "Kappa" in result
    assert not re.search(rf"annotator {other.memberships.get().number}\b", result)


@pytest.mark.parametrize("mode", HEADERS)
def test_the_tutorial_gives_feedback_at_once_and_leads_on(client: Client, project: Project, mode: str) -> None:
    pairs = tutorial(project)
    user = examinee(project, "training")
    client.force_login(user)
    assert "Do the tutorial" in page(client, "desk", project)
    client.post(url("sitting-start", project), {"purpose": "tutorial"})
    attempt = Sitting.objects.get()
    assert client.get(url("known-pair", pairs[1])).status_code == 302  # one after the other
    press(client, pairs[0], 1, headers=HEADERS[mode])
    html = page(client, "known-pair", pairs[0])
    assert "Look again." in html and "Because of thing 1." in html and "the truth is <b>4</b>" in html
    refused = client.post(
        url("known-grade", pairs[0]),
        {"key": KEY.search(html).group(1), "grade": 4},
        headers=HEADERS[mode],  # type: ignore[union-attr]
    )
    assert refused.status_code == (409 if mode == "plain" else 200)
    press(client, pairs[1], 0, headers=HEADERS[mode])
    assert "The tutorial is done" in page(client, "sitting", attempt)
    assert status_of(user) == "exam"
    assert "No exam is open now" in page(client, "desk", project)
    assert list(attempt.grades.values_list("grade", flat=True)) == [1, 0]


def test_later_people_learn_their_result_at_once(client: Client, project: Project, messages: Messages) -> None:
    closed_exam(project, [TRUTHS, TRUTHS])
    exam_create(project=project, actor=None, kind="stored", queries=2, depth=5)
    user = examinee(project)
    with messages():
        attempt = sit(user, project, lambda known_pair: int(known_pair.truth or 0))
    client.force_login(user)
    assert "You have passed" in page(client, "sitting", attempt)
    assert "Quadratic kappa 1.00 reaches 0.40" in page(client, "sitting", attempt)


def test_a_result_that_is_being_computed_says_so(client: Client, project: Project) -> None:
    closed_exam(project, [TRUTHS])
    exam_create(project=project, actor=None, kind="stored", queries=1, depth=5)
    user = examinee(project)
    attempt = sit(user, project, lambda known_pair: int(known_pair.truth or 0))
    client.force_login(user)
    assert "being computed" in page(client, "sitting", attempt)
    assert "being computed" in page(client, "desk", project)


@pytest.mark.parametrize("form", [{"grade": 5}, {"grade": "x"}, {}, {"grade": 3}, {"grade": 3, "key": "no"}])
def test_a_form_that_cannot_be_read_is_422(client: Client, project: Project, form: dict[str, object]) -> None:
    cohort_exam(project)
    user = examinee(project)
    known_pair = pairs_in_order(start(user, project))[0]
    client.force_login(user)
    answer = client.post(url("known-grade", known_pair), form, headers=HTMX)
    assert answer.status_code == 422
    assert "notice error" in answer.content.decode()
    assert not Sitting.objects.get().grades.exists()


def test_a_grade_after_closing_is_409_and_says_why(client: Client, project: Project, messages: Messages) -> None:
    exam = cohort_exam(project)
    for _ in range(3):
        sit(examinee(project), project, by_pair(exam, [2, 2, 2, 2]))
    user = examinee(project)
    known_pair = pairs_in_order(start(user, project))[0]
    client.force_login(user)
    key = KEY.search(page(client, "known-pair", known_pair)).group(1)  # type: ignore[union-attr]
    with messages():
        exam_close(exam=exam, actor=lead(project), confirmed=EVERYBODY)
    answer = client.post(url("known-grade", known_pair), {"key": key, "grade": 2})
    assert answer.status_code == 409
    assert "closed before" in answer.content.decode()


def test_a_stale_form_is_409(client: Client, project: Project) -> None:
    cohort_exam(project)
    user = examinee(project)
    known_pair = pairs_in_order(start(user, project))[0]
    client.force_login(user)
    key = KEY.search(page(client, "known-pair", known_pair)).group(1)  # type: ignore[union-attr]
    client.post(url("known-grade", known_pair), {"key": key, "grade": 2})
    assert client.post(url("known-grade", known_pair), {"key": key, "grade": 2}).status_code == 302  # the same again
    answer = client.post(url("known-grade", known_pair), {"key": key, "grade": 4})
    assert answer.status_code == 409
    assert "your grade for this pair is 2" in answer.content.decode()


class TestPreviews:
    def watch(self, client: Client, user: User, known_pair: KnownPair) -> int:
        client.force_login(user)
        return client.get(reverse("judging:preview", args=[known_pair.moment.preview_uuid])).status_code

    def test_only_whose_attempt_it_is_watches_the_clip(self, client: Client, project: Project) -> None:
        cohort_exam(project)
        user, other = examinee(project), examinee(project)
        known_pair = pairs_in_order(start(user, project))[0]
        known_pair.moment.preview.save("preview.gif", _gif())
        assert self.watch(client, user, known_pair) == 200
        assert self.watch(client, other, known_pair) == 404
        assert self.watch(client, examinee(ProjectFactory()), known_pair) == 404

    def test_the_tutorial_is_shown_to_members(self, client: Client, project: Project) -> None:
        (known_pair, *_) = tutorial(project)
        known_pair.moment.preview.save("preview.gif", _gif())
        assert self.watch(client, newcomer(project), known_pair) == 200
        assert self.watch(client, newcomer(ProjectFactory()), known_pair) == 404


def _gif() -> ContentFile:  # type: ignore[type-arg]
    return ContentFile(GIF)


class TestDesk:
    def test_a_newcomer_reads_the_guideline_first(self, client: Client, project: Project) -> None:
        user = newcomer(project)
        client.force_login(user)
        html = page(client, "desk", project)
        assert "Read the guideline" in html
        assert status_of(user) == "training"  # there is no test in this project

    def test_the_test_comes_first_where_there_is_one(self, client: Client, project: Project) -> None:
        screening_question(project)
        policy_publish(project=project, actor=None, gate_questions=1, gate_passing=1, gate_is_open=True)
        client.force_login(newcomer(project))
        assert "First a short test" in page(client, "desk", project)

    @pytest.mark.parametrize(("status", "words"), [("suspended", "suspended your work"), ("left", "You have left")])
    def test_who_is_out_reads_a_kind_message(self, client: Client, project: Project, status: str, words: str) -> None:
        client.force_login(examinee(project, status))
        html = page(client, "desk", project)
        assert words in html
        assert "Start a batch" not in html

    def test_the_judging_is_for_the_qualified(self, client: Client, project: Project) -> None:
        BatchFactory(query__project=project)
        client.force_login(examinee(project))
        assert "Start a batch" not in page(client, "desk", project)
        client.force_login(annotator(project))
        assert "Start a batch" in page(client, "desk", project)

    def test_who_failed_sees_why_and_what_is_left(self, client: Client, project: Project, messages: Messages) -> None:
        closed_exam(project, [TRUTHS, TRUTHS])
        exam_create(project=project, actor=None, kind="stored", queries=1, depth=5)
        user = examinee(project)
        client.force_login(user)
        for words in ("Try the exam again", "You have no attempt left"):
            with messages():
                regrade(sit(user, project, lambda known_pair: 4 - int(known_pair.truth or 0)))
            html = page(client, "desk", project)
            assert words in html
            assert "is below 0.40" in html

    def test_too_few_unseen_pairs_are_reported(self, client: Client, project: Project, messages: Messages) -> None:
        closed_exam(project, [TRUTHS])
        exam_create(project=project, actor=None, kind="stored", queries=1, depth=5)
        user = examinee(project)
        with messages():
            regrade(sit(user, project, lambda known_pair: 4 - int(known_pair.truth or 0)))
        client.force_login(user)
        assert "No pairs are left for you" in page(client, "desk", project)


class TestWarmUp:
    def test_a_session_begins_with_five_pairs_over_all_levels(self, client: Client, project: Project) -> None:
        policy_publish(project=project, actor=None, warm_up=True)
        closed_exam(project, [TRUTHS, TRUTHS])
        BatchFactory(query__project=project)
        user = annotator(project)
        client.force_login(user)
        begun = client.post(url("assignment-take", project))
        attempt = Sitting.objects.get()
        assert begun.headers["Location"] == url("sitting", attempt)
        assert sorted(int(known_pair.truth or 0) for known_pair in pairs_in_order(attempt)) == [0, 1, 2, 3, 4]
        for known_pair in pairs_in_order(attempt):
            press(client, known_pair, 2)
        assert "Warmed up" in page(client, "sitting", attempt)
        response = client.post(url("assignment-take", project))
        assert response.headers["Location"] == url("pair-next", project)

    def test_too_few_pairs_are_reported_and_judging_goes_on(self, client: Client, project: Project) -> None:
        policy_publish(project=project, actor=None, warm_up=True)
        BatchFactory(query__project=project)
        user = annotator(project)
        client.force_login(user)
        answer = client.post(url("assignment-take", project), follow=True)
        assert "goes without a warm-up" in answer.content.decode()
        assert user.assignments.count() == 1


def test_a_retired_pair_is_left_out_of_the_attempt(client: Client, project: Project) -> None:
    cohort_exam(project)
    user = examinee(project)
    attempt = start(user, project)
    known_pair = pairs_in_order(attempt)[0]
    KnownPair.objects.filter(pk=known_pair.pk).update(is_retired=True)
    client.force_login(user)
    assert "pair 1 of 3" in page(client, "sitting", attempt)
    assert "taken out" in page(client, "known-pair", known_pair)
