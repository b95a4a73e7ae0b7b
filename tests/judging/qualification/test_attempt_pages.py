"""The pages of an attempt, with htmx and without: pairs, last look, feedback, result, and the way on the desk."""

import re
from datetime import timedelta

import pytest
from django.core.files.base import ContentFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Project
from judging.guidelines.services import policy_publish
from judging.models import ExamAttempt, KnownPair
from tests.conftest import Messages
from tests.factories import GIF, BatchFactory, ProjectFactory, annotator
from tests.judging.exams import (
    closed_by,
    closed_exam,
    cohort_exam,
    examinee,
    later_exam,
    newcomer,
    opposite,
    pairs_in_order,
    regrade,
    sit,
    sit_all,
    start,
    status_of,
    tutorial,
)
from tests.judging.views.acts import HEADERS, HTMX, KEY, url

pytestmark = pytest.mark.django_db
TRUTHS = (0, 1, 2, 3, 4)


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
    begun = client.post(url("attempt-start", project), {"purpose": "exam"})
    attempt = ExamAttempt.objects.get()
    ExamAttempt.objects.update(created_at=timezone.now() - timedelta(hours=1))
    assert begun.headers["Location"] == url("attempt", attempt)
    for number, known_pair in enumerate(pairs_in_order(attempt), start=1):
        assert f"pair {number} of 4" in page(client, "attempt", attempt)
        answer = press(client, known_pair, 3, headers=HEADERS[mode])
        assert answer.status_code == (200 if mode == "htmx" else 302)  # type: ignore[attr-defined]
    assert "Handing in makes all grades final" in page(client, "attempt-look", attempt)
    press(client, pairs_in_order(attempt)[0], 1, headers=HEADERS[mode])
    client.post(url("attempt-hand-in", attempt), headers=HEADERS[mode])
    assert "Your grades are in" in page(client, "attempt", attempt)
    assert "Your grades are in" in page(client, "desk", project)
    first = attempt.grades.get(position=1)
    assert (first.grade, first.try_number) == (1, 0)
    assert first.active_ms is not None and first.active_ms >= 1500


def test_the_examinee_learns_nothing_of_captions_ranks_or_truth(client: Client, project: Project) -> None:
    cohort_exam(project)
    user = examinee(project)
    attempt = start(user, project)
    client.force_login(user)
    html = page(client, "attempt", attempt)
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
    *_, other, attempt = sit_all(exam, [0, 3], [0, 2], [0, 3], [4, 0])
    closed_by(exam, messages)
    far = exam.known_pairs.order_by("pk")[1]
    KnownPair.objects.filter(pk=far.pk).update(explanation="The door is half open.")
    client.force_login(attempt.annotator)
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
    result = page(client, "attempt", attempt)
    assert "Not passed" in result
    assert "Kappa" in result
    assert not re.search(rf"annotator {other.annotator.memberships.get().number}\b", result)


@pytest.mark.parametrize("mode", HEADERS)
def test_the_tutorial_gives_feedback_at_once_and_leads_on(client: Client, project: Project, mode: str) -> None:
    pairs = tutorial(project)
    user = examinee(project, "training")
    client.force_login(user)
    assert "Do the tutorial" in page(client, "desk", project)
    client.post(url("attempt-start", project), {"purpose": "tutorial"})
    attempt = ExamAttempt.objects.get()
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
    assert "The tutorial is done" in page(client, "attempt", attempt)
    assert status_of(user) == "exam"
    assert "No exam is open now" in page(client, "desk", project)
    assert list(attempt.grades.values_list("grade", flat=True)) == [1, 0]


def test_a_form_that_cannot_be_read_is_422_and_a_stale_one_409(client: Client, project: Project) -> None:
    cohort_exam(project)
    attempt = start(examinee(project), project)
    known_pair, other, *_ = pairs_in_order(attempt)
    client.force_login(attempt.annotator)
    key = KEY.search(page(client, "known-pair", known_pair)).group(1)  # type: ignore[union-attr]
    for form in ({"grade": 5, "key": key}, {"grade": "x"}, {}, {"grade": 3}, {"grade": 3, "key": "no"}):
        answer = client.post(url("known-grade", known_pair), form, headers=HTMX)
        assert answer.status_code == 422, form
        assert "notice error" in answer.content.decode()
    assert not attempt.grades.exists()
    for _ in range(2):  # the same again
        assert client.post(url("known-grade", known_pair), {"key": key, "grade": 2}).status_code == 302
    answer = client.post(url("known-grade", known_pair), {"key": key, "grade": 4})
    assert (answer.status_code, "your grade for this pair is 2" in answer.content.decode()) == (409, True)
    KnownPair.objects.filter(pk=other.pk).update(is_retired=True)
    assert "pair 2 of 3" in page(client, "attempt", attempt)
    assert "taken out" in page(client, "known-pair", other)


def test_clips_are_watched_by_whose_attempt_it_is_and_those_of_the_tutorial_by_members(
    client: Client, project: Project
) -> None:
    cohort_exam(project)
    user = examinee(project)
    known_pair = pairs_in_order(start(user, project))[0]
    (lesson, *_) = tutorial(project)
    stranger = examinee(ProjectFactory())
    for pair, person, status_code in [
        *((known_pair, user, 200), (known_pair, examinee(project), 404), (known_pair, stranger, 404)),
        *((lesson, newcomer(project), 200), (lesson, stranger, 404)),
    ]:
        pair.moment.preview.save("preview.gif", ContentFile(GIF))
        client.force_login(person)
        answer = client.get(reverse("judging:preview", args=[pair.moment.preview_uuid]))
        assert answer.status_code == status_code, (pair, person)


class TestDesk:
    def test_the_judging_is_for_the_qualified(self, client: Client, project: Project) -> None:
        BatchFactory(query__project=project)
        words = {"suspended": "suspended your work", "left": "You have left", "exam": "No exam is open now"}
        for status, sentence in {**words, "qualified": "Start a batch"}.items():
            client.force_login(examinee(project, status))
            html = page(client, "desk", project)
            assert sentence in html
            assert ("Start a batch" in html) == (status == "qualified")

    @pytest.mark.parametrize(
        ("queries", "words"), [(1, ["No pairs are left"]), (2, ["Try the exam again", "You have no attempt left"])]
    )
    def test_who_failed_sees_why_and_what_is_left(
        self, client: Client, project: Project, messages: Messages, queries: int, words: list[str]
    ) -> None:
        later_exam([TRUTHS] * queries, project=project)
        user = examinee(project)
        client.force_login(user)
        for sentence in words:
            with messages():
                regrade(sit(user, project, opposite))
            html = page(client, "desk", project)
            assert sentence in html
            assert "is below 0.40" in html


def test_a_session_begins_with_five_pairs_over_all_levels(client: Client, project: Project) -> None:
    policy_publish(project=project, actor=None, warm_up=True)
    closed_exam(project, [TRUTHS])
    BatchFactory(query__project=project)
    client.force_login(annotator(project))
    begun = client.post(url("assignment-take", project))
    attempt = ExamAttempt.objects.get()
    assert begun.headers["Location"] == url("attempt", attempt)
    assert sorted(int(known_pair.truth or 0) for known_pair in pairs_in_order(attempt)) == [0, 1, 2, 3, 4]
    for known_pair in pairs_in_order(attempt):
        press(client, known_pair, 2)
    assert "Warmed up" in page(client, "attempt", attempt)
    response = client.post(url("assignment-take", project))
    assert response.headers["Location"] == url("pair-next", project)
    KnownPair.objects.filter(truth=4).update(is_retired=True)  # too few are left for the next person
    client.force_login(person := annotator(project))
    answer = client.post(url("assignment-take", project), follow=True)
    assert "goes without a warm-up" in answer.content.decode()
    assert person.assignments.count() == 1
