"""Rounds, clips in the hands of one writer, drafts that survive, and queries that are submitted."""

from datetime import timedelta
from uuid import uuid4

import pytest

from accounts.models import Project, User
from annotation.models import Subtitle
from core.exceptions import NotPossible
from judging.collection import services
from judging.collection.rules import Entry
from judging.exceptions import LeaseLost, NotAssigned, NotPossibleNow, QueryRefused
from judging.models import ClipAssignment, WritingClip, WritingRound, WrittenQuery
from tests.factories import MINUTES, NOW, ProjectFactory, VideoFactory, WritingClipFactory, WritingRoundFactory, writer

pytestmark = pytest.mark.django_db
ENTRY = Entry("A man opens the door of a red car.", "v", 1.5, 4.25)


def videos(project: Project, n: int = 2) -> None:
    about = {"file": "videos/clip.mp4", "playback_state": "not_needed"}
    VideoFactory.create_batch(n, corpus=project.dataset.corpus, **about)


def open_round(n: int = 2, **rules: object) -> WritingRound:
    row = WritingRoundFactory(**rules)
    WritingClipFactory.create_batch(n, round=row)
    return row  # type: ignore[no-any-return]


def take(round: WritingRound, person: User, **later: int) -> ClipAssignment:
    row = services.clip_take(round=round, writer=person, now=NOW + timedelta(**later))
    assert row is not None
    return row


def submit(
    row: ClipAssignment, entry: Entry = ENTRY, active_ms: int | None = None, **later: int
) -> services.Submission:
    times = {"active_ms": active_ms, "now": NOW + timedelta(**later)}
    return services.query_submit(assignment=row.uuid, writer=row.writer, key=uuid4(), entry=entry, **times)


class TestRounds:
    def test_a_round_has_the_videos_that_play_and_takes_later_ones(self) -> None:
        project = ProjectFactory()
        videos(project)
        VideoFactory(corpus=project.dataset.corpus)
        row = services.round_create(project=project, name="visual", actor=None, share_t=0)
        assert (row.types, row.clips.count()) == (("v", "vt"), 2)
        videos(project, 1)
        assert [services.clips_add(round=row, actor=None) for _ in range(2)] == [1, 0]
        assert project.audit_events.filter(action="writing_round.create").count() == 1

    def test_a_textual_round_has_the_videos_with_subtitles(self) -> None:
        project = ProjectFactory()
        videos(project)
        with pytest.raises(NotPossible, match="and subtitles yet"):
            services.round_create(project=project, name="textual", actor=None, share_v=0)
        assert not project.writing_rounds.exists()
        Subtitle.objects.create(video=project.dataset.corpus.videos.first(), start_s=0, end_s=1, text="Hello.")
        assert services.round_create(project=project, name="textual", actor=None, share_v=0).clips.count() == 1

    def test_only_who_takes_part_gets_a_clip_and_only_while_it_is_open(self) -> None:
        row = open_round()
        person, other = writer(row.project), writer(row.project)
        services.members_change(round=row, members=[person], actor=None)
        with pytest.raises(NotPossibleNow, match="do not take part"):
            take(row, other)
        services.round_change(round=row, change="pause", actor=None)
        with pytest.raises(NotPossibleNow, match="paused"):
            take(row, person)
        services.round_change(round=row, change="resume", actor=None)
        assert take(row, person).writer == person
        services.round_change(round=row, change="close", actor=None)
        with pytest.raises(NotPossibleNow, match="is closed"):
            services.round_change(round=row, change="resume", actor=None)


class TestClips:
    def test_one_writer_at_a_time_and_nobody_twice(self) -> None:
        row = open_round(1, queries_per_clip=2)
        first, second = writer(row.project), writer(row.project)
        assignment = take(row, first)
        assert take(row, first) == assignment
        assert services.clip_take(round=row, writer=second, now=NOW) is None
        submit(assignment)
        assert services.clip_take(round=row, writer=first, now=NOW) is None
        submit(take(row, second))
        assert WritingClip.objects.get().state == "done"

    def test_clips_that_have_some_of_their_queries_come_first(self) -> None:
        row = open_round(2)
        begun = row.clips.last()
        WritingClip.objects.filter(pk=begun.pk).update(n_queries=1)
        assert take(row, writer(row.project)).clip == begun

    def test_a_draft_survives_a_lapse_for_its_writer_alone(self) -> None:
        row = open_round(1)
        first, second = writer(row.project), writer(row.project)
        assignment = take(row, first)
        draft = {"assignment": assignment.uuid, "writer": first, "entry": ENTRY}
        assert services.draft_save(**draft, version=0, now=NOW) == 1
        with pytest.raises(LeaseLost, match="run out"):
            submit(assignment, hours=2)
        with pytest.raises(LeaseLost, match="run out"):
            services.draft_save(**draft, version=1, now=NOW + 120 * MINUTES)
        theirs = take(row, second, hours=2)
        assert (theirs.clip, theirs.draft_text) == (assignment.clip, "")
        assert services.clip_take(round=row, writer=first, now=NOW + 120 * MINUTES) is None
        services.clip_return(assignment=theirs.uuid, writer=second, now=NOW + 121 * MINUTES)
        again = take(row, first, hours=3)
        assert (again.pk, again.draft_text, again.draft_end_s) == (assignment.pk, ENTRY.text, 4.25)

    def test_a_draft_of_another_tab_is_not_written_over(self) -> None:
        row = open_round(1)
        assignment = take(row, writer(row.project))
        about = {"assignment": assignment.uuid, "writer": assignment.writer, "now": NOW}
        services.draft_save(**about, entry=ENTRY, version=0)
        with pytest.raises(NotPossibleNow, match="another tab"):
            services.draft_save(**about, entry=Entry("", "", None, None), version=0)
        assignment.refresh_from_db()
        assert assignment.draft_text == ENTRY.text

    def test_a_clip_with_nothing_more_goes_to_nobody_until_it_is_reopened(self) -> None:
        row = open_round(1)
        assignment = take(row, writer(row.project))
        for _ in range(2):
            services.clip_exhaust(assignment=assignment.uuid, writer=assignment.writer, now=NOW)
        other = writer(row.project)
        assert services.clip_take(round=row, writer=other, now=NOW) is None
        services.clip_reopen(clip=assignment.clip, actor=None)
        assert take(row, other).clip == assignment.clip

    def test_types_are_requested_by_share_and_the_video_alone_without_subtitles(self) -> None:
        row = open_round(4, share_v=1, share_t=0, share_vt=99)
        for clip in row.clips.all()[:3]:
            Subtitle.objects.create(video=clip.video, start_s=0, end_s=1, text="Hello.")
        people = [writer(row.project) for _ in range(4)]
        assert [take(row, person).type_requested for person in people] == ["vt", "vt", "vt", "v"]


class TestSubmit:
    def test_the_same_key_twice_is_one_query(self) -> None:
        assignment = take(row := open_round(1), writer(row.project))
        key = uuid4()
        about = {"assignment": assignment.uuid, "writer": assignment.writer, "key": key, "entry": ENTRY, "now": NOW}
        first, second = (services.query_submit(**about) for _ in range(2))
        assert first.query == second.query
        with pytest.raises(LeaseLost, match="finished"):
            submit(assignment)
        assert WrittenQuery.objects.get().key == key

    def test_several_moments_of_a_clip_and_never_more_than_the_clip_takes(self) -> None:
        row = open_round(1, queries_per_visit=2, queries_per_clip=3)
        assignment = take(row, writer(row.project))
        assert [submit(assignment).goes_on for _ in range(2)] == [True, False]
        last = take(row, writer(row.project))
        assert not submit(last).goes_on
        assert list(row.clips.values_list("n_queries", "state")) == [(3, "done")]

    def test_a_query_that_a_check_refuses_is_not_recorded(self) -> None:
        assignment = take(row := open_round(1), writer(row.project))
        with pytest.raises(QueryRefused, match="by then"):
            submit(assignment, Entry(ENTRY.text, "v", 80, 90.5))
        assert submit(assignment, Entry(f" {ENTRY.text}\n", "v", 80, 90.03)).query.end_s == 90.0
        assert WrittenQuery.objects.get().text == ENTRY.text

    def test_a_video_replaced_under_open_work_is_looked_at_again(self) -> None:
        assignment = take(row := open_round(1), writer(row.project))
        about = {"assignment": assignment.uuid, "writer": assignment.writer, "entry": ENTRY, "now": NOW}
        with pytest.raises(NotPossibleNow, match="was replaced"):
            services.query_submit(key=uuid4(), file="another", **about)
        assert services.query_submit(key=uuid4(), file="clip", **about).query.text == ENTRY.text

    def test_nobody_writes_for_the_clip_of_somebody_else(self) -> None:
        assignment = take(row := open_round(1), writer(row.project))
        with pytest.raises(NotAssigned):
            services.query_submit(
                assignment=assignment.uuid, writer=writer(row.project), key=uuid4(), entry=ENTRY, now=NOW
            )


def test_time_is_that_of_the_page_and_never_longer_than_since_the_clip_or_the_query_before() -> None:
    """Two of six minutes; then nobody measured the four that passed; then the page says more than one minute."""
    round = open_round(queries_per_clip=5, queries_per_visit=5)
    row = take(round, writer(round.project))
    times = [(120_000, 6), (None, 10), (999_999, 11)]
    queries = [submit(row, active_ms=measured, minutes=at).query for measured, at in times]
    assert [query.active_ms for query in queries] == [120_000, 240_000, 60_000]
    for _ in range(2):  # pressed twice, it counts once
        services.clip_exhaust(assignment=row.uuid, writer=row.writer, active_ms=30_000, now=NOW + timedelta(minutes=13))
    row.refresh_from_db()
    assert (row.empty_ms, row.empty_at) == (30_000, NOW + timedelta(minutes=13))


@pytest.mark.parametrize(("minutes", "time"), [(3, 180_000), (40, None)])
def test_a_clip_that_is_given_back_adds_its_time_while_the_lease_runs(minutes: int, time: int | None) -> None:
    round = open_round()
    row = take(round, writer(round.project))
    services.clip_return(assignment=row.uuid, writer=row.writer, now=NOW + timedelta(minutes=minutes))
    row.refresh_from_db()
    assert (row.state, row.empty_ms) == ("returned", time)
