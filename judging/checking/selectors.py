"""Reads for checkers: which query is next, what else describes its video, and which queries it resembles."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.db.models import Q, QuerySet

from accounts.models import Project, User
from annotation.models import Description
from judging.checking.rules import alike, share_of_words, word_set
from judging.collection.rules import TYPE_LABELS
from judging.collection.selectors import QUERIES_IN_FORCE
from judging.models import QueryCheck, WriterStop, WritingClip, WrittenQuery

State = WrittenQuery.State
NEIGHBOURS_SHOWN = 20
COMPARED = 20_000  # the newest queries that one is compared with


def _waiting(project: Project) -> QuerySet[WrittenQuery]:
    rows = WrittenQuery.objects.filter(clip__round__project=project, state=State.WAITING)
    return rows.exclude(clip__state=WritingClip.State.RETIRED)


def _waiting_locked(project: Project) -> QuerySet[WrittenQuery]:
    rows = _waiting(project).select_related("clip__video", "clip__round__project", "assignment")
    return rows.select_for_update(of=("self",), no_key=True, skip_locked=True).order_by("pk")


def query_at_hand(project: Project, checker: User, *, now: datetime) -> WrittenQuery | None:
    """Return the query that a checker looks at, locked."""
    return _waiting_locked(project).filter(checker=checker, checker_until__gt=now).first()


def query_to_check(project: Project, checker: User, *, now: datetime) -> WrittenQuery | None:
    """Return the oldest query that nobody looks at and somebody else wrote, locked."""
    is_free = Q(checker=None) | Q(checker_until__lte=now)
    return _waiting_locked(project).filter(is_free).exclude(writer=checker).first()


def waiting_for(project: Project, checker: User) -> int:
    """Count the queries that a checker may check."""
    return _waiting(project).exclude(writer=checker).count()


class Neighbour(NamedTuple):
    """Another text about a moment of the same video, in seconds, and the share of words that it has in common."""

    text: str
    type: str
    start_s: float
    end_s: float
    share: float

    @property
    def percent(self) -> int:
        return round(100 * self.share)


def neighbours_of(query: WrittenQuery) -> list[Neighbour]:
    """Return what else describes the video, the most alike first: descriptions and queries that wait."""
    video, words = query.clip.video_id, word_set(query.text)
    descriptions = Description.objects.filter(moment__video=video).select_related("moment")
    waiting = WrittenQuery.objects.filter(clip__video=video, state=State.WAITING).exclude(pk=query.pk)
    waiting = waiting.filter(clip__round__project=query.clip.round.project_id)
    rows = [
        *((row.text, row.get_kind_display(), row.moment.start_s, row.moment.end_s) for row in descriptions),
        *((row.text, row.get_type_display(), row.start_s, row.end_s) for row in waiting),
    ]
    neighbours = [Neighbour(*row, share_of_words(words, word_set(row[0]))) for row in rows]
    return sorted(neighbours, key=lambda row: (-row.share, row.start_s, row.text))[:NEIGHBOURS_SHOWN]


@dataclass(frozen=True)
class Double:
    """A query of another video that resembles one."""

    query: WrittenQuery
    share: float

    @property
    def percent(self) -> int:
        return round(100 * self.share)

    @property
    def type(self) -> str:
        return TYPE_LABELS[self.query.type]


def doubles_of(query: WrittenQuery) -> list[Double]:
    """Return queries of other videos that resemble one, of whichever writer, the most alike first."""
    rows = QUERIES_IN_FORCE.filter(clip__round__project=query.clip.round.project_id).exclude(
        clip__video=query.clip.video_id
    )
    texts = dict(rows.order_by("-pk").values_list("pk", "text")[:COMPARED])
    shares = {row.key: row.share for row in alike(query.text, texts)}
    doubles = rows.filter(pk__in=shares).select_related("clip__video")
    return sorted((Double(row, shares[row.pk]) for row in doubles), key=lambda row: (-row.share, row.query.pk))


def checks_by(project: Project, checker: User) -> QuerySet[QueryCheck]:
    """Return what a checker decided in a project, newest first."""
    rows = QueryCheck.objects.filter(checker=checker, query__clip__round__project=project)
    return rows.select_related("query__clip__video", "query__assignment").order_by("-pk")


def decisions_about(project: Project, writer: User) -> list[bool]:
    """Return whether each checked query of a writer was accepted, since they were last let go on."""
    rows = QueryCheck.objects.filter(query__writer=writer, query__clip__round__project=project, undone_at=None)
    last = (
        WriterStop.objects.filter(project=project, writer=writer, ended_at__isnull=False).order_by("-ended_at").first()
    )
    rows = rows.filter(created_at__gt=last.ended_at) if last else rows
    return [decision != QueryCheck.Decision.REJECT for decision in rows.values_list("decision", flat=True)]
