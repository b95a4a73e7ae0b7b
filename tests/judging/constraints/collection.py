"""Rounds of writing, clips in the hands of writers, and what they write."""

from datetime import timedelta
from typing import Any

from judging.models import WriterStop, WritingRoundMember
from tests.factories import (
    NOW,
    ClipAssignmentFactory,
    JudgmentFactory,
    MembershipFactory,
    ProjectFactory,
    QueryCheckFactory,
    UserFactory,
    VideoFactory,
    WritingClipFactory,
    WritingRoundFactory,
    WrittenQueryFactory,
    annotator,
    writer,
)
from tests.judging.constraints.writes import More, Refused, Write, adding, again, change, maker

member = maker(WritingRoundMember, round=WritingRoundFactory, writer=lambda: MembershipFactory(role="writer").user)


def second_open_assignment() -> Write:
    """Of a writer who has a clip of another round of the project."""
    first = ClipAssignmentFactory()
    clip = WritingClipFactory(round=WritingRoundFactory(project=first.project))
    return lambda: ClipAssignmentFactory(clip=clip, writer=first.writer)


def same_clip_again() -> Write:
    first = ClipAssignmentFactory(state="returned", ended_at=NOW)
    return lambda: ClipAssignmentFactory(clip=first.clip, writer=first.writer)


def clip_of_two() -> Write:
    first = ClipAssignmentFactory()
    return lambda: ClipAssignmentFactory(clip=first.clip)


def clip_of_an_annotator() -> Write:
    clip = WritingClipFactory()
    person = annotator(clip.round.project)
    return lambda: ClipAssignmentFactory(clip=clip, writer=person)


def query_of_an_assignment(**values: object) -> Write:
    assignment = ClipAssignmentFactory(**values)
    return lambda: WrittenQueryFactory(assignment=assignment)


def query_of_somebody_else() -> Write:
    assignment = ClipAssignmentFactory()
    other = writer(assignment.project)
    return lambda: WrittenQueryFactory(assignment=assignment, writer=other)


def query_past_its_video() -> Write:
    assignment = ClipAssignmentFactory()
    return lambda: WrittenQueryFactory(assignment=assignment, end_s=90.001)


def query_of_another_type() -> Write:
    assignment = ClipAssignmentFactory(clip__round__share_v=0)
    return lambda: WrittenQueryFactory(assignment=assignment)


def judge_who_writes() -> Write:
    member = JudgmentFactory().annotator.memberships.get()
    return lambda: type(member).objects.filter(pk=member.pk).update(roles=["writer"], number=None, status="")


def check_by_an_annotator() -> Write:
    query = WrittenQueryFactory()
    person = annotator(query.clip.round.project)
    return lambda: QueryCheckFactory(query=query, checker=person)


def check_of_ones_own() -> Write:
    query = WrittenQueryFactory()
    person = query.writer.memberships.get()
    person.roles = ["writer", "checker"]
    person.save()
    return lambda: QueryCheckFactory(query=query, checker=query.writer)


def check_undone_twice() -> Write:
    check = QueryCheckFactory(undone_at=NOW)
    return lambda: type(check).objects.filter(pk=check.pk).update(undone_at=None)


def row_deleted(factory: Any) -> Write:
    row = factory()
    return row.delete


stop = maker(WriterStop, project=ProjectFactory, writer=UserFactory, reason="Too short.")
REFUSED: Refused = {
    "writing_round_name_once_per_project": again(WritingRoundFactory, project=ProjectFactory, name="visual"),
    "writing_round_state_is_known": change(WritingRoundFactory, state="lost"),
    "writing_round_has_a_name": change(WritingRoundFactory, name=""),
    "writing_round_asks_for_a_type": adding(WritingRoundFactory, share_v=0, share_t=0, share_vt=0),
    "writing_round_has_1_to_50_queries_per_clip": adding(WritingRoundFactory, queries_per_clip=2, queries_per_visit=3),
    "writing_round_checks_are_possible": adding(WritingRoundFactory, most_overlap=0),
    "writing_round_member_once": again(
        member, round=WritingRoundFactory, writer=lambda: MembershipFactory(role="writer").user
    ),
    "writing_clip_once_per_round": again(WritingClipFactory, round=WritingRoundFactory, video=VideoFactory),
    "writing_clip_state_is_known": change(WritingClipFactory, state="lost"),
    "clip_assignment_once_per_clip_and_writer": same_clip_again,
    "clip_assignment_open_once_per_clip": clip_of_two,
    "clip_assignment_open_once_per_writer": second_open_assignment,
    "clip_assignment_state_is_known": change(ClipAssignmentFactory, state="lost", ended_at=NOW),
    "clip_assignment_ended_has_its_time": change(ClipAssignmentFactory, state="lapsed"),
    "clip_assignment_types_are_known": change(ClipAssignmentFactory, draft_type="tv"),
    "written_query_has_words": change(WrittenQueryFactory, text=""),
    "written_query_type_is_known": change(WrittenQueryFactory, type="tv"),
    "written_query_starts_before_end": adding(WrittenQueryFactory, end_s=1.5),
    "written_query_accepted_is_described": change(WrittenQueryFactory, state="accepted"),
    "written_query_looked_at_waits": change(WrittenQueryFactory, checker_until=NOW),
    "clip_assignment_empty_time_has_its_day": change(ClipAssignmentFactory, empty_ms=1000),
    "clip_assignment_sent_back_has_queries": change(ClipAssignmentFactory, state="sent_back", ended_at=NOW),
    "query_check_once_per_query": again(QueryCheckFactory, query=WrittenQueryFactory),
    "query_check_decision_is_known": adding(QueryCheckFactory, decision="like"),
    "query_check_says_why": adding(QueryCheckFactory, reason="other"),
    "query_check_starts_before_end": adding(QueryCheckFactory, end_s=1.5),
    "writer_stop_once_at_a_time": again(stop, project=ProjectFactory, writer=UserFactory),
    "writer_stop_says_why": adding(stop, reason=""),
}
MORE: More = {
    "writing_round_asks_for_a_type": {"a share is of a hundred": adding(WritingRoundFactory, share_v=101)},
    "writing_round_has_1_to_50_queries_per_clip": {
        "a clip has at most 50 queries": adding(WritingRoundFactory, queries_per_clip=51)
    },
    "written_query_starts_before_end": {"no moment starts before its video": adding(WrittenQueryFactory, start_s=-1)},
    "written_query_looked_at_waits": {
        "whoever looks at a query does so until a time": change(WrittenQueryFactory, checker=UserFactory)
    },
    "query_check_says_why": {
        "who moves bounds says why": adding(QueryCheckFactory, decision="correct", reason=""),
        "who accepts has no reason": adding(QueryCheckFactory, decision="accept"),
    },
    "query_check_starts_before_end": {
        "no checker moves a start before its video": adding(QueryCheckFactory, start_s=-1)
    },
    "rows of judging_writtenquery are kept": {
        "words stay as they were submitted": change(WrittenQueryFactory, text="Another one."),
        "the time of a query stays": change(WrittenQueryFactory, active_ms=1),
        "a written query stays": lambda: row_deleted(WrittenQueryFactory),
    },
    "rows of judging_querycheck are kept": {
        "a decision stays": change(QueryCheckFactory, reason="bounds"),
        "the time of a check stays": change(QueryCheckFactory, active_ms=1),
        "what was taken back stays so": check_undone_twice,
        "the record of a decision stays": lambda: row_deleted(QueryCheckFactory),
    },
    "does not check query": {"annotators check nothing": check_by_an_annotator},
    "nobody checks their own query": {"writers do not check themselves": check_of_ones_own},
    "the moment ends after its video": {"bounds are moved within the video": adding(QueryCheckFactory, end_s=90.001)},
    "keeps its rules": {"a round keeps what it asks for": change(WritingRoundFactory, share_t=0)},
    "does not write in project": {"annotators get no clip": clip_of_an_annotator},
    "has not got clip": {
        "the time to write ends": lambda: query_of_an_assignment(state="lapsed", ended_at=NOW + timedelta(1)),
        "nobody writes for somebody else": query_of_somebody_else,
    },
    "ends after its video": {"a moment ends with its video": query_past_its_video},
    "asks for no query of type": {"a round asks for its types alone": query_of_another_type},
    "has its queries": {
        "a clip takes no more queries than it needs": lambda: query_of_an_assignment(clip__n_queries=5),
        "a writer writes no more than their share": lambda: query_of_an_assignment(n_queries=1),
    },
    "has grades in project": {"who has judged becomes no writer": judge_who_writes},
}
TRIGGERS = {"writing_round_keeps_its_rules", "clip_assignment_is_of_a_writer", "written_query_fits_its_round"}
TRIGGERS |= {"written_query_is_kept", "written_query_is_not_deleted", "query_check_is_of_a_checker"}
TRIGGERS |= {"query_check_is_kept", "query_check_is_not_deleted"}
