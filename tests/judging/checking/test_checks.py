"""Checks of written queries: what is accepted joins the corpus, what is rejected goes back once, then to others."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from accounts.models import User
from annotation.models import Caption, Description, Moment
from core.exceptions import NotPossible
from judging.checking import rules, selectors, services
from judging.checking.selectors import checks_by
from judging.checking.services import Verdict
from judging.collection import services as writing
from judging.collection.rules import Entry
from judging.collection.selectors import clip_counts, drafts_of, own_queries, rejections_of, sent_back_of
from judging.exceptions import NotAssigned, NotPossibleNow, QueryRefused
from judging.guidelines.services import policy_publish
from judging.models import ClipAssignment, QueryCheck, WriterStop, WritingClip, WritingRound, WrittenQuery
from tests.factories import (
    NOW,
    CandidateFactory,
    ProjectFactory,
    WritingClipFactory,
    WritingRoundFactory,
    WrittenQueryFactory,
    checker,
    writer,
)

pytestmark = pytest.mark.django_db
ENTRY = Entry("A man opens the door of a red car.", "v", 1.5, 4.25)
ANEW = Entry("A tall man opens the door of a red car.", "v", 1.5, 4.5)
ACCEPT, REJECT = Verdict("accept", 0, 1), Verdict("reject", 0, 1, "wrong")
LATER = NOW + timedelta(days=8)


@pytest.fixture
def round_of_two() -> WritingRound:
    """Of two clips that get two queries each."""
    row = WritingRoundFactory(queries_per_clip=2)
    WritingClipFactory.create_batch(2, round=row)
    return row  # type: ignore[no-any-return]


def take(row: WritingRound, person: User, **at: object) -> ClipAssignment:
    assignment = writing.clip_take(round=row, writer=person, now=at.get("now", NOW))  # type: ignore[arg-type]
    assert assignment is not None
    return assignment


def write(row: WritingRound, person: User, entry: Entry = ENTRY) -> WrittenQuery:
    assignment = take(row, person)
    return writing.query_submit(assignment=assignment.uuid, writer=person, key=uuid4(), entry=entry, now=NOW).query


def check(query: WrittenQuery, person: User, verdict: Verdict = ACCEPT) -> QueryCheck:
    return services.query_check(query=query.uuid, checker=person, verdict=verdict, now=NOW)


class TestAccepted:
    def test_an_accepted_query_is_a_description_of_its_moment(self) -> None:
        query = WrittenQueryFactory(type="vt")
        decision = check(query, person := checker(query.clip.round.project))
        query.refresh_from_db()
        row = query.description
        assert row is not None and (row.text, row.kind, row.source_id) == (query.text, "both", 0)
        assert (row.moment.video, row.moment.start_s, row.moment.end_s) == (query.clip.video, 1.5, 4.25)
        assert Caption.objects.get(description=row).provider == "as-described"
        assert (query.state, decision.moment_is_new) == ("accepted", True)
        assert check(query, person) == decision  # the same again
        second = WrittenQueryFactory(assignment__clip__round__project=query.clip.round.project)
        check(second, person)
        assert Description.objects.get(written_query=second).source_id == 1

    def test_bounds_are_moved_with_who_and_why(self) -> None:
        query = WrittenQueryFactory()
        person = checker(query.clip.round.project)
        for start_s, end_s, note, words in (
            (1.5, 4.25, "Nothing.", "as the writer has them"),
            (2.0, 4.0, "", "why you move"),
            (2.0, 90.2, "It goes on.", "within the video of 90.00 s"),
            (4.0, 4.0, "It is short.", "start before it ends"),
        ):
            with pytest.raises(NotPossible, match=words):
                check(query, person, Verdict("correct", start_s, end_s, note=note))
        decision = check(query, person, Verdict("correct", 2.0, 90.04, note="It goes on."))
        query.refresh_from_db()
        assert (query.start_s, query.end_s) == (1.5, 4.25)
        moment = Moment.objects.get(descriptions__written_query=query)
        assert (moment.start_s, moment.end_s, decision.note, decision.checker) == (2.0, 90.0, "It goes on.", person)

    def test_a_decision_is_taken_back_while_nothing_is_built_on_it(self) -> None:
        query = WrittenQueryFactory()
        person = checker(query.clip.round.project)
        decision = check(query, person)
        for _ in range(2):
            services.check_undo(check=decision.uuid, checker=person, now=NOW)
        query.refresh_from_db()
        assert (query.state, query.description, Moment.objects.count(), Caption.objects.count()) == (
            "waiting",
            None,
            0,
            0,
        )
        again = check(query, person)
        query.refresh_from_db()
        assert query.description is not None
        query.description.caption.provider = "rules"
        query.description.caption.save()
        with pytest.raises(NotPossibleNow, match="was rewritten"):
            services.check_undo(check=again.uuid, checker=person, now=NOW)
        query.refresh_from_db()
        assert query.state == "accepted"
        with pytest.raises(NotAssigned):
            services.check_undo(check=again.uuid, checker=checker(query.clip.round.project), now=NOW)

    def test_a_moment_that_others_use_stays(self) -> None:
        query = WrittenQueryFactory()
        person = checker(query.clip.round.project)
        decision = check(query, person)
        CandidateFactory(moment=Moment.objects.get())
        services.check_undo(check=decision.uuid, checker=person, now=NOW)
        assert Moment.objects.count() == 1 and not Description.objects.filter(moment=Moment.objects.get()).exists()


def test_without_scripts_the_first_button_loses_neither_bounds_nor_a_reason(client: Client) -> None:
    query = WrittenQueryFactory()
    client.force_login(checker(query.clip.round.project))
    form = {"decision": "accept", "start_s": 2.5, "end_s": 4.25, "note": "It starts later."}
    address = reverse("judging:query-check", args=[query.uuid])
    page = client.post(address, {**form, "reason": "wrong"})
    assert page.status_code == 422 and "A reason to reject the query is chosen" in page.content.decode()
    client.post(address, form)
    assert query.checks.values_list("decision", "start_s").get() == ("correct", 2.5)


class TestRejected:
    def test_a_rejected_query_goes_back_to_its_writer_first_and_then_to_others(
        self, round_of_two: WritingRound
    ) -> None:
        row, first, second = round_of_two, writer(round_of_two.project), writer(round_of_two.project)
        person = checker(row.project)
        query = write(row, first)
        other = write(row, second)
        assert other.clip == query.clip and WritingClip.objects.get(pk=query.clip_id).state != "open"
        check(query, person, Verdict("reject", 0, 1, "not_only", "He does it twice."))
        [assignment] = sent_back_of(row.project, first)
        assert (assignment.draft_text, assignment.draft_start_s, assignment.n_sent_back) == (query.text, 1.5, 1)
        assert take(row, writer(row.project)).clip != query.clip  # its place is kept

        anew = take(row, first)
        assert anew == assignment and rejections_of(anew) == [
            (query, "Other moments of the clip fit it, too: He does it twice.")
        ]
        with pytest.raises(QueryRefused, match="neither the words nor the moment that were sent back"):
            writing.query_submit(assignment=anew.uuid, writer=first, key=uuid4(), entry=query.entry, now=NOW)
        last = writing.query_submit(assignment=anew.uuid, writer=first, key=uuid4(), entry=ANEW, now=NOW).query
        assert WritingClip.objects.get(pk=query.clip_id).n_queries == 2
        assert [own.is_anew for own in own_queries(row.project, first)] == [False, True]
        check(last, person, REJECT)  # once more: now it is somebody else's
        last.refresh_from_db()
        assert last.state == "rejected" and not sent_back_of(row.project, first).exists()
        clip = WritingClip.objects.get(pk=query.clip_id)
        assert (clip.state, clip.n_queries) == ("open", 1)
        assert clip_counts(row) | {"in_hand": 0} == {
            **{"clips": 2, "complete": 0, "exhausted": 0, "in_hand": 0, "queries": 1, "waiting": 1},
            **{"accepted": 0, "rejected": 2, "retired": 0, "target": 4},
        }
        assert take(row, writer(row.project)).clip == query.clip

    @pytest.mark.parametrize("how", ["returned", "late"])
    def test_what_its_writer_gives_up_is_for_others(self, round_of_two: WritingRound, how: str) -> None:
        row, person = round_of_two, writer(round_of_two.project)
        query = write(row, person)
        check(query, checker(row.project), REJECT)
        if how == "returned":
            writing.clip_return(assignment=query.assignment.uuid, writer=person, now=NOW)
        other = take(row, writer(row.project), now=LATER if how == "late" else NOW)
        query.clip.refresh_from_db()
        assert (query.clip.n_queries, other.clip) == (0, query.clip)
        assert take(row, person, now=LATER if how == "late" else NOW).clip != query.clip

    def test_a_draft_of_a_rejected_query_survives_its_lease(self, round_of_two: WritingRound) -> None:
        row, person = round_of_two, writer(round_of_two.project)
        query = write(row, person)
        check(query, checker(row.project), REJECT)
        take(row, person)
        writing.clips_lapse(project_id=row.project_id, now=NOW + timedelta(hours=1))
        assert [draft.draft_text for draft in drafts_of(row.project, person)] == [query.text]

    def test_a_rejection_is_taken_back_until_its_writer_begins_again(self, round_of_two: WritingRound) -> None:
        row, first, person = round_of_two, writer(round_of_two.project), checker(round_of_two.project)
        query = write(row, first)
        decision = check(query, person, REJECT)
        services.check_undo(check=decision.uuid, checker=person, now=NOW)
        query.refresh_from_db()
        assert (query.state, query.assignment.state, query.assignment.draft_text) == ("waiting", "finished", "")
        decision = check(query, person, REJECT)
        assert checks_by(row.project, person)[0].may_be_undone
        take(row, first)
        assert not checks_by(row.project, person)[0].may_be_undone
        with pytest.raises(NotPossibleNow, match="has the clip again"):
            services.check_undo(check=decision.uuid, checker=person, now=NOW)

    def test_what_is_decided_stays_decided_for_others(self) -> None:
        query = WrittenQueryFactory()
        project = query.clip.round.project
        check(query, checker(project))
        with pytest.raises(NotPossibleNow, match="checked already"):
            check(query, checker(project), REJECT)
        with pytest.raises(NotPossible, match="in your words"):
            check(WrittenQueryFactory(), checker(project), Verdict("reject", 0, 1, "other"))


class TestQueue:
    def test_two_checkers_never_look_at_the_same_query_nor_at_their_own(self) -> None:
        queries = WrittenQueryFactory.create_batch(2, assignment__clip__round=WritingRoundFactory())
        project = queries[0].clip.round.project
        first, second, third = (checker(project) for _ in range(3))
        at_hand = [services.query_take(project=project, checker=one, now=NOW) for one in (first, second, third, first)]
        assert at_hand == [*queries, None, queries[0]]
        assert services.query_take(project=project, checker=third, now=NOW + timedelta(hours=1)) == queries[0]
        member = project.memberships.get(user=queries[1].writer)
        member.roles = ["writer", "checker"]
        member.save()
        services.query_check(query=queries[0].uuid, checker=first, verdict=ACCEPT, now=NOW)
        assert services.query_take(project=project, checker=member.user, now=LATER) is None
        with pytest.raises(NotPossible, match="your own"):
            services.query_check(query=queries[1].uuid, checker=member.user, verdict=ACCEPT, now=NOW)

    def test_time_runs_from_when_the_checker_got_the_query_whatever_they_load_again(self) -> None:
        project = ProjectFactory()
        queries = WrittenQueryFactory.create_batch(2, assignment__clip__round__project=project)
        person = checker(project)
        for minutes in (0, 3):
            services.query_take(project=project, checker=person, now=NOW + timedelta(minutes=minutes))
        about = {"checker": person, "verdict": ACCEPT, "now": NOW + timedelta(minutes=5)}
        times = [services.query_check(query=query.uuid, **about).active_ms for query in queries]
        assert times == [300_000, None]  # the second was taken by nobody

    def test_neighbours_and_doubles_come_by_likeness(self) -> None:
        row = WritingRoundFactory()
        clip, elsewhere = WritingClipFactory.create_batch(2, round=row)
        query = write(row, writer(row.project), Entry("A man opens the red door here.", "v", 1, 2))
        near = write(row, writer(row.project), Entry("A man opens the red window here.", "v", 3, 4))
        project = row.project
        double = WrittenQueryFactory(assignment__clip=elsewhere, text="Here the man opens a red door.")
        assert query.clip == near.clip == clip
        check(near, checker(project))
        [neighbour] = selectors.neighbours_of(query)
        assert (neighbour.text, neighbour.type, neighbour.percent) == (near.text, "Video", 75)
        assert [(row.query, row.percent) for row in selectors.doubles_of(query)] == [(double, 100)]


class TestStops:
    def test_the_policy_stops_a_writer_of_whom_too_little_is_accepted(self) -> None:
        row = WritingRoundFactory(queries_per_clip=2)
        project, person, looks = row.project, writer(row.project), checker(row.project)
        WritingClipFactory.create_batch(5, round=row)
        policy_publish(project=project, actor=None, writing_accepted=50, writing_checks=3)
        for verdict in (ACCEPT, REJECT):
            check(write(row, person), looks, verdict)
            writing.clip_return(assignment=person.clip_assignments.latest("pk").uuid, writer=person, now=NOW)
        check(write(row, person), looks, REJECT)
        stop = WriterStop.objects.get(project=project, writer=person)
        assert stop.reason == "Checkers accepted 1 of 3 queries: fewer than 50 %."
        with pytest.raises(NotPossibleNow, match="1 of 3 queries"):
            take(row, person)
        writing.writer_go_on(project=project, writer=person, actor=None)
        check(write(row, person, ANEW), looks, REJECT)  # counted anew
        assert selectors.decisions_about(project, person) == [False]
        assert not WriterStop.objects.filter(writer=person, ended_at=None).exists()

    def test_a_lead_stops_a_writer_with_a_reason(self) -> None:
        row = WritingRoundFactory()
        WritingClipFactory(round=row)
        person = writer(row.project)
        with pytest.raises(NotPossible, match="Say why"):
            writing.writer_stop(project=row.project, writer=person, reason=" ", actor=None)
        for _ in range(2):
            writing.writer_stop(project=row.project, writer=person, reason="Too short.", actor=None)
        with pytest.raises(NotPossibleNow, match="Too short."):
            take(row, person)
        assert row.project.audit_events.filter(action="writer.stop").count() == 1


@pytest.mark.django_db(False)
class TestRules:
    @given(st.lists(st.booleans(), max_size=20), st.integers(0, 100), st.integers(1, 10))
    def test_who_is_stopped_has_enough_checks_and_too_low_a_share(
        self, decisions: list[bool], percent: int, n: int
    ) -> None:
        stopped = rules.is_stopped(decisions, least_percent=percent, least_checks=n)
        assert stopped == (len(decisions) >= n and sum(decisions) / max(len(decisions), 1) < percent / 100)
        assert not rules.is_stopped([*decisions, *[True] * 2000], least_percent=99, least_checks=n)

    @given(st.dictionaries(st.integers(), st.text("ab ", max_size=8), max_size=6), st.text("ab ", max_size=8))
    def test_likeness_is_symmetric_and_the_most_alike_come_first(self, texts: dict[int, str], text: str) -> None:
        rows = rules.alike(text, texts, least=0.0, most=10)
        assert {row.key for row in rows} == set(texts)
        assert [row.share for row in rows] == sorted((row.share for row in rows), reverse=True)
        for row in rows:
            assert row.share == rules.share_of_words(rules.word_set(texts[row.key]), rules.word_set(text))
