"""Reads of judging: who may see and do what, and what is left to do."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery
from django.http import Http404
from django.shortcuts import get_object_or_404

from annotation.models import Job, Membership, Moment, Project, Query, User
from annotation.selectors import queries_to_judge
from judging.models import SEATS, Assignment, Batch, GuidelineExample, Judgment, Pair
from judging.rules.leasing import Seat, shuffled

FREE_SEAT_BATCHES = 50  # looked at per take: the best are among the first


def open_assignment(*, project: Project, annotator: User) -> Assignment | None:
    return Assignment.objects.filter(project=project, annotator=annotator, state=Assignment.State.OPEN).first()


def pairs_asked(assignment: Assignment) -> QuerySet[Pair]:
    """The pairs this assignment is about: those of its round that its seat's earlier holders left ungraded."""
    others = Judgment.objects.filter(pair=OuterRef("pk"), round=assignment.round, seat=assignment.seat).exclude(
        assignment=assignment
    )
    return _pairs_of_round(assignment.batch_id, assignment.round).filter(~Exists(others))


def pairs_ungraded(assignment: Assignment) -> QuerySet[Pair]:
    mine = Judgment.objects.filter(pair=OuterRef("pk"), round=assignment.round, seat=assignment.seat)
    return _pairs_of_round(assignment.batch_id, assignment.round).filter(~Exists(mine))


def _pairs_of_round(batch_id: int, number: int) -> QuerySet[Pair]:
    """Pairs a round asks for. A round-2 pair stays asked for after it was decided, so that pages can show it."""
    pairs = Pair.objects.filter(batch=batch_id).exclude(state=Pair.State.WITHDRAWN)
    if number == 1:
        return pairs
    return pairs.filter(Q(state=Pair.State.ESCALATED) | Exists(Judgment.objects.filter(pair=OuterRef("pk"), round=2)))


def free_seats(*, project: Project, annotator: User, batch: Batch | None = None) -> list[Seat]:
    """Seats of open batches that this person may take: nobody holds them, and they never judged a pair of them."""
    batches = Batch.objects.filter(project=project, state=Batch.State.OPEN)
    if batch:
        batches = batches.filter(pk=batch.pk)
    seats: list[Seat] = []
    for number in SEATS:
        seats += _free_seats_numbered(batches, number, annotator)
    return seats


def _free_seats_numbered(batches: QuerySet[Batch], number: int, annotator: User) -> list[Seat]:
    at_round = Assignment.objects.filter(batch=OuterRef("pk"), round=OuterRef("round"))
    holder = at_round.filter(seat=number).exclude(state=Assignment.State.LAPSED)
    graded_here = Judgment.objects.filter(pair=OuterRef("pk"), round=OuterRef("batch__round"), seat=number)
    left = Pair.objects.filter(
        Q(state=Pair.State.OPEN, batch__round=1) | Q(state=Pair.State.ESCALATED, batch__round=2), batch=OuterRef("pk")
    ).filter(~Exists(graded_here))
    by_me = Judgment.objects.filter(pair=OuterRef("pk"), annotator=annotator)
    rows = (
        batches.filter(~Exists(holder), Exists(left), ~Exists(left.filter(Exists(by_me))))
        .annotate(begun=Exists(at_round))
        .order_by("-round", F("begun").desc(), "id")
        .values_list("pk", "round", "begun")[:FREE_SEAT_BATCHES]
    )
    return [Seat(batch_id, batch_round, number, begun) for batch_id, batch_round, begun in rows]


def ordered_pairs(assignment: Assignment) -> list[Pair]:
    """The assignment's pairs in the order they are shown, each with ``grade`` (None where there is none yet)."""
    own = assignment.judgments.filter(pair=OuterRef("pk"))
    pairs = (
        pairs_asked(assignment)
        .annotate(grade=Subquery(own.values("grade")))
        .select_related("candidate__moment")
        .only("uuid", "candidate__rank", "candidate__moment__preview_uuid")
        .order_by("candidate__rank")
    )
    return shuffled(list(pairs), seed=assignment.shuffle_seed)


def pair_held_by(*, user: User, uuid: UUID) -> tuple[Assignment, Pair]:
    """The pair and the person's latest assignment that asks for it; 404 unless they hold or held one."""
    pair = get_object_or_404(Pair.objects.select_related("batch__query", "candidate__moment"), uuid=uuid)
    assignment = _assignments_asking_for(pair).filter(annotator=user).select_related("project").order_by("-id").first()
    if assignment is None:
        raise Http404
    assignment.batch, assignment.annotator = pair.batch, user  # known already; the page shows the batch's query
    return assignment, pair


def _assignments_asking_for(pair: Pair) -> QuerySet[Assignment]:
    """``pairs_asked`` from the other side: the assignments of the pair's batch that are about this pair."""
    graded = Judgment.objects.filter(pair=pair)
    others = graded.filter(round=OuterRef("round"), seat=OuterRef("seat")).exclude(assignment=OuterRef("pk"))
    asking = Assignment.objects.filter(~Exists(others), batch=pair.batch_id)
    if pair.state == Pair.State.WITHDRAWN:
        return asking.none()
    if pair.state == Pair.State.ESCALATED:
        return asking
    return asking.filter(Q(round=1) | Exists(graded.filter(round=2)))


def pairs_with_final_grades(batch: Batch) -> Iterator[tuple[Pair, list[int]]]:
    """Undecided pairs of the batch with the grades whose assignment has ended."""
    pairs = list(batch.pairs.filter(state__in=[Pair.State.OPEN, Pair.State.ESCALATED]))
    final = Judgment.objects.filter(pair__in=pairs).exclude(assignment__state=Assignment.State.OPEN)
    grades: dict[int, list[int]] = {}
    for pair_id, grade in final.order_by("round", "seat").values_list("pair", "grade"):
        grades.setdefault(pair_id, []).append(grade)
    for pair in pairs:
        yield pair, grades.get(pair.pk, [])


def relevance_by_rank(batch: Batch) -> list[int | None]:
    return list(batch.pairs.order_by("candidate__rank").values_list("relevance", flat=True))


def review_queue(project: Project) -> QuerySet[Batch]:
    """First batches that wait for the lead, oldest first."""
    return Batch.objects.filter(
        project=project, number=1, state=Batch.State.DONE, review__isnull=True, query__is_placeholder=False
    ).order_by("done_at")


@dataclass(frozen=True)
class Step:
    """One screen of the judging page."""

    assignment: Assignment
    query: str
    pair: Pair
    position: int  # from 1
    total: int
    graded: int
    grade: int | None  # what this person gave it before
    previous: Pair | None
    upcoming: Pair | None  # whose preview to load meanwhile


def step_at(assignment: Assignment, pair: Pair) -> Step:
    """The screen that shows ``pair``."""
    pairs = ordered_pairs(assignment)
    index = next(i for i, held in enumerate(pairs) if held.pk == pair.pk)
    return _step(assignment, pairs, index)


def next_step(assignment: Assignment) -> Step | None:
    """The screen of the first pair without a grade; None when all have one."""
    pairs = ordered_pairs(assignment)
    for index, pair in enumerate(pairs):
        if pair.grade is None:  # type: ignore[attr-defined]
            return _step(assignment, pairs, index)
    return None


def _step(assignment: Assignment, pairs: list[Pair], index: int) -> Step:
    ungraded_after = (pair for pair in pairs[index + 1 :] if pair.grade is None)  # type: ignore[attr-defined]
    return Step(
        assignment=assignment,
        query=assignment.batch.query.text,
        pair=pairs[index],
        position=index + 1,
        total=len(pairs),
        graded=sum(pair.grade is not None for pair in pairs),  # type: ignore[attr-defined]
        grade=pairs[index].grade,  # type: ignore[attr-defined]
        previous=pairs[index - 1] if index else None,
        upcoming=next(ungraded_after, None),
    )


def given_in(assignment: Assignment) -> list[Judgment]:
    """The person's own grades of one assignment, in the order given."""
    return list(assignment.judgments.select_related("pair__candidate__moment").order_by("id"))


def work_done(*, project: Project, annotator: User) -> dict[str, int]:
    finished = Assignment.objects.filter(project=project, annotator=annotator, state=Assignment.State.FINISHED)
    given = Judgment.objects.filter(annotator=annotator, pair__batch__project=project)
    return {"batches": finished.count(), "judgments": given.count()}


def previews_visible_to(user: User) -> QuerySet[Moment]:
    """Moments whose preview this person may watch."""
    staff = Membership.objects.filter(user=user, role__in=["lead", "admin"], project__corpus=OuterRef("video__corpus"))
    asked = Pair.objects.filter(  # one filter(): a second one would look at other people's assignments
        Q(batch__assignments__round=1)
        | Q(state=Pair.State.ESCALATED)
        | Exists(Judgment.objects.filter(pair=OuterRef("pk"), round=2)),
        candidate__moment=OuterRef("pk"),
        batch__assignments__annotator=user,
        batch__assignments__state__in=[Assignment.State.OPEN, Assignment.State.FINISHED],
    )
    given = Judgment.objects.filter(annotator=user, pair__candidate__moment=OuterRef("pk"))
    example = GuidelineExample.objects.filter(moment=OuterRef("pk"), guideline__project__memberships__user=user)
    return Moment.objects.filter(
        Exists(staff) | Exists(asked) | Exists(given) | Exists(example), preview_state=Moment.Preview.READY
    )


def overview_counts(project: Project) -> dict[str, Any]:
    """Numbers of the lead's first page."""
    batches = Batch.objects.filter(project=project)
    pairs = Pair.objects.filter(batch__project=project)
    judgments = Judgment.objects.filter(pair__batch__project=project)
    return {
        "batches": _counted(batches, Batch.State.values),
        "pairs": _counted(pairs, Pair.State.values),
        "judgments": judgments.count(),
        "simulated": judgments.filter(source=Judgment.Source.SIMULATED).count(),
        "at_work": Assignment.objects.filter(project=project, state=Assignment.State.OPEN).count(),
        "waiting": review_queue(project).count(),
        "second_rounds": batches.filter(state=Batch.State.OPEN, round=2).count(),
    }


def _counted(rows: QuerySet[Any], states: Sequence[str]) -> dict[str, int]:
    found = dict(rows.order_by().values_list("state").annotate(n=Count("pk")))
    return {state: found.get(state, 0) for state in states}


def relevance_counts(project: Project) -> list[tuple[int, int]]:
    """How many settled pairs have each relevance 0 to 4."""
    settled = Pair.objects.filter(batch__project=project, state=Pair.State.SETTLED)
    found = dict(settled.order_by().values_list("relevance").annotate(n=Count("pk")))
    return [(relevance, found.get(relevance, 0)) for relevance in range(5)]


def annotator_numbers(project: Project) -> dict[int, int]:
    """Account to annotator number: all that judging data may say about a person."""
    rows = project.memberships.filter(number__isnull=False).values_list("user", "number")
    return {user: number for user, number in rows if number is not None}


def batch_rows(batch: Batch) -> list[dict[str, Any]]:
    """The pairs of a batch by rank with their grades by annotator number, for the lead."""
    pairs = batch.pairs.select_related("candidate__moment__video").order_by("candidate__rank")
    numbers = annotator_numbers(batch.project)
    grades: dict[int, list[tuple[int, int, int]]] = {}
    final = Judgment.objects.filter(pair__batch=batch).exclude(assignment__state=Assignment.State.OPEN)
    for pair, annotator, grade, number in final.order_by("round", "seat").values_list(
        "pair", "annotator", "grade", "round"
    ):
        grades.setdefault(pair, []).append((numbers[annotator], grade, number))
    return [{"pair": pair, "grades": grades.get(pair.pk, [])} for pair in pairs]


def queries_without_batch(project: Project) -> QuerySet[Query]:
    """Queries to be judged whose first batch is not open yet."""
    return queries_to_judge(project.pk).filter(batches__isnull=True)


def job_running(project: Project) -> Job | None:
    """Long work that somebody may be waiting for."""
    return project.jobs.filter(state=Job.State.RUNNING).order_by("id").first()
