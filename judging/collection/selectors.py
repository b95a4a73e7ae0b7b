"""Reads of rounds: what a writer may take, what they have and wrote, and how far a round is."""

from collections import Counter
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from django.db.models import Count, Exists, OuterRef, Prefetch, Q, QuerySet

from accounts.models import Membership, Project, User
from annotation.corpora.models import PlaybackState
from annotation.models import Subtitle, Video
from core import clock
from core.sql import row_first
from judging.collection.rules import TYPE_LABELS, Line
from judging.models import ClipAssignment, QueryCheck, WriterStop, WritingClip, WritingRound, WrittenQuery

State = ClipAssignment.State
IS_IN_FORCE = Q(state__in=[WrittenQuery.State.WAITING, WrittenQuery.State.ACCEPTED])
BY_DECISION = {
    "accepted": Count("pk", filter=Q(state=WrittenQuery.State.ACCEPTED)),
    "rejected": Count("pk", filter=~IS_IN_FORCE),
}
GONE = "somebody who has left"
NO_QUERIES = {"queries": 0, "accepted": 0, "rejected": 0}
QUERIES_IN_FORCE = WrittenQuery.objects.filter(IS_IN_FORCE)
# Nobody else is passed over twice: a clip that somebody is just taking is skipped.
TO_BE_TAKEN = """
WHERE round_id = %s AND state = 'open' AND NOT EXISTS (
    SELECT FROM judging_clipassignment other WHERE other.clip_id = judging_writingclip.id
    AND (other.state = 'open' OR (other.writer_id = %s AND other.state <> 'lapsed')))
ORDER BY EXISTS (SELECT FROM judging_clipassignment own WHERE own.clip_id = judging_writingclip.id
    AND own.writer_id = %s) DESC, n_queries DESC, id
LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED"""


CHECKS = Prefetch("checks", QueryCheck.objects.filter(undone_at=None), to_attr="check_in_force")


def writers_of(project: Project) -> QuerySet[Membership]:
    """Return the members of a project who write, by user name."""
    rows = project.memberships.filter(roles__contains=[Membership.Role.WRITER], user__is_active=True)
    return rows.select_related("user").order_by("user__username")


def videos_missing(round: WritingRound) -> QuerySet[Video]:
    """Return the playable videos of the corpus that the round has not got; with subtitles where it asks for these."""
    playable = (PlaybackState.NOT_NEEDED, PlaybackState.READY)
    videos = Video.objects.filter(corpus=round.project.dataset.corpus_id, playback_state__in=playable).exclude(file="")
    if not round.share_v:
        videos = videos.filter(Exists(Subtitle.objects.filter(video=OuterRef("pk"))))
    return videos.exclude(Exists(WritingClip.objects.filter(round=round, video=OuterRef("pk"))))


def clip_to_be_taken(*, round_id: int, writer_id: int) -> WritingClip | None:
    """Return the clip whose turn it is for a writer, locked; None where there is none that nobody is just taking."""
    return row_first(WritingClip, TO_BE_TAKEN, round_id, writer_id, writer_id)


def clips_left(round: WritingRound, writer: User) -> QuerySet[WritingClip]:
    """Return the clips that nobody has and the writer may take."""
    rows = ClipAssignment.objects.filter(clip=OuterRef("pk"))
    others = rows.filter(Q(state=State.OPEN) | (Q(writer=writer) & ~Q(state=State.LAPSED)))
    return WritingClip.objects.filter(round=round, state=WritingClip.State.OPEN).exclude(Exists(others))


def lines_of(video: Video) -> list[Line]:
    """Return the subtitles of a video in the order of time."""
    rows = Subtitle.objects.filter(video=video).order_by("start_s", "pk")
    return [Line(*row) for row in rows.values_list("start_s", "end_s", "text")]


def open_assignment(*, project_id: int, writer: User) -> ClipAssignment | None:
    """Return what the writer has open in a project, with its clip, round and video."""
    rows = ClipAssignment.objects.filter(project=project_id, writer=writer, state=State.OPEN)
    return rows.select_related("clip__round", "clip__video").first()


def assignment_at_hand(project: Project, writer: User) -> ClipAssignment | None:
    """Return what the writer has open in a project, unless its lease has run out."""
    row = open_assignment(project_id=project.pk, writer=writer)
    return row if row and row.expires_at > clock.now() else None


def file_version(video: Video) -> str:
    """Name the file that a video has now; another file has another name."""
    return PurePath(str(video.file.name)).stem


def round_refusal(round: WritingRound, writer: User) -> str:
    """Say why a writer gets no clip of a round; empty where they may have one."""
    row = WritingRound.objects.filter(pk=round.pk).values_list("state", flat=True).first()
    if row != WritingRound.State.OPEN:
        return f"The round {round.name!r} is {row}: no clip is handed out."
    if not rounds_for(round.project, writer).filter(pk=round.pk).exists():
        return f"You do not take part in the round {round.name!r}."
    if stop := stop_of(round.project, writer):
        return f"You get no more clips until your lead says so. {stop.reason}"
    return ""


def stop_of(project: Project, writer: User) -> WriterStop | None:
    """Return why a writer gets no clips; None where they get some."""
    return WriterStop.objects.filter(project=project, writer=writer, ended_at=None).first()


def stops_of(project: Project) -> dict[int, WriterStop]:
    """Return which writers get no clips, by their key, and why."""
    return {row.writer_id: row for row in WriterStop.objects.filter(project=project, ended_at=None)}


def sent_back_of(project: Project, writer: User) -> QuerySet[ClipAssignment]:
    """Return the clips for which a writer may write a rejected query anew, oldest first."""
    rows = ClipAssignment.objects.filter(project=project, writer=writer, state=State.SENT_BACK)
    rows = rows.exclude(clip__state=WritingClip.State.RETIRED)
    return rows.select_related("clip__video", "clip__round").order_by("ended_at", "pk")


def sent_back_to_take(round: WritingRound, writer: User) -> ClipAssignment | None:
    """Return the oldest of these of a round that nobody else writes for just now, with its clip, both locked."""
    others = ClipAssignment.objects.filter(clip=OuterRef("clip"), state=State.OPEN)
    rows = sent_back_of(round.project, writer).filter(~Exists(others), clip__round=round)
    return rows.select_for_update(of=("self", "clip"), no_key=True).first()


def rejections_of(assignment: ClipAssignment) -> list[tuple[WrittenQuery, str]]:
    """Return the rejected queries of an assignment, each with the reason, newest first."""
    states = (WrittenQuery.State.SENT_BACK, WrittenQuery.State.REJECTED)
    rows = QueryCheck.objects.filter(query__assignment=assignment, query__state__in=states, undone_at=None)
    return [(row.query, row.why) for row in rows.select_related("query").order_by("-pk")]


def rounds_for(project: Project, writer: User) -> QuerySet[WritingRound]:
    """Return the rounds that a writer takes part in and that are not closed, oldest first."""
    rounds = project.writing_rounds.exclude(state=WritingRound.State.CLOSED)
    mine = rounds.filter(Q(members__isnull=True) | Q(members__writer=writer))
    return mine.distinct().order_by("pk")


def type_totals(round_id: int) -> Counter[str]:
    """Count by type the queries of a round that are written and not rejected, and those that are being written."""
    counts: Counter[str] = Counter()
    queries = QUERIES_IN_FORCE.filter(clip__round=round_id).order_by().values_list("type")
    drafts = ClipAssignment.objects.filter(clip__round=round_id, state=State.OPEN).order_by()
    for type_, n in queries.annotate(n=Count("pk")).union(
        drafts.values_list("type_requested").annotate(n=Count("pk")), all=True
    ):
        counts[type_] += n
    return counts


def own_queries(project: Project, writer: User) -> QuerySet[WrittenQuery]:
    """Return what a writer wrote in a project, newest first, each with its check."""
    rows = WrittenQuery.objects.filter(writer=writer, clip__round__project=project)
    return rows.select_related("clip__video", "clip__round", "assignment").prefetch_related(CHECKS).order_by("-pk")


def drafts_of(project: Project, writer: User) -> QuerySet[ClipAssignment]:
    """Return the drafts that a writer kept when their time ran out, of clips that still take queries."""
    lapsed = Q(state=State.LAPSED) | Q(state=State.OPEN, expires_at__lte=clock.now())
    rows = ClipAssignment.objects.filter(lapsed, project=project, writer=writer)
    rows = rows.filter(clip__state=WritingClip.State.OPEN).exclude(draft_text="", draft_start_s=None, draft_end_s=None)
    return rows.select_related("clip__video", "clip__round").order_by("pk")


def queries_of(
    project: Project, *, round: WritingRound | None = None, type_: str = "", state: str = ""
) -> QuerySet[WrittenQuery]:
    """Return what all writers wrote in a project or in one round of it, newest first, each with its check."""
    rows = WrittenQuery.objects.filter(clip__round__project=project)
    rows = rows.filter(clip__round=round) if round else rows
    rows = rows.filter(type=type_) if type_ else rows
    rows = rows.filter(state=state) if state else rows
    return rows.select_related("clip__video", "clip__round", "assignment").prefetch_related(CHECKS).order_by("-pk")


@dataclass(frozen=True)
class TypeCount:
    """How many queries of a type there are, and which share of all it is and shall be, in percent."""

    label: str
    n: int
    percent: float
    share: float


def type_counts(round: WritingRound) -> list[TypeCount]:
    """Return the count of each type that the round asks for, beside its share."""
    rows = QUERIES_IN_FORCE.filter(clip__round=round).order_by().values_list("type")
    counts = dict(rows.annotate(n=Count("pk")))
    n, total = sum(counts.values()), sum(round.shares.values())
    return [
        TypeCount(TYPE_LABELS[type_], counts.get(type_, 0), 100 * counts.get(type_, 0) / (n or 1), 100 * share / total)
        for type_, share in round.shares.items()
        if share
    ]


def clip_counts(round: WritingRound) -> dict[str, int]:
    """Count the clips of a round by state, those in somebody's hands, and the queries there are."""
    running = ClipAssignment.objects.filter(state=State.OPEN, expires_at__gt=clock.now())
    is_taken = Exists(running.filter(clip=OuterRef("pk")))
    counts: dict[str, Any] = round.clips.aggregate(
        clips=Count("pk"),
        complete=Count("pk", filter=Q(state=WritingClip.State.DONE)),
        exhausted=Count("pk", filter=Q(state=WritingClip.State.EXHAUSTED)),
        in_hand=Count("pk", filter=Q(is_taken)),
        retired=Count("pk", filter=Q(state=WritingClip.State.RETIRED)),
    )
    states = WrittenQuery.objects.filter(clip__round=round).aggregate(
        queries=Count("pk", filter=IS_IN_FORCE),
        waiting=Count("pk", filter=Q(state=WrittenQuery.State.WAITING)),
        **BY_DECISION,
    )
    counts |= states
    counts["target"] = (counts["clips"] - counts["retired"]) * round.queries_per_clip
    return counts


def writer_counts(round: WritingRound) -> list[dict[str, Any]]:
    """Return for each writer of a round how many clips they had and gave back, and the queries they wrote."""
    assignments = ClipAssignment.objects.filter(clip__round=round).order_by()
    table = assignments.values("writer").annotate(
        clips=Count("pk"),
        returned=Count("pk", filter=Q(state=State.RETURNED)),
        exhausted=Count("pk", filter=Q(state=State.EXHAUSTED)),
        lapsed=Count("pk", filter=Q(state=State.LAPSED)),
    )
    queries = WrittenQuery.objects.filter(clip__round=round).order_by().values("writer")
    by_writer: dict[int, dict[str, Any]] = {
        row["writer"]: dict(row) for row in queries.annotate(queries=Count("pk"), **BY_DECISION)
    }
    rows = [{**row, **by_writer.get(row["writer"], NO_QUERIES)} for row in table]
    return sorted(rows, key=lambda row: (-row["queries"], row["writer"]))


def rounds_with_counts(project: Project) -> list[tuple[WritingRound, dict[str, int]]]:
    """Return the rounds of a project, newest first, each with its counts."""
    return [(row, clip_counts(row)) for row in project.writing_rounds.all()]
