"""Batches: opened, decided, extended on the lead's word; their slots, flags and tallies kept right from the rows."""

import logging
from collections.abc import Sequence
from datetime import datetime

from django.db import connection, transaction
from django.db.models import Count, Exists, F, Max, OuterRef, Q, QuerySet, Subquery

from accounts.models import Project
from annotation.models import Candidate, Moment, NamedQuerySet, Pooling, Query
from annotation.pools.rules import BATCHES, in_batches, ranks_drawn, strata_of
from core import clock
from core.jobs import durable, swept
from core.messages import send_on_commit
from judging.guidelines.selectors import policy_in_force
from judging.models import Assignment, Batch, BatchReview, Judgment, JudgmentDay, Pair, Tally
from judging.projects.overview import tallies
from judging.review.selectors import candidates_beyond
from judging.review.services import EXTEND_ALL_TASK, EXTEND_TASK, batch_review_by_rule, reviews_sweep
from judging.webhooks.models import Event
from judging.webhooks.services import event_record
from judging.work import rules
from judging.work.rules import RequestedPair, free_slots, rules_of
from judging.work.selectors.assignments import pairs_requested, slots_taken

logger = logging.getLogger(__name__)
ADVANCE_TASK = "judging.tasks.batch_advance"
EXTENDED_AT_ONCE = 25  # second batches by one message: half a second


@transaction.atomic
def batch_create(*, query: Query, number: int) -> Batch | None:
    """Open the best candidates by similarity (number 1), or as many behind them (number 2), for judging; where the
    project samples, those that are drawn from its strata. Repeating it returns the batch that is there; None when no
    candidate has such a rank, or those to draw from have no previews yet."""
    query = Query.objects.select_for_update(of=("self",)).select_related("project").get(pk=query.pk)
    # locked and read again: its rules may be changing
    [query.project] = Project.objects.raw("SELECT * FROM accounts_project WHERE id = %s FOR SHARE", [query.project_id])
    batch = Batch.objects.filter(query=query, number=number).first()
    if batch:
        return batch
    if query.project.strata:
        candidates = _candidates_drawn(query, number)
    else:
        size = query.project.batch_size
        ranks = ((number - 1) * size + 1, number * size)
        ranked = query.candidates.filter(source=Candidate.Source.SIMILARITY, rank__range=ranks)
        candidates = list(ranked.filter(moment__preview_state=Moment.Preview.READY).order_by("rank"))
    return _batch_open(query, number, candidates) if candidates else None


def _candidates_drawn(query: Query, number: int) -> list[Candidate]:
    """Draw the candidates of a batch from what is left of each stratum; project, query and number are the seed.

    None while a preview is still to be cut: what has none could not be drawn, and the others would be no random part.
    """
    strata = strata_of(query.project.strata)
    free = query.candidates.filter(source=Candidate.Source.SIMILARITY, rank__lte=strata[-1].last, pair=None)
    if free.filter(moment__preview_state=Moment.Preview.MISSING).exists():
        return []
    by_rank = {row.rank: row for row in free.filter(moment__preview_state=Moment.Preview.READY)}
    seed = f"batch {query.project.uuid} {query.number} {number}"
    return [by_rank[rank] for rank in ranks_drawn(by_rank, strata, seed=seed)]


def batches_pool(*, query: Query, pooling: Pooling, candidates: Sequence[Candidate]) -> list[Batch]:
    """Open batches of these, numbered behind the last; the caller holds the query's row."""
    last = Batch.objects.filter(query=query).aggregate(last=Max("number"))["last"] or 0
    first = max(last, BATCHES) + 1
    return [
        _batch_open(query, number, some, pooling)
        for number, some in enumerate(in_batches(candidates, query.project.batch_size), start=first)
    ]


def _batch_open(query: Query, number: int, candidates: Sequence[Candidate], pooling: Pooling | None = None) -> Batch:
    query_set = NamedQuerySet.objects.select_for_update().filter(queries=query).first()
    first = Batch.objects.filter(query=query, number=1).first()
    batch = Batch.objects.create(
        project_id=query.project_id,
        query=query,
        number=number,
        pooling=pooling,
        **rules_of(query.project)._asdict(),
        strata=[] if pooling else query.project.strata,
        free_slots=query.project.judges,
        priority=query_set.priority if query_set else 0,
        is_paused=query_set.is_paused if query_set else False,
        # as the query's first batch; of a first one, as its set says now, or what was imported
        is_pilot=first.is_pilot if first else query.was_pilot or bool(query_set and query_set.is_pilot),
    )
    Pair.objects.bulk_create(Pair(batch=batch, candidate=candidate) for candidate in candidates)
    logger.info("batch %s opened: number %s, %s pairs", batch.pk, number, len(candidates))
    return batch


def queries_without_batch(project_id: int) -> QuerySet[Query]:
    """Return the queries that have candidates and no batch yet."""
    return Query.objects.filter(project=project_id, batches__isnull=True, is_placeholder=False, candidates__rank=1)


def batches_open(*, project_id: int) -> int:
    """Open the first batch of every query that has candidates and none yet; say how many were opened."""
    queries = queries_without_batch(project_id)
    return sum(batch_create(query=query, number=1) is not None for query in queries.order_by("number"))


@durable(ADVANCE_TASK)
@transaction.atomic
def batch_advance(*, batch_id: int) -> None:
    """Decide every pair whose round is complete, open the second round, or close the batch. It recomputes from the rows
    under the batch's lock, so it may run twice, late or out of order; the batch may be gone, where a lead took back its
    being opened. No ``JobKind``: no row asks for it, it has no state of its own and cannot fail for good."""
    batch = Batch.objects.select_for_update().filter(pk=batch_id).first()
    if batch is None or batch.state == Batch.State.DONE:
        return
    flagged_withdraw(batch)
    _pairs_decide(batch)
    states = set(batch.pairs.values_list("state", flat=True))
    if not states & {Pair.State.OPEN, Pair.State.ESCALATED}:
        _batch_close(batch, now=clock.now())
    elif batch.round < batch.max_rounds and Pair.State.OPEN not in states:
        batch.round, batch.free_slots, batch.begun = 2, batch.judges, False
        batch.save(update_fields=["round", "free_slots", "begun"])
        logger.info("batch %s: second round", batch.pk)
    else:
        slots_count(batch)


def _pairs_decide(batch: Batch) -> None:
    """Write what the rule says of every pair that is open or escalated; one statement per outcome."""
    final = Judgment.objects.filter(pair__batch=batch, pair__state__in=[Pair.State.OPEN, Pair.State.ESCALATED]).exclude(
        assignment__state=Assignment.State.OPEN
    )
    grades: dict[tuple[int, str], list[int]] = {}
    for pair_id, state, grade in final.values_list("pair", "pair__state", "grade"):
        grades.setdefault((pair_id, state), []).append(grade)
    decided: dict[rules.Outcome, list[int]] = {}
    for (pair_id, state), pair_grades in grades.items():
        outcome = rules.settle(pair_grades, rules_of(batch))
        if outcome.state not in (rules.State.WAITING, state):
            decided.setdefault(outcome, []).append(pair_id)
    for outcome, pair_ids in decided.items():
        reason = Pair.Reason.NO_CONSENSUS if outcome.state == rules.State.DROPPED else ""
        Pair.objects.filter(pk__in=pair_ids).update(state=outcome.state, relevance=outcome.relevance, reason=reason)
        logger.info("batch %s: %s %s: pairs %s", batch.pk, outcome.state, outcome.relevance, pair_ids)


def _batch_close(batch: Batch, *, now: datetime) -> None:
    batch.state, batch.done_at, batch.free_slots = Batch.State.DONE, now, 0
    batch.save(update_fields=["state", "done_at", "free_slots"])
    logger.info("batch %s: done", batch.pk)
    about = {"batch": batch.uuid, "number": batch.number, "state": batch.state}
    event_record(project_id=batch.project_id, event=Event.BATCH_DONE, **about)
    policy = policy_in_force(batch.project_id)
    if batch.number == 1 and (policy.extend_automatically or not batch.project.has_second_batch):
        batch_review_by_rule(batch=batch, policy=policy)
    elif batch.number == 1:
        event_record(project_id=batch.project_id, event=Event.QUERY_WAITING, **about)


@durable(EXTEND_TASK)
@transaction.atomic
def batch_extend(*, batch_id: int) -> Batch | None:
    """Open the second batch that was asked for; None when the decision was taken back, or no candidate is left. The
    decision stays as it is until the batch is there: who takes it back waits, and takes the batch with it."""
    queries = Query.objects.select_for_update(of=("self",)).filter(batches=batch_id)  # as who takes the decision back
    query = queries.first()
    decisions = BatchReview.objects.filter(batch=batch_id, decision=BatchReview.Decision.EXTEND)
    return batch_create(query=query, number=2) if query and decisions.exists() else None


@durable(EXTEND_ALL_TASK)
def batches_extend(*, project_id: int | None = None, after: int = 0) -> None:
    """Open second batches that were asked for, are not there, and have a pair that can be shown. EXTENDED_AT_ONCE of
    them, in the order of their first batches from ``after`` on; a message opens those that follow, so that decisions
    which people wait for are taken in between."""
    second = Batch.objects.filter(query=OuterRef("batch__query"), number=2)
    beyond = candidates_beyond().filter(query=OuterRef("batch__query"), moment__preview_state=Moment.Preview.READY)
    decisions = BatchReview.objects.filter(~Exists(second), Exists(beyond), decision=BatchReview.Decision.EXTEND)
    if project_id is not None:
        decisions = decisions.filter(batch__project=project_id)
    batch_ids = list(
        decisions.filter(batch__gt=after).order_by("batch").values_list("batch", flat=True)[:EXTENDED_AT_ONCE]
    )
    for batch_id in batch_ids:
        batch_extend(batch_id=batch_id)
    if len(batch_ids) == EXTENDED_AT_ONCE:
        send_on_commit(EXTEND_ALL_TASK, project_id, batch_ids[-1])


@durable("judging.tasks.batches_sweep", autoretry_for=())
def batches_sweep() -> None:
    """Redo what a lost message left: rounds that can be decided, second batches that were not opened, decisions by the
    rule."""
    open_assignments = Assignment.objects.filter(
        batch=OuterRef("pk"), round=OuterRef("round"), state=Assignment.State.OPEN
    )
    idle = Batch.objects.filter(~Exists(open_assignments), state=Batch.State.OPEN)
    complete = idle.filter(free_slots=0)
    in_part = idle.filter(Exists(_pairs_with_all_grades()), free_slots__gt=0, begun=True)
    for batch_id in [*complete.values_list("pk", flat=True), *in_part.values_list("pk", flat=True)]:
        batch_advance(batch_id=batch_id)
    batches_extend()
    reviews_sweep()


def _pairs_with_all_grades() -> QuerySet[Pair]:
    """Pairs of the batch around this that its round asks for, though all its judges have graded them."""
    in_round = Q(batch__round=1, state=Pair.State.OPEN) | Q(batch__round=2, state=Pair.State.ESCALATED)
    grades = Judgment.objects.filter(pair=OuterRef("pk"), round=OuterRef("batch__round")).order_by()
    n_grades = Subquery(grades.values("pair").annotate(n=Count("pk")).values("n"))
    pairs = Pair.objects.filter(in_round, batch=OuterRef("pk"))
    return pairs.annotate(n_grades=n_grades).filter(n_grades=F("batch__judges"))


FLAGS_TO_WITHDRAW = 2


def slots_count(
    batch: Batch, requested_pairs: list[RequestedPair] | None = None, taken_slots: list[int] | None = None
) -> None:
    """Write how many slots of the batch, locked by the caller, are free; what is passed is not read again."""
    if batch.state == Batch.State.DONE:
        free = 0
    else:
        pairs = pairs_requested(batch_id=batch.pk) if requested_pairs is None else requested_pairs
        taken_slots = slots_taken(batch.pk) if taken_slots is None else taken_slots
        free = len(free_slots(pairs, taken_slots=taken_slots, slots=rules_of(batch).slots))
    if free != batch.free_slots:
        batch.free_slots = free
        batch.save(update_fields=["free_slots"])


def flagged_withdraw(batch: Batch) -> list[RequestedPair]:
    """Withdraw what two annotators have flagged for good from the batch, locked by the caller; return what it still
    asks for."""
    pairs = pairs_requested(batch_id=batch.pk)
    flagged = [pair.pair_id for pair in pairs if pair.final_flags >= FLAGS_TO_WITHDRAW]
    if flagged:
        Pair.objects.filter(pk__in=flagged).update(state=Pair.State.WITHDRAWN, reason=Pair.Reason.FLAGGED_TWICE)
        logger.info("batch %s: flagged twice and withdrawn: pairs %s", batch.pk, flagged)
    return [pair for pair in pairs if pair.pair_id not in flagged]


FOLD_FROM = 200  # rows of a project

FOLD = """
WITH gone AS (DELETE FROM judging_tally WHERE project_id = %(project)s RETURNING what, n)
INSERT INTO judging_tally (project_id, what, n)
SELECT %(project)s, what, sum(n) FROM gone GROUP BY what HAVING sum(n) <> 0"""
RECOUNT = (
    "DELETE FROM judging_tally WHERE project_id = %(project)s",
    """
INSERT INTO judging_tally (project_id, what, n)
SELECT %(project)s, concat_ws(':', 'pair', pair.state, pair.relevance), count(*)
FROM judging_pair pair JOIN judging_batch batch ON batch.id = pair.batch_id
WHERE batch.project_id = %(project)s GROUP BY 2
UNION ALL SELECT %(project)s, concat_ws(':', 'batch', number, state, round), count(*)
FROM judging_batch WHERE project_id = %(project)s GROUP BY 2""",
    "DELETE FROM judging_judgmentday WHERE project_id = %(project)s",
    """
INSERT INTO judging_judgmentday (project_id, annotator_id, day, judgments, second_round, simulated, imported)
SELECT %(project)s, given.annotator_id,
    (given.created_at AT TIME ZONE coalesce(policy.time_zone, 'UTC'))::date, count(*),
    count(*) FILTER (WHERE given.round = 2), count(*) FILTER (WHERE given.source = 'simulated'),
    count(*) FILTER (WHERE given.source = 'imported')
FROM judging_judgment given JOIN judging_pair pair ON pair.id = given.pair_id
JOIN judging_batch batch ON batch.id = pair.batch_id LEFT JOIN judging_policy policy ON policy.id = given.policy_id
WHERE batch.project_id = %(project)s GROUP BY given.annotator_id, 3""",
)


@swept
def tallies_fold(now: object = None) -> None:
    """Make one row of each count that has grown long; who reads or writes meanwhile is not disturbed."""
    long = Tally.objects.values("project").annotate(n=Count("pk")).filter(n__gte=FOLD_FROM).order_by()
    for project_id in long.values_list("project", flat=True):
        with connection.cursor() as cursor:
            cursor.execute(FOLD, {"project": project_id})


@transaction.atomic
def tallies_recount(*, project: Project) -> bool:
    """Count anew from the rows; say whether that made a difference. Who judges waits meanwhile, some seconds."""
    with connection.cursor() as cursor:
        tables = f"{Tally._meta.db_table}, {JudgmentDay._meta.db_table}"
        cursor.execute(f"LOCK TABLE {tables} IN SHARE ROW EXCLUSIVE MODE")
        before = _tallies(project)
        for statement in RECOUNT:
            cursor.execute(statement, {"project": project.pk})
    differed = _tallies(project) != before
    if differed:
        logger.warning("project %s: the kept counts were wrong and are right now", project.pk)
    return differed


def _tallies(project: Project) -> tuple[object, object]:
    days = JudgmentDay.objects.filter(project=project).order_by("annotator", "day")
    columns = ("annotator", "day", "judgments", "second_round", "simulated", "imported")
    return tallies(project), list(days.values_list(*columns))
