"""Lists of flagged, dropped and withdrawn pairs, and a lead's answers to them."""

import csv
import io
import re
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.test import Client

from accounts.models import Project
from judging.models import Assignment, Batch, FlagAnswer, Pair, Recut
from judging.work.services.pairs import flags_dismiss, pair_withdraw
from tests.factories import NOW, AssignmentFactory, BatchFactory, FlagFactory, ProjectFactory, admin, lead
from tests.judging.play import judge_round, pairs_of
from tests.judging.views.acts import url

pytestmark = pytest.mark.django_db
LISTS = ("dropped", "withdrawn", "flags")


def uuids_on_page(answer: Any) -> list[str]:
    return re.findall(r'<article class="out" id="pair-([^"]+)"', answer.content.decode())


def flagged(project: Project, *, reason: str = "broken", comment: str = "", **values: Any) -> Pair:
    batch = BatchFactory(query__project=project, pairs=1, **values)
    assignment = AssignmentFactory(batch=batch)
    pair: Pair = FlagFactory(assignment=assignment, reason=reason, comment=comment).pair
    Assignment.objects.filter(pk=assignment.pk).update(state="finished", ended_at=NOW)
    return pair


def dropped(project: Project, **values: Any) -> Pair:
    batch = BatchFactory(query__project=project, pairs=1, **values)
    judge_round(batch, [0], [4])
    judge_round(batch, [1], [3])
    return pairs_of(batch)[0]


def withdrawn(project: Project, reason: str = "It stays black.") -> Pair:
    pair = pairs_of(BatchFactory(query__project=project, pairs=1))[0]
    pair_withdraw(pair=pair, lead=lead(project), reason=reason)
    return pair


class TestLists:
    def test_each_holds_its_own_with_grades_reasons_and_words(self, lead_client: Client, project: Project) -> None:
        for name in LISTS:
            assert "No pair" in lead_client.get(url(name, project)).content.decode()
        pairs = [dropped(project), withdrawn(project, "It stays black."), flagged(project, comment="No picture at all")]
        flagged(ProjectFactory())
        words = ("no consensus", "withdrawn by a lead: It stays black.", "No picture at all")
        for name, pair, text in zip(LISTS, pairs, words, strict=True):
            page = lead_client.get(url(name, project))
            assert uuids_on_page(page) == [str(pair.uuid)], name
            assert text in page.content.decode()
        page = lead_client.get(url("dropped", project))
        assert re.findall(r'grade grade-(\d)"', page.content.decode()) == ["0", "4", "1", "3"]

    @pytest.mark.parametrize(
        ("query_filters", "pair_names"),
        [
            ({}, ["one", "two"]),
            ({"q": "DOOR"}, ["one"]),
            ({"split": "test"}, ["two"]),
            ({"reason": "offensive"}, ["two"]),
            ({"reason": "nonsense", "annotator": "x"}, ["one", "two"]),
            ({"annotator": "number of one"}, ["one"]),
            ({"annotator": "999999"}, []),
            ({"status": "answered"}, ["three"]),
            ({"status": "all"}, ["one", "two", "three"]),
        ],
    )
    def test_filters_of_flags(
        self, lead_client: Client, project: Project, query_filters: dict[str, str], pair_names: list[str]
    ) -> None:
        pairs = {
            "one": flagged(project, query__text="A woman opens a door"),
            "two": flagged(project, reason="offensive", query__split="test"),
            "three": flagged(project),
        }
        flags_dismiss(pair=pairs["three"], lead=lead(project), words="fine")
        if query_filters.get("annotator") == "number of one":
            query_filters = {"annotator": str(pairs["one"].flags.get().annotator.memberships.get().number)}  # type: ignore[attr-defined]
        uuids = uuids_on_page(lead_client.get(url("flags", project), query_filters))
        assert {name for name, pair in pairs.items() if str(pair.uuid) in uuids} == set(pair_names)
        assert len(uuids) == len(pair_names)

    def test_filters_of_what_is_out(self, lead_client: Client, project: Project) -> None:
        one, other = dropped(project), dropped(project, query__split="test")
        Pair.objects.filter(pk=other.pk).update(reason="no_second_round")
        number = one.judgments.first().annotator.memberships.get().number  # type: ignore[union-attr]
        for filters, pair in (
            ({"reason": "no_second_round"}, other),
            ({"split": "test"}, other),
            ({"annotator": number}, one),
        ):
            assert uuids_on_page(lead_client.get(url("dropped", project), filters)) == [str(pair.uuid)], filters

    def test_what_waits_comes_first(self, lead_client: Client, project: Project) -> None:
        waits, decided = flagged(project), flagged(project)
        Pair.objects.filter(pk=decided.pk).update(state="settled", relevance=1)
        assert uuids_on_page(lead_client.get(url("flags", project), {"status": "all"})) == [
            str(waits.uuid),
            str(decided.uuid),
        ]

    @pytest.mark.parametrize("pairs", [1, 5])
    def test_as_many_statements_for_many_as_for_one(  # type: ignore[no-untyped-def]
        self, lead_client: Client, project: Project, pairs: int, django_assert_num_queries
    ) -> None:
        for _ in range(pairs):
            flagged(project)
        lead_client.get(url("flags", project))
        with django_assert_num_queries(8):
            lead_client.get(url("flags", project))


class TestCsv:
    def rows(self, answer: Any) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO(answer.content.decode())))

    def test_dropped(self, lead_client: Client, project: Project) -> None:
        pair = dropped(project, query__text="=cmd()")
        [row] = self.rows(lead_client.get(url("dropped-csv", project)))
        numbers = [j.annotator.memberships.get().number for j in pair.judgments.order_by("round", "slot")]
        assert row["query"] == "'=cmd()"
        assert row["grades"] == f"{numbers[0]}:0 {numbers[1]}:4"
        assert row["second_grades"] == f"{numbers[2]}:1 {numbers[3]}:3"
        assert (row["rank"], row["start_s"], row["state"], row["reason"]) == ("1", "1.5", "dropped", "no_consensus")

    def test_flags_with_their_answers(self, lead_client: Client, project: Project) -> None:
        pair = flagged(project, comment="black")
        flags_dismiss(pair=pair, lead=lead(project), words="not here")
        number = pair.flags.get().annotator.memberships.get().number  # type: ignore[attr-defined]
        [row] = self.rows(lead_client.get(url("flags-csv", project), {"status": "answered"}))
        assert row["flags"] == f"{number}: The clip is broken (black) > dismissed (not here)"
        assert self.rows(lead_client.get(url("flags-csv", project))) == []

    def test_withdrawn_says_why_and_by_whom(self, lead_client: Client, project: Project) -> None:
        withdrawn(project, "two films in one")
        [row] = self.rows(lead_client.get(url("withdrawn-csv", project)))
        assert (row["reason"], row["withdrawn_because"]) == ("withdrawn_by_lead", "two films in one")
        assert row["withdrawn_by"].startswith("person-")
        assert row["withdrawn_at"].startswith("20")


class TestAnswers:
    @pytest.fixture
    def pair(self, project: Project) -> Pair:
        new_pair = flagged(project)
        new_pair.candidate.moment.video.file.save("clip.mp4", ContentFile(b"a video"))
        return new_pair

    def test_dismissed_with_a_word_once(self, lead_client: Client, project: Project, pair: Pair) -> None:
        answer = lead_client.post(url("flag-dismiss", pair), {"words": " ", "list": "flagged"})
        assert answer.status_code == 422
        assert "Say why: your word is kept with the flag." in answer.content.decode()
        assert uuids_on_page(answer) == [str(pair.uuid)]
        answer = lead_client.post(url("flag-dismiss", pair), {"words": "It plays.", "list": "flagged"})
        assert answer.headers["Location"] == url("flags", project)
        assert FlagAnswer.objects.get().text == "It plays."
        answer = lead_client.post(url("flag-dismiss", pair), {"words": "It plays."})
        assert answer.status_code == 409
        assert "No flag of this pair waits for an answer." in answer.content.decode()

    def test_cut_anew_and_a_failure_is_reported(self, lead_client: Client, project: Project, pair: Pair) -> None:
        answer = lead_client.post(url("pair-recut", pair), {"list": "flagged"}, follow=True)
        assert "The clip is being cut anew" in answer.content.decode()
        assert Recut.objects.get().moment == pair.candidate.moment
        again = lead_client.post(url("pair-recut", pair))
        assert (again.status_code, "being cut already" in again.content.decode()) == (409, True)
        Recut.objects.update(state="failed", error="The disk is full.", ended_at=NOW)
        page = lead_client.get(url("flags", project)).content.decode()
        assert "Cutting the clip anew failed: The disk is full." in page
        assert url("pair-recut", pair) in page

    def test_other_bounds(self, lead_client: Client, project: Project, pair: Pair) -> None:
        answer = lead_client.post(url("pair-bounds", pair), {"start_s": "2.5", "end_s": "7", "list": "flagged"})
        assert answer.headers["Location"] == url("flags", project)
        assert (Recut.objects.get().start_s, Recut.objects.get().end_s) == (2.5, 7.0)
        assert "from 2.50 to 7 s" in lead_client.get(url("flags", project)).content.decode()

    @pytest.mark.parametrize(
        ("form_values", "status", "words"),
        [
            ({"start_s": "", "end_s": "7"}, 422, "Say where the moment starts."),
            ({"start_s": "1", "end_s": "soon"}, 422, "Its end is a number of seconds."),
            ({"start_s": "1", "end_s": "nan"}, 422, "number of seconds"),
            ({"start_s": "1", "end_s": "91"}, 409, "The video is only 90 s long."),
        ],
    )
    def test_bounds_it_cannot_have(
        self, lead_client: Client, pair: Pair, form_values: dict[str, str], status: int, words: str
    ) -> None:
        answer = lead_client.post(url("pair-bounds", pair), form_values)
        assert (answer.status_code, words in answer.content.decode()) == (status, True)

    def test_withdrawn_from_the_list(self, lead_client: Client, project: Project, pair: Pair) -> None:
        form_data = {"reason": "black", "list": "flagged", "asked": "status=all&q=a door"}
        answer = lead_client.post(url("pair-withdraw", pair), form_data)
        assert answer.headers["Location"] == url("flags", project) + "?status=all&q=a+door"
        assert Batch.objects.get().pairs.get().state == "withdrawn"

    def test_admins_look_and_answer_nothing(self, client: Client, project: Project, pair: Pair) -> None:
        client.force_login(admin(project))
        page = client.get(url("flags", project))
        assert uuids_on_page(page) == [str(pair.uuid)]
        for name in ("flag-dismiss", "pair-recut", "pair-bounds", "pair-withdraw"):
            assert url(name, pair) not in page.content.decode()
