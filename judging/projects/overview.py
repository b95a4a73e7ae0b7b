"""How far a project is, from counts that are kept (judging/work/models.py), so that it is quick at any size."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import Count, Exists, OuterRef, Q, Sum

from accounts.models import Project
from annotation.pools.rules import BATCHES
from core.models import Job
from core.sql import sql_named
from judging.models import Assignment, Batch, JudgmentDay, Pair, Policy, Tally
from judging.pay.rules import Assumptions
from judging.pay.selectors import expected_of
from judging.people.selectors import shortage_of
from judging.projects.rules import PACE_DAYS, Left, finish, pace
from judging.review.selectors import review_queue
from judging.work.rules import rules_of
from judging.work.selectors.flags import flags_waiting

DAYS_SHOWN = 28
POOLED = BATCHES + 1  # the first number of a pooled batch
COVERAGE = POOLED + 1  # of the row of batches that coverage studies opened
ENOUGH_JUDGMENTS, ENOUGH_DECISIONS = 400, 20  # to go by this project's own shares
# All off an index, and in one statement, as the page asks again and again. Active: gave a grade within a week; flags:
# without an answer; queries: to be judged; given: grades in rounds under way (that a pair is decided before its round
# ends is rare); pooled: pairs in pooled batches, which say nothing of the size of first and second ones.
SMALL = """
SELECT (SELECT count(*) FROM judging_batch WHERE project_id = %(project)s AND awaits_review) AS waiting,
    (SELECT count(*) FROM judging_assignment WHERE project_id = %(project)s AND state = 'open') AS at_work,
    (SELECT count(DISTINCT annotator_id) FROM judging_judgmentday
        WHERE project_id = %(project)s AND day >= %(since)s AND imported = 0) AS active,
    (SELECT count(*) FROM judging_flag flag JOIN judging_assignment held ON held.id = flag.assignment_id
        AND held.project_id = %(project)s JOIN judging_pair pair ON pair.id = flag.pair_id
        AND pair.state IN ('open', 'escalated')
        WHERE flag.withdrawn_at IS NULL
        AND NOT EXISTS (SELECT 1 FROM judging_flaganswer answer WHERE answer.flag_id = flag.id)) AS flags,
    (SELECT count(*) FROM annotation_query WHERE project_id = %(project)s AND judged_as_id IS NULL
        AND NOT is_placeholder AND split IN ('val', 'test')) AS queries,
    (SELECT count(*) FROM judging_batch batch
        JOIN judging_assignment held ON held.batch_id = batch.id AND held.round = batch.round
        JOIN judging_judgment given ON given.assignment_id = held.id
        WHERE batch.project_id = %(project)s AND batch.state = 'open' AND batch.begun) AS given,
    (SELECT count(*) FROM judging_batch batch JOIN judging_pair pair ON pair.batch_id = batch.id
        WHERE batch.project_id = %(project)s AND batch.pooling_id IS NOT NULL) AS pooled"""
COLUMNS = ("judgments", "second_round", "simulated", "imported")


@dataclass(frozen=True)
class BatchRow:
    """Batches of one number by state; 3 stands for all that pools opened, 4 for those of coverage studies."""

    number: int
    first_round: int
    second_round: int
    done: int


def tallies(project: Project) -> dict[str, int]:
    """Every kept count of the project; see Tally."""
    rows = Tally.objects.filter(project=project).order_by().values_list("what").annotate(sum=Sum("n"))
    return {what: n for what, n in rows if n}


def overview(project: Project, policy: Policy, *, now: datetime) -> dict[str, Any]:
    """Everything the lead's first page shows of a project; ``digest`` is the same as long as none of it has changed."""
    today = now.astimezone(ZoneInfo(policy.time_zone)).date()
    counts, days = tallies(project), JudgmentDay.objects.filter(project=project).order_by("day").values_list("day")
    by_day = {day: dict(zip(COLUMNS, sums, strict=True)) for day, *sums in days.annotate(*map(Sum, COLUMNS))}
    batches, pairs = _coverage_apart(project, _batch_rows(counts)), _pairs(counts)
    sums = {name: sum(day[name] for day in by_day.values()) for name in COLUMNS}
    [small] = sql_named(SMALL, {"project": project.pk, "since": today - timedelta(days=PACE_DAYS - 1)})
    done_since = Job.objects.filter(project=project, kind=OuterRef("kind"), pk__gt=OuterRef("pk"))
    failed = project.jobs.filter(~Exists(done_since), state=Job.State.FAILED).order_by("-pk")
    worked = {day: row["judgments"] - row["imported"] for day, row in by_day.items()}
    work_left = _left(project, batches, pairs, sums, small)
    relevance = [(relevance, counts.get(f"pair:settled:{relevance}", 0)) for relevance in rules_of(project).grades]
    days_shown = [today - timedelta(days=n) for n in reversed(range(DAYS_SHOWN))]
    running = project.jobs.filter(state=Job.State.RUNNING)
    shown = {
        "batches": batches,
        "pairs": pairs,
        "total": sum(pairs.values()),
        "relevance": relevance,
        "most_relevance": max(n for _, n in relevance) or 1,
        **sums,
        "days": [(day, worked.get(day, 0)) for day in days_shown],
        "today": worked.get(today, 0),
        **small._asdict(),
        "failed": list(failed.values_list("title", "error")),
        "running": [(job.title, job.done, job.total, job.percent) for job in running],
        "shortage": shortage_of(project),
        "finish": finish(work_left, per_day=pace({d: n for d, n in worked.items() if n}, today=today), today=today),
    }
    return {**shown, "digest": sha256(json.dumps(shown, default=str).encode()).hexdigest()[:16]}


def overview_counts(project: Project) -> dict[str, Any]:
    """Numbers for programs."""
    counts = tallies(project)
    batches = _batch_rows(counts)
    days = JudgmentDay.objects.filter(project=project).aggregate(**{name: Sum(name, default=0) for name in COLUMNS})
    open_first = sum(row.first_round + row.second_round for row in batches)
    return {
        "batches": {Batch.State.OPEN.value: open_first, Batch.State.DONE.value: sum(row.done for row in batches)},
        "pairs": _pairs(counts),
        "judgments": days["judgments"],
        "simulated": days["simulated"],
        "at_work": Assignment.objects.filter(project=project, state=Assignment.State.OPEN).count(),
        "waiting": review_queue(project).count(),
        "flagged": flags_waiting(project).values("pair").distinct().count(),
        "second_rounds": sum(row.second_round for row in batches),
    }


def _pairs(counts: Mapping[str, int]) -> dict[str, int]:
    pairs = dict.fromkeys(Pair.State.values, 0)
    for what, n in counts.items():
        kind, *rest = what.split(":")
        if kind == "pair":
            pairs[rest[0]] += n
    return pairs


def _batch_rows(counts: Mapping[str, int]) -> list[BatchRow]:
    rows: dict[int, dict[str, int]] = {}
    for what, n in counts.items():
        kind, *of = what.split(":")
        if kind == "batch":
            number, state, round_ = of
            row = rows.setdefault(min(int(number), POOLED), {"first_round": 0, "second_round": 0, "done": 0})
            row["done" if state == Batch.State.DONE else "first_round" if round_ == "1" else "second_round"] += n
    return [BatchRow(number, **row) for number, row in sorted(rows.items())]


def _coverage_apart(project: Project, batches: list[BatchRow]) -> list[BatchRow]:
    """Batches of coverage studies as a row of their own; kept counts do not tell them from pooled ones."""
    others, pooled = [row for row in batches if row.number < POOLED], [row for row in batches if row.number == POOLED]
    if not pooled:
        return batches
    of_studies = Batch.objects.filter(project=project, pooling__seed__isnull=False).order_by()
    is_open = Q(state=Batch.State.OPEN)
    counts = of_studies.aggregate(
        first_round=Count("pk", filter=is_open & Q(round=1)),
        second_round=Count("pk", filter=is_open & Q(round=2)),
        done=Count("pk", filter=~is_open),
    )
    rest = {name: max(0, getattr(pooled[0], name) - n) for name, n in counts.items()}
    rows = [BatchRow(POOLED, **rest), BatchRow(COVERAGE, **counts)]
    return [*others, *(row for row in rows if row.first_round + row.second_round + row.done)]


def assumptions_of(project: Project) -> Assumptions:
    """Return what to expect of the project, with its own share of second rounds once there is enough data."""
    days = JudgmentDay.objects.filter(project=project)
    sums = days.aggregate(**{name: Sum(name, default=0) for name in ("judgments", "second_round")})
    assumptions = expected_of(project)
    return replace(assumptions, escalated=_escalated(sums, assumptions))


def _escalated(sums: Mapping[str, int], assumptions: Assumptions) -> float:
    first_rounds = sums["judgments"] - sums["second_round"]
    return sums["second_round"] / first_rounds if first_rounds >= ENOUGH_JUDGMENTS else assumptions.escalated


def _left(
    project: Project, batches: list[BatchRow], pairs: Mapping[str, int], sums: Mapping[str, int], small: Any
) -> Left:
    """Return the work left, and what to expect: as it was so far, or as in the paper while there is little data."""
    by_number = {row.number: row for row in batches}
    first, second = (by_number.get(number, BatchRow(number, 0, 0, 0)) for number in (1, 2))
    n_opened = first.first_round + first.second_round + first.done
    decided, extended = first.done - small.waiting, second.first_round + second.second_round + second.done
    unpooled = n_opened + extended
    assumptions = expected_of(project)
    return Left(
        open_pairs=pairs[Pair.State.OPEN],
        escalated_pairs=pairs[Pair.State.ESCALATED],
        given=small.given,
        queries=max(0, small.queries - n_opened),
        undecided=first.first_round + first.second_round + small.waiting,
        pairs=(sum(pairs.values()) - small.pooled) / unpooled if unpooled else assumptions.pairs,
        escalated=_escalated(sums, assumptions),
        second=min(1.0, extended / decided) if decided >= ENOUGH_DECISIONS else assumptions.second,
        judges=project.judges,
    )
