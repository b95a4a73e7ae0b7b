"""Selectors for leads and tasks: grades of a batch, the queue of first batches, what is suggested and what follows."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Count, Exists, F, Func, IntegerField, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.timesince import timesince

from accounts.models import Project, User
from annotation.models import Candidate, Moment, Query
from annotation.queries.selectors import queries_to_judge
from core.models import AuditEvent, Job
from core.sql import sql_rows
from judging.models import Assignment, Batch, BatchReview, Flag, Judgment, Pair, Policy
from judging.pay.rules import Forecast, Part
from judging.pay.selectors import expected_of
from judging.people.selectors import actor_names
from judging.review.rules import Suggestion, suggest


def annotator_numbers(project: Project) -> dict[int, int]:
    """Account to annotator number: all that judging data may say about a person."""
    rows = project.memberships.filter(number__isnull=False).values_list("user", "number")
    return {user: number for user, number in rows if number is not None}


def rows_of(batches: Sequence[Batch]) -> dict[int, list[dict[str, Any]]]:
    """The pairs of batches of one project by rank with their grades by annotator number, for the lead; in as many
    statements for many as for one."""
    rows: dict[int, list[dict[str, Any]]] = {batch.pk: [] for batch in batches}
    if not batches:
        return rows
    pairs = Pair.objects.filter(batch__in=rows).select_related("candidate__moment__video")
    sorted_pairs = list(pairs.order_by("candidate__rank"))
    numbers = annotator_numbers(batches[0].project)
    judgments = Judgment.objects.filter(pair__batch__in=rows)
    grades, comments = final_grades(judgments, numbers), _comments_of(rows, numbers)
    withdrawals = last_withdrawals(sorted_pairs)
    for pair in sorted_pairs:
        why = withdrawals[pair.uuid].data["reason"] if pair.uuid in withdrawals else ""
        row = {"pair": pair, "grades": grades[pair.pk], "comments": comments[pair.pk], "why": why}
        rows[pair.batch_id].append(row)
    return rows


def final_grades(
    judgments: QuerySet[Judgment], numbers: dict[int, int]
) -> dict[int, list[tuple[int | None, int, int]]]:
    """Those that may change no more by pair: annotator number, grade, round."""
    grades: dict[int, list[tuple[int | None, int, int]]] = defaultdict(list)
    final = judgments.exclude(assignment__state=Assignment.State.OPEN).order_by("round", "slot")
    for pair, annotator, grade, number in final.values_list("pair", "annotator", "grade", "round"):
        grades[pair].append((numbers.get(annotator), grade, number))
    return grades


def last_withdrawals(pairs: Sequence[Pair]) -> dict[UUID, AuditEvent]:
    """The event of a lead's withdrawal by pair, where the pair is withdrawn; its data hold the reason."""
    withdrawn = [pair.uuid for pair in pairs if pair.state == Pair.State.WITHDRAWN]
    if not withdrawn:
        return {}
    events = AuditEvent.objects.filter(action="pair.withdraw", subject__in=withdrawn).order_by("id")
    return {event.subject: event for event in events if event.subject is not None}


def _comments_of(batch_ids: Iterable[int], numbers: dict[int, int]) -> dict[int, list[tuple[int | None, str, str]]]:
    """Flags and comments by pair: annotator number, reason of the flag or nothing, words."""
    comments: dict[int, list[tuple[int | None, str, str]]] = defaultdict(list)
    for flag in Flag.objects.filter(pair__batch__in=batch_ids, withdrawn_at__isnull=True).order_by("id"):
        comments[flag.pair_id].append((numbers.get(flag.annotator_id), flag.get_reason_display(), flag.comment))
    judgments = Judgment.objects.filter(pair__batch__in=batch_ids).exclude(assignment__state=Assignment.State.OPEN)
    rows = judgments.exclude(comment="").order_by("id").values_list("pair", "annotator", "comment")
    for pair, annotator, comment in rows:
        comments[pair].append((numbers.get(annotator), "", comment))
    return comments


def job_failed(project: Project, kind: str) -> Job | None:
    """The last job of this kind where it failed."""
    last = project.jobs.filter(kind=kind).order_by("-id").first()
    return last if last and last.state == Job.State.FAILED else None


def queries_unfrozen(project: Project) -> QuerySet[Query]:
    """Queries whose candidates may still be ranked anew: no batch holds any."""
    ranked = Candidate.objects.filter(query=OuterRef("pk"))
    begun = Batch.objects.filter(query=OuterRef("pk"))
    return queries_to_judge(project.pk).filter(Exists(ranked), ~Exists(begun))


def job_running(project: Project) -> Job | None:
    """Long work that somebody may be waiting for."""
    return project.jobs.filter(state=Job.State.RUNNING).order_by("id").first()


def demo_job(project: Project) -> Job | None:
    """Work that prepares the demo, for those who see no other work of the project; None in other projects."""
    return job_running(project) if project.is_demo else None


LOOKED_AT = 2000  # waiting batches, the oldest, when many are accepted together
LATEST = 100  # finished assignments that say how long a judgment takes
LATELY = """
SELECT (SELECT avg(least(given.active_ms, 1000 * policy.pay_cap_s))::float / 1000
        FROM (SELECT id FROM judging_assignment WHERE project_id = %(project)s AND state = 'finished'
            ORDER BY id DESC LIMIT %(latest)s) held
        JOIN judging_judgment given ON given.assignment_id = held.id JOIN judging_policy policy
        ON policy.id = given.policy_id),
    (SELECT sum(second_round)::float / nullif(sum(judgments - second_round), 0) FROM judging_judgmentday
        WHERE project_id = %(project)s)"""


class Outlook(NamedTuple):
    """The rule's suggestion for a first batch, and how many pairs a second one would hold."""

    suggestion: Suggestion
    beyond: int


def review_queue(project: Project) -> QuerySet[Batch]:
    """First batches that wait for the lead, oldest first."""
    return Batch.objects.filter(project=project, awaits_review=True).order_by("done_at", "id")


def queue_behind(project: Project, batch: Batch) -> QuerySet[Batch]:
    later = Q(done_at__gt=batch.done_at) | Q(done_at=batch.done_at, pk__gt=batch.pk)
    return review_queue(project).filter(later)


def outlooks(batches: Sequence[Batch], *, from_mean: float) -> dict[int, Outlook]:
    """By batch, all of one project; in four statements however many there are."""
    relevance: dict[int, list[int | None]] = {batch.pk: [] for batch in batches}
    rows = Pair.objects.filter(batch__in=relevance).order_by("batch", "candidate__rank")
    for batch_id, value in rows.values_list("batch", "relevance"):
        relevance[batch_id].append(value)
    beyond = second_batch_sizes(batches)
    has_second_batch = all(batch.project.has_second_batch for batch in batches[:1])  # they are of one project
    suggestions = {
        batch_id: suggest(
            values, from_mean=from_mean, further=bool(beyond[batch_id]), has_second_batch=has_second_batch
        )
        for batch_id, values in relevance.items()
    }
    return {batch_id: Outlook(suggestion, beyond[batch_id]) for batch_id, suggestion in suggestions.items()}


LAST_RANK = "(%(expressions)s)[array_upper(%(expressions)s, 1)][2]"  # of the last stratum


def candidates_beyond() -> QuerySet[Candidate]:
    """Candidates for the second batches of queries, where the rules of their project have such: those behind the first
    batch, or of a project that samples, those of its strata that no batch holds."""
    size = F("query__project__batch_size")
    behind = Q(rank__gt=size, rank__lte=2 * size, query__project__strata=[])
    last = Func(F("query__project__strata"), template=LAST_RANK, output_field=IntegerField())
    rest = Q(~Exists(Pair.objects.filter(candidate=OuterRef("pk"))), ~Q(query__project__strata=[]), rank__lte=last)
    candidates = Candidate.objects.filter(behind | rest, query__project__has_second_batch=True)
    return candidates.filter(source=Candidate.Source.SIMILARITY)


# Of batches of one project, which samples.
SECOND_BATCHES = """
SELECT batch_id, sum(least(n, sample)) FROM (
    SELECT batch.id AS batch_id, project.strata[stratum][3] AS sample, count(*) AS n
    FROM judging_batch batch JOIN accounts_project project ON project.id = batch.project_id
    CROSS JOIN generate_subscripts(project.strata, 1) AS stratum
    JOIN annotation_candidate candidate ON candidate.query_id = batch.query_id AND candidate.source = 'similarity'
        AND candidate.rank BETWEEN project.strata[stratum][1] AND project.strata[stratum][2]
    JOIN annotation_moment moment ON moment.id = candidate.moment_id AND moment.preview_state = 'ready'
    LEFT JOIN judging_pair pair ON pair.candidate_id = candidate.id
    WHERE batch.id = ANY(%(batches)s) AND project.has_second_batch AND pair.id IS NULL
    GROUP BY batch.id, stratum, project.strata) part
GROUP BY batch_id"""


def second_batch_sizes(batches: Sequence[Batch]) -> dict[int, int]:
    """How many pairs the query's second batch would hold, by first batch."""
    sizes = dict.fromkeys((batch.pk for batch in batches), 0)
    if any(batch.strata for batch in batches):
        return sizes | {batch_id: int(n) for batch_id, n in sql_rows(SECOND_BATCHES, {"batches": list(sizes)})}
    beyond = candidates_beyond().filter(query__batches__in=sizes, moment__preview_state=Moment.Preview.READY)
    rows = beyond.order_by().values_list("query__batches").annotate(n=Count("pk"))
    return {**sizes, **{batch_id: n for batch_id, n in rows if batch_id in sizes}}


def accept_preview(project: Project, policy: Policy, *, which: str, distance: float, most: int) -> dict[str, Any]:
    """Effects of accepting suggestions together: of the oldest waiting cases whose suggestion is ``which`` (extend,
    close, all), and no nearer to the threshold than ``distance``; at most ``most``. Cases are (batch, outlook)."""
    queue = review_queue(project)
    batches = list(queue.select_related("query")[:LOOKED_AT])
    by_batch = outlooks(batches, from_mean=policy.extend_from_mean)
    fitting = []
    for batch in batches:
        suggestion = by_batch[batch.pk].suggestion
        mean = policy.extend_from_mean if suggestion.mean is None else suggestion.mean
        is_near = distance > 0 and abs(mean - policy.extend_from_mean) < distance
        if not is_near and which in ("all", "", "extend" if suggestion.extend else "close"):
            fitting.append((batch, by_batch[batch.pk]))
    cases = fitting[:most]
    extended = [outlook for _, outlook in cases if outlook.suggestion.extend]
    pairs, waiting = sum(outlook.beyond for outlook in extended), queue.count()  # pairs that second batches would hold
    added = work_of(project, pairs)
    return {
        "cases": cases,
        "extended": len(extended),
        "closed": len(cases) - len(extended),
        "waiting": waiting,
        "rest": waiting - len(cases),
        "left_out": len(fitting) - len(cases),  # they fit, and are too many for one go
        "pairs": pairs,
        "added": added,
        "hours_per_pair": added.judgments * added.seconds / 3600 / pairs if pairs else 0.0,
    }


def work_of(project: Project, pairs: int) -> Part:
    """The judgments that so many more pairs take, by what this project's took lately."""
    [(seconds, escalated)] = sql_rows(LATELY, {"project": project.pk, "latest": LATEST})
    assumptions = expected_of(project)
    recent = replace(
        assumptions,
        queries=1,
        second=0,
        pairs=pairs,
        seconds=assumptions.seconds if seconds is None else seconds,
        escalated=assumptions.escalated if escalated is None else escalated,
    )
    return Forecast(recent).judging


def review_in_words(review: BatchReview) -> str:
    """Who decided what, and when; for leads."""
    project = review.batch.project
    who = "The automatic rule"
    if review.decided_by_id:
        who = actor_names(project, to_lead=True).get(review.decided_by_id, "Somebody who has left")
    did = "extended" if review.decision == BatchReview.Decision.EXTEND else "closed"
    is_recent = timezone.now() - review.decided_at < timedelta(minutes=1)
    return f"{who} {did} this query {'a moment' if is_recent else timesince(review.decided_at, depth=1)} ago."


def deciders_of(project: Project, reviews: QuerySet[BatchReview]) -> list[str]:
    """Who gave these decisions and how many each, in words; for leads."""
    names = actor_names(project, to_lead=True)
    rows = reviews.order_by("decided_by").values_list("decided_by").annotate(n=Count("pk"))
    return [
        f"{n} by {'the automatic rule' if who is None else names.get(who, 'somebody who has left')}" for who, n in rows
    ]


def last_reviews(project: Project, lead: User, count: int) -> list[BatchReview]:
    """Return this lead's last decisions that may still be undone, the newest first."""
    begun = Batch.objects.filter(query=OuterRef("batch__query"), number=2).exclude(
        begun=False, round=1, state=Batch.State.OPEN
    )
    left_out = _pooled_in_spite().filter(batch__query=OuterRef("batch__query"))
    mine = BatchReview.objects.filter(~Exists(begun), ~Exists(left_out), batch__project=project, decided_by=lead)
    return list(mine.order_by("-id").select_related("batch__query", "batch__project")[:count])


def review_may_be_undone(review: BatchReview) -> bool:
    """Until somebody has begun the second batch, or a lead has touched its pairs; or, of a closed query, until a pool
    has taken what the second batch would hold. Never where the rules have no second batch: nothing is to decide."""
    if not review.batch.project.has_second_batch:
        return False
    if review.decision == BatchReview.Decision.CLOSE:
        return not _pooled_in_spite().filter(batch__query=review.batch.query_id).exists()
    second = Batch.objects.filter(query=review.batch.query_id, number=2).first()
    return second is None or is_untouched(second)


def _pooled_in_spite() -> QuerySet[Pair]:
    """Candidates by similarity that closing their query left out, and that a run returned to a pool."""
    return Pair.objects.filter(batch__pooling__isnull=False, candidate__source=Candidate.Source.SIMILARITY)


def is_untouched(batch: Batch) -> bool:
    """Nobody has begun it, and its pairs are as when it was opened."""
    return (
        not batch.begun and not batch.assignments.exists() and not batch.pairs.exclude(state=Pair.State.OPEN).exists()
    )
