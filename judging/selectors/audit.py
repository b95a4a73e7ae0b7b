"""Who decided what, found by person, kind, object, day and words; and under which versions pairs were judged."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.contrib.postgres.search import SearchQuery
from django.db import connection
from django.db.models import Q, QuerySet

from annotation.models import AuditEvent, Project
from annotation.models.audit import AuditWords
from judging.models import Judgment

CHUNK = 2000
VERSIONS = """
SELECT guideline_version, policy_version, sum(judgments)::bigint, count(*)::bigint, min(first_at), max(last_at)
FROM (
    SELECT g.version AS guideline_version, p.version AS policy_version, j.pair_id, count(*) AS judgments,
        min(j.created_at) AS first_at, max(j.created_at) AS last_at
    FROM judging_judgment j
    JOIN judging_pair pair ON pair.id = j.pair_id
    JOIN judging_batch b ON b.id = pair.batch_id
    LEFT JOIN judging_guideline g ON g.id = j.guideline_id
    LEFT JOIN judging_policy p ON p.id = j.policy_id
    WHERE b.project_id = %s
    GROUP BY g.version, p.version, j.pair_id
) of_pairs
GROUP BY guideline_version, policy_version
ORDER BY guideline_version NULLS FIRST, policy_version NULLS FIRST"""


class AuditSieve(NamedTuple):
    """Which events are shown; what is empty or None leaves none out."""

    actor: UUID | None = None
    by_system: bool = False
    actions: Sequence[str] = ()
    subject: UUID | None = None
    since: datetime | None = None
    before: datetime | None = None
    words: str = ""


class AuditPage(NamedTuple):
    """Some events, the newest first, and whether there are newer and older ones."""

    events: list[AuditEvent]
    is_newer: bool
    is_older: bool


class Versions(NamedTuple):
    """What was judged under a version of the guideline and one of the policy; None for imported judgments."""

    guideline: int | None
    policy: int | None
    judgments: int
    pairs: int
    first_at: datetime
    last_at: datetime


def audit_events(project: Project, sieve: AuditSieve) -> QuerySet[AuditEvent]:
    """Events of a project, the newest first."""
    found = project.audit_events.order_by("-created_at", "-id")
    if sieve.by_system:
        found = found.filter(actor__isnull=True)
    elif sieve.actor:
        found = found.filter(actor__uuid=sieve.actor)
    if sieve.actions:
        found = found.filter(action__in=sieve.actions)
    if sieve.subject:
        found = found.filter(subject=sieve.subject)
    if sieve.since:
        found = found.filter(created_at__gte=sieve.since)
    if sieve.before:
        found = found.filter(created_at__lt=sieve.before)
    if words := _search(sieve.words):
        found = found.annotate(words=AuditWords("data")).filter(words=words)
    return found


def _search(words: str) -> SearchQuery | None:
    """Events that hold words beginning with each of these; None where there is none to look for."""
    asked = ["".join(letter for letter in word if letter.isalnum() or letter in "'-") for word in words.split()]
    quoted = ["'" + word.replace("'", "''") + "':*" for word in asked if any(letter.isalnum() for letter in word)]
    return SearchQuery(" & ".join(quoted), search_type="raw", config="simple") if quoted else None


def audit_page(
    events: QuerySet[AuditEvent], *, size: int, after: UUID | None = None, until: UUID | None = None
) -> AuditPage:
    """The events behind the one named ``after``, or those just in front of ``until``; from the newest where neither.

    A place in the list is an event, not a number: page 20,000 comes as fast as the first, and new events move nothing.
    """
    named = until or after
    place = AuditEvent.objects.filter(uuid=named).first() if named else None
    if place is None:
        found = list(events[: size + 1])
        return AuditPage(found[:size], is_newer=False, is_older=len(found) > size)
    if until:
        found = list(events.filter(_newer(place)).order_by("created_at", "id")[: size + 1])
        return AuditPage(found[:size][::-1], is_newer=len(found) > size, is_older=True)
    found = list(events.filter(_older(place))[: size + 1])
    return AuditPage(found[:size], is_newer=True, is_older=len(found) > size)


def _older(place: AuditEvent) -> Q:
    return Q(created_at__lte=place.created_at) & (Q(created_at__lt=place.created_at) | Q(id__lt=place.pk))


def _newer(place: AuditEvent) -> Q:
    return Q(created_at__gte=place.created_at) & (Q(created_at__gt=place.created_at) | Q(id__gt=place.pk))


def audit_all(events: QuerySet[AuditEvent]) -> Iterator[AuditEvent]:
    """Every event, some at a time; what comes meanwhile is not among them."""
    page = audit_page(events, size=CHUNK)
    while True:
        yield from page.events
        if not page.is_older:
            return
        page = audit_page(events, size=CHUNK, after=page.events[-1].uuid)


def judged_under(project: Project) -> list[Versions]:
    """Judgments and pairs by guideline and policy version; a pair counts under each that it was judged by."""
    with connection.cursor() as cursor:
        cursor.execute(VERSIONS, [project.pk])
        return [Versions(*row) for row in cursor.fetchall()]


def judgments_under(project: Project, *, guideline: int | None, policy: int | None) -> QuerySet[Judgment]:
    """The judgments given under these versions, by query, rank, round and seat; imported ones had none."""
    given = Judgment.objects.filter(pair__batch__project=project)
    given = given.filter(guideline__version=guideline) if guideline else given.filter(guideline__isnull=True)
    given = given.filter(policy__version=policy) if policy else given.filter(policy__isnull=True)
    return given.select_related("pair__batch__query", "pair__candidate", "guideline", "policy").order_by(
        "pair__batch__query__number", "pair__batch__number", "pair__candidate__rank", "round", "seat", "id"
    )
