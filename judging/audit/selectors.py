"""Who decided what, found by person, kind, object, day and words; and under which versions pairs were judged."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import reduce
from heapq import merge
from itertools import islice
from operator import and_
from typing import NamedTuple
from uuid import UUID

from django.contrib.postgres.search import SearchQuery
from django.db import connection
from django.db.models import F, Q, QuerySet, Value

from accounts.models import Project
from annotation.models import CorpusImport
from core.models import AuditEvent, AuditWords
from judging.audit.rules import actions_saying
from judging.models import Judgment, JudgmentImport

CHUNK = 2000
NEARBY = 2_000  # events that are looked through for a common word
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


def audit_page(
    project: Project, sieve: AuditSieve, *, size: int, after: UUID | None = None, before: UUID | None = None
) -> AuditPage:
    """The events behind the one named ``after``, or those just in front of ``before``; from the newest where neither.

    A place in the list is an event, not a number: page 20,000 comes as fast as the first, and new events move nothing.
    """
    named = before or after
    place = AuditEvent.objects.filter(uuid=named).first() if named else None
    sources = _sources(project, sieve)
    if place is None:
        found = _merged(sources, ("-created_at", "-id"), sieve.words, size + 1)
        return AuditPage(found[:size], is_newer=False, is_older=len(found) > size)
    if before:
        found = _merged([some.filter(_newer(place)) for some in sources], ("created_at", "id"), sieve.words, size + 1)
        return AuditPage(found[:size][::-1], is_newer=len(found) > size, is_older=True)
    found = _merged([some.filter(_older(place)) for some in sources], ("-created_at", "-id"), sieve.words, size + 1)
    return AuditPage(found[:size], is_newer=True, is_older=len(found) > size)


def audit_all(project: Project, sieve: AuditSieve) -> Iterator[AuditEvent]:
    """Every event, the newest first, some at a time; what comes meanwhile is not among them."""
    if words := _search(sieve.words):
        found = [_by_words(events, words).iterator(chunk_size=CHUNK) for events in _sources(project, sieve)]
        yield from merge(*found, key=_place, reverse=True)
        return
    page = audit_page(project, sieve, size=CHUNK)
    while True:
        yield from page.events
        if not page.is_older:
            return
        page = audit_page(project, sieve, size=CHUNK, after=page.events[-1].uuid)


def _sources(project: Project, sieve: AuditSieve) -> list[QuerySet[AuditEvent]]:
    """Events of the project; and the few that are older than it, of its corpus and of files that became its rows.

    They are asked apart: together no index would give their order.
    """
    outside = AuditEvent.objects.filter(project__isnull=True, subject__in=_known_before(project))
    return [_sieved(project.audit_events.order_by(), sieve), _sieved(outside.order_by(), sieve)]


def _known_before(project: Project) -> list[UUID]:
    files = CorpusImport.objects.filter(corpus_name=project.dataset.corpus.name, state=CorpusImport.State.DONE)
    exports = JudgmentImport.objects.filter(project=project)
    return [project.dataset.corpus.uuid, *files.values_list("uuid", flat=True), *exports.values_list("uuid", flat=True)]


def _merged(sources: Sequence[QuerySet[AuditEvent]], order: tuple[str, str], words: str, size: int) -> list[AuditEvent]:
    """The first of all in this order."""
    found = [_first(events.order_by(*order), words, size) for events in sources]
    return list(islice(merge(*found, key=_place, reverse=order[0].startswith("-")), size))


def _place(event: AuditEvent) -> tuple[datetime, int]:
    return event.created_at, event.pk


def _sieved(found: QuerySet[AuditEvent], sieve: AuditSieve) -> QuerySet[AuditEvent]:
    """What the sieve lets through, but for its words."""
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
    return found


def _first(events: QuerySet[AuditEvent], words: str, size: int) -> list[AuditEvent]:
    """The first events in their order.

    A common word is found among the nearest events. For a rare one the planner would read them all, as it does not know
    how rare it is, so a word that is not found nearby is looked up in its index.
    """
    asked = _search(words)
    if asked is None:
        return list(events[:size])
    nearby = AuditEvent.objects.filter(pk__in=events.values("pk")[:NEARBY])
    found = list(_worded(nearby, asked).order_by(*events.query.order_by)[:size])
    if len(found) == size:
        return found
    backwards = events.query.order_by[0] == "created_at"
    return list(_by_words(events, asked, backwards=backwards)[:size])


def _by_words(events: QuerySet[AuditEvent], words: Q, *, backwards: bool = False) -> QuerySet[AuditEvent]:
    """By the index of words: the index of times cannot give this order."""
    time = F("created_at") + Value(timedelta(0))
    found = _worded(events, words)
    return found.order_by(time.asc(), "id") if backwards else found.order_by(time.desc(), "-id")


def _worded(events: QuerySet[AuditEvent], words: Q) -> QuerySet[AuditEvent]:
    return events.annotate(words=AuditWords("data")).filter(words)


def _search(words: str) -> Q | None:
    """Events that hold words beginning with each of these, or say them; None where there is none to look for."""
    asked = ["".join(letter for letter in word if letter.isalnum() or letter in "'-") for word in words.split()]
    each = [_holding(word) for word in asked if any(letter.isalnum() for letter in word)]
    return reduce(and_, each) if each else None


def _holding(word: str) -> Q:
    quoted = "'" + word.replace("'", "''") + "':*"
    held = Q(words=SearchQuery(quoted, search_type="raw", config="simple"))
    said = actions_saying(word)
    return held | Q(action__in=said) if said else held


def _older(place: AuditEvent) -> Q:
    return Q(created_at__lte=place.created_at) & (Q(created_at__lt=place.created_at) | Q(id__lt=place.pk))


def _newer(place: AuditEvent) -> Q:
    return Q(created_at__gte=place.created_at) & (Q(created_at__gt=place.created_at) | Q(id__gt=place.pk))


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
