"""The annotator's pages: with and without JavaScript, what follows what, and what they say when something is wrong."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from annotation.models import Query
from judging.models import Assignment, Batch, Flag, Judgment
from judging.rules.active_time import LONGEST_MS
from judging.rules.leasing import LEAVING
from tests.factories import BatchFactory, ProjectFactory, annotator
from tests.judging.play import judge, judge_round, pairs_of
from tests.judging.views.acts import (
    HTMX,
    PAGE,
    WAYS,
    end,
    form,
    grade,
    grade_all,
    hold,
    key,
    keys_in,
    lapse,
    rows,
    said,
    shown,
    take,
    url,
)

pytestmark = pytest.mark.django_db
REPLACE_URL = "HX-Replace-Url"


@pytest.fixture
def held() -> Assignment:
    """An open assignment of three pairs whose lease runs."""
    return hold(BatchFactory(pairs=3))


@pytest.fixture
def browser(client: Client, held: Assignment) -> Client:
    client.force_login(held.annotator)
    return client


def graded(answer: HttpResponse) -> list[str]:
    """The grade that the page shows as given."""
    return re.findall(r'value="(\d)" aria-pressed="true"', answer.content.decode())


def at(path: str) -> dict[str, str]:
    """htmx, sent from the page at ``path``."""
    return {**HTMX, "HX-Current-URL": f"http://testserver{path}"}


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

    def test_paused_work_is_none(self, client: Client) -> None:
        batch = BatchFactory(is_paused=True)
        client.force_login(annotator(batch.project))
        assert "Nothing to judge right now" in client.get(url("desk", batch.project)).content.decode()

    def test_htmx_gets_the_fragment(self, browser: Client, held: Assignment) -> None:
        body = browser.get(url("desk", held.project), headers=HTMX).content.decode().strip()
        assert body.startswith('<article id="start"')

    def test_work_done_counts_only_this_project(self, client: Client) -> None:
        batch = BatchFactory()
        person = annotator(batch.project)
        judge(batch, [1, 1], person)
        client.force_login(person)
        page = client.get(url("desk", batch.project)).content.decode()
        assert re.findall(r"<dd>(\d+)</dd>", page) == ["0", "1", "2"]


class TestTake:
    def test_to_the_first_pair(self, client: Client) -> None:
        batch = BatchFactory()
        client.force_login(annotator(batch.project))
        answer = client.post(url("assignment-take", batch.project))
        assert answer.headers["Location"] == url("pair-next", batch.project)
        assert batch.assignments.count() == 1

    def test_again_gives_the_same(self, client: Client) -> None:
        batch = BatchFactory()
        BatchFactory(query__project=batch.project)
        client.force_login(annotator(batch.project))
        for _ in range(2):
            client.post(url("assignment-take", batch.project))
        assert Assignment.objects.get().batch == batch

    def test_nothing_waiting(self, client: Client) -> None:
        project = ProjectFactory()
        client.force_login(annotator(project))
        answer = client.post(url("assignment-take", project), follow=True)
        assert "Nothing is waiting for you right now" in answer.content.decode()


class TestNext:
    def test_first_pair_without_an_answer(self, browser: Client, held: Assignment) -> None:
        first, second, third = shown(held)
        grade(browser, held, first, 3)
        browser.post(url("flag-set", second), {"reason": "broken"})
        page = browser.get(url("pair-next", held.project)).content.decode()
        assert page.startswith(PAGE)
        assert url("judgment-create", third) in page
        assert "pair 3 of 3" in page
        assert 'value="2" max="3"' in page
        assert held.batch.query.text in page

    def test_all_graded(self, browser: Client, held: Assignment) -> None:
        grade_all(browser, held)
        assert browser.get(url("pair-next", held.project)).headers["Location"] == url("last-look", held.project)

    def test_nothing_open(self, client: Client) -> None:
        project = ProjectFactory()
        client.force_login(annotator(project))
        for name in ("pair-next", "last-look"):
            assert client.get(url(name, project)).headers["Location"] == url("desk", project)

    def test_pairs_come_in_the_order_that_was_drawn(self, client: Client) -> None:
        held = take(BatchFactory(pairs=6))
        client.force_login(held.annotator)
        seen = []
        for pair in shown(held):
            page = client.get(url("pair-next", held.project)).content.decode()
            seen.append(url("judgment-create", pair) in page)
            client.post(url("judgment-create", pair), form(held, pair, 2))
        assert seen == [True] * 6

    def test_the_next_previews_are_loaded_ahead_nearest_first(self, browser: Client, held: Assignment) -> None:
        first, second, third = shown(held)
        grade(browser, held, second, 2)
        page = browser.get(url("pair", first)).content.decode()
        assert re.findall(r'class="ahead" src="([^"]+)"', page) == [
            f"/previews/{third.candidate.moment.preview_uuid}.gif"
        ]


class TestPair:
    def test_page_and_fragment(self, browser: Client, held: Assignment) -> None:
        pair = shown(held)[1]
        page, part = (browser.get(url("pair", pair), headers=way) for way in WAYS.values())
        assert page.content.decode().startswith(PAGE)
        assert part.content.decode().strip().startswith('<section id="pair"')
        assert part.headers[REPLACE_URL] == url("pair", pair)
        for answer in (page, part):  # the form of the grade and that of the flag
            assert keys_in(answer.content.decode()) == [str(key(held, pair))]

    def test_back_leads_to_the_pair_before(self, browser: Client, held: Assignment) -> None:
        first, second, _ = shown(held)
        back = re.compile(r'href="([^"]+)" data-back')
        assert back.findall(browser.get(url("pair", second)).content.decode()) == [url("pair", first)]
        assert back.findall(browser.get(url("pair", first)).content.decode()) == []

    def test_of_an_ended_assignment_htmx_goes_to_own_grades(self, browser: Client, held: Assignment) -> None:
        """A whole page does not land inside the judging page."""
        end(held)
        answer = browser.get(url("pair", shown(held)[0]), headers=HTMX)
        assert (answer.status_code, answer.headers["HX-Redirect"]) == (200, url("own-grades", held.project))

    def test_of_an_ended_assignment_leads_to_own_grades(self, client: Client) -> None:
        batch = BatchFactory()
        person = annotator(batch.project)
        judge(batch, [1, 1], person)
        client.force_login(person)
        answer = client.get(url("pair", pairs_of(batch)[0]))
        assert answer.headers["Location"] == url("own-grades", batch.project)


class TestGrade:
    def test_without_javascript(self, browser: Client, held: Assignment) -> None:
        first = shown(held)[0]
        answer = browser.post(url("judgment-create", first), form(held, first, "4"))
        assert (answer.status_code, answer.headers["Location"]) == (302, url("pair-next", held.project))
        assert Judgment.objects.get().grade == 4

    @pytest.mark.parametrize(
        ("said", "stored"),
        [
            ({"active_ms": "4321"}, 4321),
            ({}, LONGEST_MS),  # what has passed since the batch was handed out
            *(({"active_ms": nonsense}, LONGEST_MS) for nonsense in ("", "-1", "1e3", "NaN", "٣٣", "9" * 9999)),
            ({"active_ms": ["1", "7"]}, 7),
        ],
    )
    def test_time_that_cannot_be_read_costs_no_grade(
        self, browser: Client, held: Assignment, said: dict[str, Any], stored: int
    ) -> None:
        Assignment.objects.filter(pk=held.pk).update(created_at=timezone.now() - timedelta(hours=2))
        first = shown(held)[0]
        assert browser.post(url("judgment-create", first), form(held, first, "4", **said)).status_code == 302
        assert Judgment.objects.get().active_ms == stored

    def test_htmx_answers_with_the_next_pair_alone(self, browser: Client, held: Assignment) -> None:
        first, second, _ = shown(held)
        answer = grade(browser, held, first, 0)
        body = answer.content.decode().strip()
        assert answer.status_code == 200
        assert body.startswith('<section id="pair"')
        assert PAGE not in body
        assert url("judgment-create", second) in body
        assert keys_in(body) == [str(key(held, second))]
        assert 'value="1" max="3"' in body

    def test_htmx_answers_to_the_last_grade_with_the_last_look(self, browser: Client, held: Assignment) -> None:
        answer = grade_all(browser, held)
        body = answer.content.decode().strip()
        assert body.startswith('<section id="pair"')
        assert "A last look" in body
        assert url("assignment-finish", held.project) in body
        assert answer.headers[REPLACE_URL] == url("last-look", held.project)

    def test_what_was_left_out_comes_after_the_end(self, browser: Client, held: Assignment) -> None:
        first, second, third = shown(held)
        grade(browser, held, second, 1)
        answer = grade(browser, held, third, 1)
        assert url("judgment-create", first) in answer.content.decode()

    def test_a_row_says_how_it_was_given(self, browser: Client, held: Assignment) -> None:
        first, second, _ = shown(held)
        grade(browser, held, second, 4)
        key_of_first = key(held, first)
        browser.post(url("judgment-create", first), form(held, first, "1", comment=" too dark "), headers=HTMX)
        given = Judgment.objects.get(pair=first)
        assert (given.uuid, given.position, given.previous_grade, given.comment) == (key_of_first, 1, 4, "too dark")
        assert (given.assignment, given.round, given.seat, given.source) == (held, 1, 1, "person")

    def test_the_lease_starts_anew(self, browser: Client, held: Assignment) -> None:
        Assignment.objects.update(expires_at=timezone.now() + timedelta(minutes=1))
        grade(browser, held, shown(held)[0], 1)
        held.refresh_from_db()
        assert held.expires_at > timezone.now() + timedelta(minutes=19)

    def test_back_to_change(self, browser: Client, held: Assignment) -> None:
        first = shown(held)[0]
        grade(browser, held, first, 1)
        assert graded(browser.get(url("pair", first))) == ["1"]
        grade(browser, held, first, 3)
        given = Judgment.objects.get()
        assert (given.grade, given.revision, given.changes.get().from_grade) == (3, 1, 1)
        assert graded(browser.get(url("pair", first))) == ["3"]

    def test_a_comment_is_shown_again_changed_and_taken_back(self, browser: Client, held: Assignment) -> None:
        first = shown(held)[0]
        kept = []
        for more in ({"comment": "<dark>"}, {}, {"comment": "bright"}, {"comment": ""}):
            browser.post(url("judgment-create", first), form(held, first, "1", **more))
            kept.append(Judgment.objects.get().comment)
            if kept[-1] == "<dark>":
                assert "&lt;dark&gt;</textarea>" in browser.get(url("pair", first)).content.decode()
        assert kept == ["<dark>", "<dark>", "bright", ""]

    def test_round_2_opens_escalated_pairs_only(self, client: Client) -> None:
        batch = BatchFactory()
        judge_round(batch, [0, 1], [4, 1])
        second = take(batch)
        client.force_login(second.annotator)
        escalated, settled = pairs_of(batch)
        assert client.get(url("pair", settled)).status_code == 404
        assert grade(client, second, settled, 4).status_code == 404
        assert grade(client, second, escalated, 4).status_code == 200


class TestReplay:
    """A form that is sent again is answered as the first time, and nothing is written."""

    @pytest.mark.parametrize("place", [0, 1, 2])
    def test_htmx(self, browser: Client, held: Assignment, place: int) -> None:
        for pair in shown(held)[:place]:
            grade(browser, held, pair, 1)
        pair = shown(held)[place]
        data = form(held, pair, 3, comment="once")
        first = browser.post(url("judgment-create", pair), data, headers=at(url("pair-next", held.project)))
        before = rows()
        again = browser.post(url("judgment-create", pair), data, headers=at(url("pair-next", held.project)))
        assert said(again) == said(first)
        assert (again.status_code, again.headers) == (first.status_code, first.headers)
        assert rows() == before

    def test_plain(self, browser: Client, held: Assignment) -> None:
        pair = shown(held)[0]
        data = form(held, pair, 3)
        first = browser.post(url("judgment-create", pair), data)
        before = rows()
        again = browser.post(url("judgment-create", pair), data)
        assert (again.status_code, again.headers) == (first.status_code, first.headers)
        assert rows() == before

    def test_of_a_change(self, browser: Client, held: Assignment) -> None:
        pair = shown(held)[1]
        grade(browser, held, pair, 3)
        data = form(held, pair, 4)
        first = browser.post(url("judgment-create", pair), data, headers=HTMX)
        before = rows()
        again = browser.post(url("judgment-create", pair), data, headers=HTMX)
        assert (said(again), again.headers) == (said(first), first.headers)
        assert rows() == before

    def test_late_shows_what_followed_then(self, browser: Client, held: Assignment) -> None:
        first, second, third = shown(held)
        data = form(held, first, 3)
        browser.post(url("judgment-create", first), data, headers=HTMX)
        grade(browser, held, second, 1)
        again = browser.post(url("judgment-create", first), data, headers=at(url("pair-next", held.project)))
        assert url("judgment-create", second) in again.content.decode()
        assert keys_in(again.content.decode()) == [str(key(held, second))]
        assert again.headers[REPLACE_URL] == url("pair", second)
        assert held.judgments.count() == 2
        assert not held.judgments.filter(pair=third).exists()

    def test_after_the_end_writes_nothing(self, browser: Client, held: Assignment) -> None:
        pair = shown(held)[2]
        data = form(held, pair, 3)
        grade_all(browser, held, 3)
        end(held)
        before = rows()
        assert browser.post(url("judgment-create", pair), data, headers=HTMX).status_code == 200
        assert rows() == before


class TestTwoTabs:
    @pytest.mark.parametrize("way", WAYS)
    def test_the_second_sees_what_the_first_gave(self, browser: Client, held: Assignment, way: str) -> None:
        pair = shown(held)[0]
        both = key(held, pair)
        browser.post(url("judgment-create", pair), {"key": both, "grade": 3})
        before = rows()
        answer = browser.post(url("judgment-create", pair), {"key": both, "grade": 0}, headers=WAYS[way])
        body = answer.content.decode()
        assert answer.status_code == 409
        assert "This form was used already: your grade for this pair is 3." in body
        assert graded(answer) == ["3"]
        assert (PAGE in body) == (way == "plain")
        assert rows() == before
        fresh = keys_in(body)
        assert fresh == [str(key(held, pair))] != [str(both)]
        assert browser.post(url("judgment-create", pair), {"key": fresh[0], "grade": 0}).status_code == 302
        assert Judgment.objects.get().grade == 0

    def test_the_address_follows_the_pair_that_is_shown_again(self, browser: Client, held: Assignment) -> None:
        pair = shown(held)[0]
        both = key(held, pair)
        grade(browser, held, pair, 3)
        place = at(url("pair-next", held.project))
        answer = browser.post(url("judgment-create", pair), {"key": both, "grade": 0}, headers=place)
        assert (answer.status_code, answer.headers[REPLACE_URL]) == (409, url("pair", pair))

    def test_a_grade_changed_twice_in_one_tab_is_stale_in_the_other(self, browser: Client, held: Assignment) -> None:
        pair = shown(held)[0]
        for value in (1, 2, 3):
            grade(browser, held, pair, value)
        stale = {"key": key(held, pair, given=1), "grade": 4}
        answer = browser.post(url("judgment-create", pair), stale, headers=HTMX)
        assert answer.status_code == 409
        assert "your grade for this pair is 3" in answer.content.decode()
        assert Judgment.objects.get().grade == 3


class TestAddress:
    """A reload stays where the person is: the address follows what htmx shows."""

    def test_next_is_where_the_next_pair_is(self, browser: Client, held: Assignment) -> None:
        first, second, _ = shown(held)
        here = url("pair-next", held.project)
        answer = browser.post(url("judgment-create", first), form(held, first, 1), headers=at(here))
        assert REPLACE_URL not in answer.headers
        back = url("pair", second)
        answer = browser.post(url("judgment-create", second), form(held, second, 1), headers=at(back))
        assert answer.headers[REPLACE_URL] == here

    def test_another_than_the_next_has_its_own(self, browser: Client, held: Assignment) -> None:
        _, second, third = shown(held)
        answer = grade(browser, held, second, 1)
        assert answer.headers[REPLACE_URL] == url("pair", third)

    @pytest.mark.parametrize("address", ["http://[::1/", "", "//", "\x7f%00"])
    def test_nonsense_is_no_address(self, browser: Client, held: Assignment, address: str) -> None:
        first = shown(held)[0]
        headers = {**HTMX, "HX-Current-URL": address}
        answer = browser.post(url("judgment-create", first), form(held, first, 1), headers=headers)
        assert answer.status_code == 200
        assert answer.headers[REPLACE_URL] == url("pair-next", held.project)

    def test_a_bad_grade_stays(self, browser: Client, held: Assignment) -> None:
        first = shown(held)[0]
        here = url("pair-next", held.project)
        answer = browser.post(url("judgment-create", first), form(held, first, 9), headers=at(here))
        assert answer.status_code == 422
        assert REPLACE_URL not in answer.headers


class TestFlag:
    def test_plain(self, browser: Client, held: Assignment) -> None:
        first, second, _ = shown(held)
        answer = browser.post(url("flag-set", first), {"reason": "broken", "comment": "all grey"})
        assert (answer.status_code, answer.headers["Location"]) == (302, url("pair-next", held.project))
        flag = Flag.objects.get()
        assert (flag.pair, flag.assignment, flag.annotator) == (first, held, held.annotator)
        assert (flag.reason, flag.comment, flag.withdrawn_at) == ("broken", "all grey", None)
        assert url("judgment-create", second) in browser.get(answer.headers["Location"]).content.decode()
        answer = browser.post(url("flag-withdraw", first))
        assert (answer.status_code, answer.headers["Location"]) == (302, url("pair", first))
        assert Flag.objects.get().withdrawn_at is not None

    def test_htmx(self, browser: Client, held: Assignment) -> None:
        first, second, _ = shown(held)
        answer = browser.post(url("flag-set", first), {"reason": "offensive"}, headers=HTMX)
        body = answer.content.decode().strip()
        assert body.startswith('<section id="pair"')
        assert url("judgment-create", second) in body
        assert 'value="1" max="3"' in body
        answer = browser.post(url("flag-withdraw", first), headers=HTMX)
        body = answer.content.decode()
        assert url("judgment-create", first) in body
        assert "You flagged this pair" not in body
        assert 'value="0" max="3"' in body

    def test_the_pair_says_that_it_is_flagged(self, browser: Client, held: Assignment) -> None:
        first = shown(held)[0]
        browser.post(url("flag-set", first), {"reason": "unreadable"})
        page = browser.get(url("pair", first)).content.decode()
        assert "You flagged this pair</b>: the query cannot be understood. It needs no grade from you." in page
        assert url("flag-withdraw", first) in page
        assert url("flag-set", first) not in page

    def test_again_keeps_one_with_the_newest_words(self, browser: Client, held: Assignment) -> None:
        first = shown(held)[0]
        for reason in ("broken", "broken", "offensive"):
            browser.post(url("flag-set", first), {"reason": reason})
        assert Flag.objects.get().reason == "offensive"

    def test_the_last_flag_leads_to_the_last_look(self, browser: Client, held: Assignment) -> None:
        *others, last = shown(held)
        for pair in others:
            grade(browser, held, pair, 1)
        answer = browser.post(url("flag-set", last), {"reason": "broken"}, headers=HTMX)
        assert "A last look" in answer.content.decode()
        assert answer.headers[REPLACE_URL] == url("last-look", held.project)

    def test_taken_back_twice(self, browser: Client, held: Assignment) -> None:
        first = shown(held)[0]
        browser.post(url("flag-set", first), {"reason": "broken"})
        browser.post(url("flag-withdraw", first))
        when = Flag.objects.get().withdrawn_at
        assert browser.post(url("flag-withdraw", first)).status_code == 302
        assert Flag.objects.get().withdrawn_at == when


class TestFinish:
    def test_last_look_then_finish(self, browser: Client, held: Assignment) -> None:
        grade_all(browser, held)
        page = browser.get(url("last-look", held.project)).content.decode()
        assert re.findall(r'<li><a href="([^"]+)"', page) == [url("pair", pair) for pair in shown(held)]
        answer = browser.post(url("assignment-finish", held.project), follow=True)
        assert answer.redirect_chain == [(url("desk", held.project), 302)]
        assert "final now" in answer.content.decode()
        held.refresh_from_db()
        assert held.state == "finished"

    def test_more_leads_to_the_next_batch_at_once(self, browser: Client, held: Assignment) -> None:
        other: Batch = BatchFactory(query__project=held.project)
        grade_all(browser, held)
        answer = browser.post(url("assignment-finish", held.project), {"more": "yes"})
        assert answer.headers["Location"] == url("pair-next", held.project)
        assert other.assignments.get().annotator == held.annotator
        assert other.query.text in browser.get(answer.headers["Location"]).content.decode()

    def test_without_more_nothing_is_taken(self, browser: Client, held: Assignment) -> None:
        other: Batch = BatchFactory(query__project=held.project)
        grade_all(browser, held)
        browser.post(url("assignment-finish", held.project))
        assert not other.assignments.exists()

    def test_more_where_there_is_none(self, browser: Client, held: Assignment) -> None:
        grade_all(browser, held)
        answer = browser.post(url("assignment-finish", held.project), {"more": "yes"}, follow=True)
        assert answer.redirect_chain == [(url("desk", held.project), 302)]
        assert "Nothing is waiting for you right now" in answer.content.decode()
        held.refresh_from_db()
        assert held.state == "finished"

    def test_more_pressed_twice_takes_one_batch(self, browser: Client, held: Assignment) -> None:
        for _ in range(2):
            BatchFactory(query__project=held.project)
        grade_all(browser, held)
        browser.post(url("assignment-finish", held.project), {"more": "yes"})
        second = browser.post(url("assignment-finish", held.project), {"more": "yes"})
        assert second.status_code == 409  # the batch that was just taken has no grade yet
        assert Assignment.objects.filter(annotator=held.annotator, state="open").count() == 1
        assert Assignment.objects.count() == 2

    def test_flags_are_shown_and_suffice(self, browser: Client, held: Assignment) -> None:
        for pair in shown(held):
            browser.post(url("flag-set", pair), {"reason": "broken"})
        page = browser.get(url("last-look", held.project)).content.decode()
        assert page.count("grade-flag") == 3
        assert browser.post(url("assignment-finish", held.project)).status_code == 302
        held.refresh_from_db()
        assert held.state == "finished"

    def test_a_pair_is_missing(self, browser: Client, held: Assignment) -> None:
        first, second, _ = shown(held)
        grade(browser, held, first, 1)
        page = browser.get(url("last-look", held.project)).content.decode()
        assert "2 pairs still need a grade or a flag" in page
        assert "Finish and" not in page
        for left in ("2 pairs still need a grade or a flag.", "One pair still needs a grade or a flag."):
            answer = browser.post(url("assignment-finish", held.project))
            assert answer.status_code == 409
            assert left in answer.content.decode()
            grade(browser, held, second, 1)
        assert Assignment.objects.get().state == "open"

    def test_a_second_press_and_time_run_out(self, browser: Client, held: Assignment) -> None:
        grade_all(browser, held)
        lapse(held)
        assert browser.post(url("assignment-finish", held.project)).status_code == 409
        end(held)
        answer = browser.post(url("assignment-finish", held.project))
        assert answer.headers["Location"] == url("desk", held.project)


class TestReturn:
    def test_grades_are_kept_and_the_rest_is_free(self, browser: Client, held: Assignment) -> None:
        grade(browser, held, shown(held)[0], 4)
        answer = browser.post(url("assignment-return", held.project), follow=True)
        assert answer.redirect_chain == [(url("desk", held.project), 302)]
        assert "Given back" in answer.content.decode()
        held.refresh_from_db()
        assert held.state == "returned"
        assert held.judgments.get().grade == 4
        assert take(held.batch).pair_ids != []

    def test_again_or_with_nothing_in_hand(self, browser: Client, held: Assignment) -> None:
        for _ in range(2):
            answer = browser.post(url("assignment-return", held.project))
            assert answer.headers["Location"] == url("desk", held.project)
        assert Assignment.objects.get().state == "returned"


class TestPresence:
    def test_a_heartbeat_starts_the_lease_anew(self, browser: Client, held: Assignment) -> None:
        Assignment.objects.update(expires_at=timezone.now() + timedelta(minutes=1))
        answer = browser.post(url("heartbeat", held.project))
        assert (answer.status_code, answer.content) == (204, b"")
        held.refresh_from_db()
        assert held.expires_at > timezone.now() + timedelta(minutes=19)

    def test_a_heartbeat_does_not_revive(self, browser: Client, held: Assignment) -> None:
        lapse(held)
        before = rows()
        answer = browser.post(url("heartbeat", held.project), headers=HTMX)
        assert answer.status_code == 409
        assert "Your time on this batch has run out" in answer.content.decode()
        assert rows() == before

    def test_a_heartbeat_without_a_batch(self, browser: Client, held: Assignment) -> None:
        end(held, "returned")
        assert browser.post(url("heartbeat", held.project)).status_code == 409

    def test_leaving_keeps_it_for_a_moment(self, browser: Client, held: Assignment) -> None:
        answer = browser.post(url("leave", held.project))
        assert (answer.status_code, answer.content) == (204, b"")
        held.refresh_from_db()
        assert held.state == "open"
        assert timedelta(seconds=80) < held.expires_at - timezone.now() <= LEAVING

    def test_leaving_never_lengthens_and_needs_no_batch(self, browser: Client, held: Assignment) -> None:
        soon = timezone.now() + timedelta(seconds=20)
        Assignment.objects.update(expires_at=soon)
        assert browser.post(url("leave", held.project)).status_code == 204
        assert Assignment.objects.get().expires_at == soon
        end(held)
        assert browser.post(url("leave", held.project)).status_code == 204


class TestOwnGrades:
    def test_own_grades_only(self, client: Client) -> None:
        batch = BatchFactory()
        person = annotator(batch.project)
        judge(batch, [3, 0], person)
        judge(batch, [4, 2])
        client.force_login(person)
        page = client.get(url("own-grades", batch.project)).content.decode()
        assert batch.query.text in page
        assert sorted(re.findall(r'class="grade grade-(\d)"', page)) == ["0", "3"]

    def test_a_lapsed_batch_says_so_and_an_open_one_is_not_shown(self, browser: Client, held: Assignment) -> None:
        assert "No finished batch yet" in browser.get(url("own-grades", held.project)).content.decode()
        end(held, "lapsed")
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
    part = browser.get(url("pair", shown(held)[0]), headers=HTMX).content.decode()
    assert "&lt;b&gt;bold&lt;/b&gt; &amp; co" in part
