"""Who decided what, found by person, kind, object, day and words; and under which versions pairs were judged."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from functools import reduce
from heapq import merge
from itertools import islice
from operator import and_, attrgetter
from typing import Any, NamedTuple
from uuid import UUID

from django.contrib.postgres.search import SearchQuery
from django.db.models import F, Q, QuerySet, Value

from accounts.models import Project
from annotation.models import CorpusImport
from core.models import AuditEvent, AuditWords
from core.sql import sql_named
from judging.audit.rules import actions_saying
from judging.models import Judgment, JudgmentImport

CHUNK = 2000
POSITION = attrgetter("created_at", "pk")  # of an event in the list
NEARBY = 2_000  # events that are looked through for a common word
VERSIONS = """
SELECT guideline_version AS guideline, policy_version AS policy, sum(judgments)::bigint AS judgments,
    count(*)::bigint AS pairs, min(first_at) AS first_at, max(last_at) AS last_at
FROM (
    SELECT g.version AS guideline_version, p.version AS policy_version, j.pair_id, count(*) AS judgments,
        min(j.created_at) AS first_at, max(j.created_at) AS last_at
    FROM judging_judgment j
    JOIN judging_pair pair ON pair.id = j.pair_id
    JOIN judging_batch b ON b.id = pair.batch_id
    LEFT JOIN judging_guideline g ON g.id = j.guideline_id
    LEFT JOIN judging_policy p ON p.id = j.policy_id
    WHERE b.project_id = %(project)s
    GROUP BY g.version, p.version, j.pair_id
) of_pairs
GROUP BY guideline_version, policy_version
ORDER BY guideline_version NULLS FIRST, policy_version NULLS FIRST"""


class AuditPage(NamedTuple):
    """Some events, the newest first, and whether there are newer and older ones."""

    events: list[AuditEvent]
    is_newer: bool
    is_older: bool


def audit_page(
    project: Project,
    conditions: Mapping[str, Any],
    words: str = "",
    *,
    size: int,
    after: UUID | None = None,
    before: UUID | None = None,
) -> AuditPage:
    """The events behind the one named ``after``, or those just in front of ``before``; from the newest where neither. A
    place in the list is an event, not a number: page 20,000 comes as fast as the first, and new events move nothing.

    Args:
        conditions: what QuerySet.filter takes.
        words: that the events hold, or say.
    """
    event_uuid = before or after
    event = AuditEvent.objects.filter(uuid=event_uuid).first() if event_uuid else None
    sources = _sources(project, conditions)
    if event:
        side = "gt" if before else "lt"
        at_or_beyond = Q(**{f"created_at__{side}e": event.created_at})
        beyond = at_or_beyond & (Q(**{f"created_at__{side}": event.created_at}) | Q(**{f"id__{side}": event.pk}))
        sources = [some.filter(beyond) for some in sources]
    if event and before:
        events = _merged(sources, ("created_at", "id"), words, size + 1)
        return AuditPage(events[:size][::-1], is_newer=len(events) > size, is_older=True)
    events = _merged(sources, ("-created_at", "-id"), words, size + 1)
    return AuditPage(events[:size], is_newer=event is not None, is_older=len(events) > size)


def audit_all(project: Project, conditions: Mapping[str, Any], words: str = "") -> Iterator[AuditEvent]:
    """Every event, the newest first, some at a time; what comes meanwhile is not among them."""
    if search := _search(words):
        sources = [_by_words(events, search).iterator(chunk_size=CHUNK) for events in _sources(project, conditions)]
        yield from merge(*sources, key=POSITION, reverse=True)
        return
    page = audit_page(project, conditions, size=CHUNK)
    while True:
        yield from page.events
        if not page.is_older:
            return
        page = audit_page(project, conditions, size=CHUNK, after=page.events[-1].uuid)


def _sources(project: Project, conditions: Mapping[str, Any]) -> list[QuerySet[AuditEvent]]:
    """Events of the project; and the few that are older than it, of its corpus and of files that became its rows. They
    are asked apart: together no index would give their order."""
    corpus = project.dataset.corpus
    files = CorpusImport.objects.filter(corpus_name=corpus.name, state=CorpusImport.State.DONE)
    exports = JudgmentImport.objects.filter(project=project)
    older = [corpus.uuid, *files.values_list("uuid", flat=True), *exports.values_list("uuid", flat=True)]
    outside = AuditEvent.objects.filter(project__isnull=True, subject__in=older)
    return [events.order_by().filter(**conditions) for events in (project.audit_events, outside)]


def _merged(sources: Sequence[QuerySet[AuditEvent]], order: tuple[str, str], words: str, size: int) -> list[AuditEvent]:
    """The first of all in this order."""
    firsts = [_first(events.order_by(*order), words, size) for events in sources]
    return list(islice(merge(*firsts, key=POSITION, reverse=order[0].startswith("-")), size))


def _first(events: QuerySet[AuditEvent], words: str, size: int) -> list[AuditEvent]:
    """The first events in their order.

    A common word is found among the nearest events. For a rare one the planner would read them all, as it does not know
    how rare it is, so a word that is not found nearby is looked up in its index.
    """
    condition = _search(words)
    if condition is None:
        return list(events[:size])
    nearby = AuditEvent.objects.filter(pk__in=events.values("pk")[:NEARBY])
    matches = list(_worded(nearby, condition).order_by(*events.query.order_by)[:size])
    if len(matches) == size:
        return matches
    backwards = events.query.order_by[0] == "created_at"
    return list(_by_words(events, condition, backwards=backwards)[:size])


def _by_words(events: QuerySet[AuditEvent], words: Q, *, backwards: bool = False) -> QuerySet[AuditEvent]:
    """By the index of words: the index of times cannot give this order."""
    time = F("created_at") + Value(timedelta(0))
    matches = _worded(events, words)
    return matches.order_by(time.asc(), "id") if backwards else matches.order_by(time.desc(), "-id")


def _worded(events: QuerySet[AuditEvent], words: Q) -> QuerySet[AuditEvent]:
    return events.annotate(words=AuditWords("data")).filter(words)


def _search(words: str) -> Q | None:
    """Events that hold words beginning with each of these, or say them; None where there is none to look for."""
    plain = ["".join(letter for letter in word if letter.isalnum() or letter in "'-") for word in words.split()]
    conditions = [_holding(word) for word in plain if any(letter.isalnum() for letter in word)]
    return reduce(and_, conditions) if conditions else None


def _holding(word: str) -> Q:
    quoted = "'" + word.replace("'", "''") + "':*"
    in_data = Q(words=SearchQuery(quoted, search_type="raw", config="simple"))
    actions = actions_saying(word)
    return in_data | Q(action__in=actions) if actions else in_data


def judged_under(project: Project) -> list[Any]:
    """Rows of VERSIONS: judgments and pairs by guideline and policy version, None for imported judgments; a pair counts
    under each that it was judged by."""
    return sql_named(VERSIONS, {"project": project.pk})


def judgments_under(project: Project, versions: Any) -> QuerySet[Judgment]:
    """The judgments given under these versions, by query, rank, round and slot; imported ones had none."""
    of_guideline = Q(guideline__version=versions.guideline) if versions.guideline else Q(guideline__isnull=True)
    of_policy = Q(policy__version=versions.policy) if versions.policy else Q(policy__isnull=True)
    rows = Judgment.objects.filter(of_guideline, of_policy, pair__batch__project=project)
    return rows.select_related("pair__batch__query", "pair__candidate", "guideline", "policy").order_by(
        "pair__batch__query__number", "pair__batch__number", "pair__candidate__rank", "round", "slot", "id"
    )
