"""The annotator's pages: with and without JavaScript, and what they say when something is wrong."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import Query, User
from judging import selectors
from judging.models import Assignment, Batch, Judgment
from tests.factories import AssignmentFactory, BatchFactory, JudgmentFactory, ProjectFactory, QueryFactory, annotator
from tests.judging.play import grade, judge, judge_round, pairs_of

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}
PAGE = "<!doctype html>"


@pytest.fixture
def held() -> Assignment:
    """An open assignment of three pairs whose lease runs."""
    batch = BatchFactory(pairs=3)
    return AssignmentFactory(batch=batch, expires_at=timezone.now() + timedelta(minutes=20))


@pytest.fixture
def browser(client: Client, held: Assignment) -> Client:
    client.force_login(held.annotator)
    return client


def url(name: str, row: object) -> str:
    return reverse(f"judging:{name}", args=[row.uuid])  # type: ignore[attr-defined]


def shown(held: Assignment) -> list[object]:
    return selectors.ordered_pairs(held)


def lapse(held: Assignment) -> None:
    Assignment.objects.filter(pk=held.pk).update(expires_at=timezone.now() - timedelta(seconds=1))


class TestDesk:
    def test_open_batch(self, browser: Client, held: Assignment) -> None:
        page = browser.get(url("desk", held.project)).content.decode()
        assert url("pair-next", held.project) in page
        assert "Welcome back" in page

    def test_work_to_take(self, client: Client) -> None:
        batch = BatchFactory()
        client.force_login(annotator(batch.project))
        assert "Start a batch" in client.get(url("desk", batch.project)).content.decode()

    def test_nothing_to_take(self, client: Client) -> None:
        project = ProjectFactory()
        client.force_login(annotator(project))
        assert "Nothing to judge right now" in client.get(url("desk", project)).content.decode()

    def test_work_done_counts_only_this_project(self, client: Client) -> None:
        batch = BatchFactory()
        person = annotator(batch.project)
        judge(batch, [1, 1], person)
        client.force_login(person)
        page = client.get(url("desk", batch.project)).content.decode()
        assert re.findall(r"<dd>(\d+)</dd>", page) == ["1", "2"]


class TestTake:
    def test_to_the_first_pair(self, client: Client) -> None:
        batch = BatchFactory()
        client.force_login(annotator(batch.project))
        answer = client.post(url("assignment-take", batch.project))
        assert answer.headers["Location"] == url("pair-next", batch.project)
        assert batch.assignments.count() == 1

    def test_nothing_waiting(self, client: Client) -> None:
        project = ProjectFactory()
        client.force_login(annotator(project))
        answer = client.post(url("assignment-take", project), follow=True)
        assert "Nothing is waiting for you right now" in answer.content.decode()


class TestNext:
    def test_first_ungraded_pair(self, browser: Client, held: Assignment) -> None:
        first, second, _ = shown(held)
        JudgmentFactory(assignment=held, pair=first)
        page = browser.get(url("pair-next", held.project)).content.decode()
        assert page.startswith(PAGE)
        assert url("judgment-create", second) in page
        assert "pair 2 of 3" in page
        assert held.batch.query.text in page

    def test_all_graded(self, browser: Client, held: Assignment) -> None:
        for pair in shown(held):
            JudgmentFactory(assignment=held, pair=pair)
        assert browser.get(url("pair-next", held.project)).headers["Location"] == url("last-look", held.project)

    def test_nothing_open(self, client: Client) -> None:
        project = ProjectFactory()
        client.force_login(annotator(project))
        for name in ("pair-next", "last-look"):
            assert client.get(url(name, project)).headers["Location"] == url("desk", project)

    def test_pairs_come_in_the_order_of_the_seed(self, browser: Client, held: Assignment) -> None:
        seen = []
        for pair in shown(held):
            page = browser.get(url("pair-next", held.project)).content.decode()
            seen.append(url("judgment-create", pair) in page)
            browser.post(url("judgment-create", pair), {"grade": 2})
        assert seen == [True] * 3


class TestGrade:
    def test_without_javascript(self, browser: Client, held: Assignment) -> None:
        answer = browser.post(url("judgment-create", shown(held)[0]), {"grade": "4"})
        assert (answer.status_code, answer.headers["Location"]) == (302, url("pair-next", held.project))
        assert Judgment.objects.get().grade == 4

    def test_htmx_answers_with_the_next_pair_alone(self, browser: Client, held: Assignment) -> None:
        first, second, _ = shown(held)
        answer = browser.post(url("judgment-create", first), {"grade": "0"}, headers=HTMX)
        body = answer.content.decode().strip()
        assert answer.status_code == 200
        assert body.startswith('<section id="pair"')
        assert PAGE not in body
        assert url("judgment-create", second) in body
        assert 'value="1" max="3"' in body

    def test_htmx_answers_to_the_last_grade_with_the_last_look(self, browser: Client, held: Assignment) -> None:
        for pair in shown(held):
            answer = browser.post(url("judgment-create", pair), {"grade": "1"}, headers=HTMX)
        body = answer.content.decode().strip()
        assert body.startswith('<section id="pair"')
        assert "A last look" in body
        assert url("assignment-finish", held.project) in body

    @pytest.mark.parametrize(
        ("data", "words"),
        [
            ({}, "Choose a grade from 0 to 4."),
            ({"grade": ""}, "Choose a grade from 0 to 4."),
            ({"grade": "5"}, "A grade is 4 or less."),
            ({"grade": "-1"}, "A grade is 0 or more."),
            ({"grade": "two"}, "A grade is a whole number from 0 to 4."),
            ({"grade": "2.5"}, "A grade is a whole number from 0 to 4."),
        ],
    )
    def test_bad_grade(self, browser: Client, held: Assignment, data: dict[str, str], words: str) -> None:
        target = url("judgment-create", shown(held)[1])
        for headers in ({}, HTMX):
            answer = browser.post(target, data, headers=headers)
            body = answer.content.decode()
            assert answer.status_code == 422
            assert words in body
            assert target in body
            assert (PAGE in body) == (not headers)
        assert not Judgment.objects.exists()

    def test_time_has_run_out(self, browser: Client, held: Assignment) -> None:
        lapse(held)
        for headers in ({}, HTMX):
            answer = browser.post(url("judgment-create", shown(held)[0]), {"grade": "4"}, headers=headers)
            assert answer.status_code == 409
            assert "Your time on this batch has run out" in answer.content.decode()
        assert (answer.headers["HX-Retarget"], answer.headers["HX-Reswap"]) == ("main", "innerHTML")
        assert not Judgment.objects.exists()

    def test_a_finished_assignment_takes_no_grade(self, client: Client) -> None:
        batch = BatchFactory()
        person = annotator(batch.project)
        judge(batch, [1, 1], person)
        client.force_login(person)
        assert client.post(url("judgment-create", pairs_of(batch)[0]), {"grade": "4"}).status_code == 409
        assert set(Judgment.objects.values_list("grade", flat=True)) == {1}

    def test_somebody_elses_pair(self, browser: Client, held: Assignment) -> None:
        other = AssignmentFactory(batch=BatchFactory(query__project=held.project))
        pair = pairs_of(other.batch)[0]
        assert browser.post(url("judgment-create", pair), {"grade": "4"}).status_code == 404
        assert browser.get(url("pair", pair)).status_code == 404

    def test_round_2_opens_escalated_pairs_only(self, client: Client) -> None:
        batch = BatchFactory()
        judge_round(batch, [0, 1], [4, 1])
        second = AssignmentFactory(batch=batch, expires_at=timezone.now() + timedelta(minutes=20))
        client.force_login(second.annotator)
        escalated, settled = pairs_of(batch)
        assert client.get(url("pair", settled)).status_code == 404
        assert client.post(url("judgment-create", settled), {"grade": "4"}).status_code == 404
        assert client.post(url("judgment-create", escalated), {"grade": "4"}).status_code == 302

    def test_back_to_change(self, browser: Client, held: Assignment) -> None:
        first = shown(held)[0]
        browser.post(url("judgment-create", first), {"grade": "1"})
        page = browser.get(url("pair", first)).content.decode()
        assert re.findall(r'value="(\d)" aria-pressed="true"', page) == ["1"]
        browser.post(url("judgment-create", first), {"grade": "3"})
        given = Judgment.objects.get()
        assert (given.grade, given.changes.get().from_grade) == (3, 1)

    def test_pair_of_an_ended_assignment_leads_to_own_grades(self, client: Client) -> None:
        batch = BatchFactory()
        person = annotator(batch.project)
        judge(batch, [1, 1], person)
        client.force_login(person)
        answer = client.get(url("pair", pairs_of(batch)[0]))
        assert answer.headers["Location"] == url("own-grades", batch.project)


class TestFinish:
    def test_last_look_then_finish(self, browser: Client, held: Assignment) -> None:
        for pair in shown(held):
            JudgmentFactory(assignment=held, pair=pair)
        page = browser.get(url("last-look", held.project)).content.decode()
        assert all(url("pair", pair) in page for pair in shown(held))
        answer = browser.post(url("assignment-finish", held.project), follow=True)
        assert answer.redirect_chain == [(url("desk", held.project), 302)]
        assert "final now" in answer.content.decode()
        held.refresh_from_db()
        assert held.state == "finished"

    def test_a_pair_is_missing(self, browser: Client, held: Assignment) -> None:
        JudgmentFactory(assignment=held, pair=shown(held)[0])
        page = browser.get(url("last-look", held.project)).content.decode()
        assert "2 pairs still need a grade" in page
        answer = browser.post(url("assignment-finish", held.project))
        assert answer.status_code == 409
        assert "Some pairs of this batch still need a grade" in answer.content.decode()

    def test_a_second_press_and_time_run_out(self, browser: Client, held: Assignment) -> None:
        for pair in shown(held):
            JudgmentFactory(assignment=held, pair=pair)
        lapse(held)
        assert browser.post(url("assignment-finish", held.project)).status_code == 409
        Assignment.objects.update(state="finished", ended_at=timezone.now())
        answer = browser.post(url("assignment-finish", held.project))
        assert answer.headers["Location"] == url("desk", held.project)


class TestOwnGrades:
    def test_own_grades_only(self, client: Client) -> None:
        batch = BatchFactory()
        person = annotator(batch.project)
        judge(batch, [3, 0], person)
        judge(batch, [4, 2])
        client.force_login(person)
        page = client.get(url("own-grades", batch.project)).content.decode()
        assert batch.query.text in page
        assert re.findall(r'class="grade grade-(\d)"', page) == ["3", "0"]

    def test_a_lapsed_batch_says_so_and_an_open_one_is_not_shown(self, browser: Client, held: Assignment) -> None:
        assert "No finished batch yet" in browser.get(url("own-grades", held.project)).content.decode()
        Assignment.objects.update(state="lapsed", ended_at=timezone.now())
        page = browser.get(url("own-grades", held.project)).content.decode()
        assert "time ran out" in page
        assert "No grade was given." in page


def test_guideline_shows_the_version_in_force_and_runs_no_html(browser: Client, held: Assignment) -> None:
    held.project.guidelines.create(version=2, body="# Two\n<script>alert(1)</script>", levels=["a"] * 5)
    page = browser.get(url("guideline", held.project)).content.decode()
    assert "Version 2" in page
    assert "<h1>Two</h1>" in page
    assert "<script>alert" not in page


def test_a_query_is_shown_as_text_not_as_html(browser: Client, held: Assignment) -> None:
    Query.objects.filter(pk=held.batch.query_id).update(text="<b>bold</b> & co")
    page = browser.get(url("pair-next", held.project)).content.decode()
    assert "&lt;b&gt;bold&lt;/b&gt; &amp; co" in page


QUERIES_OF_A_GRADE = 13


def crowd(project: object, n: int) -> None:
    """Other people's work in the same project."""
    for _ in range(n):
        other: Batch = BatchFactory(query=QueryFactory(project=project), pairs=4)
        grade(AssignmentFactory(batch=other, expires_at=timezone.now() + timedelta(minutes=20)), [1, 2])


@pytest.mark.parametrize(("batches", "pairs"), [(1, 3), (30, 3), (1, 20)])
def test_queries_of_one_grade(  # type: ignore[no-untyped-def]
    client: Client, django_assert_num_queries, batches: int, pairs: int
) -> None:
    batch = BatchFactory(pairs=pairs)
    crowd(batch.project, batches - 1)
    held = AssignmentFactory(batch=batch, expires_at=timezone.now() + timedelta(minutes=20))
    person: User = held.annotator
    client.force_login(person)
    first, second, *_ = shown(held)
    client.post(url("judgment-create", first), {"grade": "2"}, headers=HTMX)
    with django_assert_num_queries(QUERIES_OF_A_GRADE):
        client.post(url("judgment-create", second), {"grade": "2"}, headers=HTMX)
