"""Open and close an exam, and keep the pairs of known truth: enter, explain, grade, retire them.

A first cohort's pairs are drawn by a task; later ones are drawn for each person from pairs of known truth.
"""

import logging
import random
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from secrets import randbelow
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from accounts.models import Project, User
from annotation.models import Query
from annotation.pools.services.candidates import pool_of
from core.audit import audit_record
from core.exceptions import NotPossible
from core.jobs import JobKind, durable, swept
from judging.exceptions import NotPossibleNow, TooFewPairs, Unfinished, grade_known_or_refused
from judging.models import Exam, ExamAttempt, ExamGrade, GuidelineExample, KnownPair
from judging.qualification.rules.truth import TooFew, agreed_truth, draw_even, truth_of
from judging.qualification.selectors.exam_attempts import OpenAttempt, attempt_by_id
from judging.qualification.selectors.exams import exam_unfinished, known_pairs_in_stock
from judging.qualification.services.exam_attempts import attempt_move, attempt_settle, handed_in
from judging.qualification.services.reports import EXAM_REPORTS
from judging.review.selectors import annotator_numbers
from judging.work.rules import rules_of

logger = logging.getLogger(__name__)
EXAMS = JobKind(
    "judging.tasks.exam_prepare",
    lambda: Exam.objects.filter(state=Exam.State.PREPARING).select_related("project"),
    moved="created_at",
    lock="exam",
    expected=(NotPossible,),
)
QUERIES, DEPTH = 10, 10  # of the paper
MOST = 40  # of either


@transaction.atomic
def exam_create(
    *,
    project: Project,
    actor: User | None,
    kind: str,
    queries: int = QUERIES,
    depth: int = DEPTH,
    seed: int | None = None,
) -> Exam:
    """A new exam of ``queries`` queries with ``depth`` pairs each; that of a first cohort opens when a task is done.

    Raises:
        ValueError: the kind is unknown, or a number is out of range.
        NotPossibleNow: another exam is open or being prepared.
        TooFewPairs: the known pairs do not make such an exam.
    """
    if kind not in Exam.Kind.values or not (1 <= queries <= MOST and 1 <= depth <= MOST):
        raise ValueError(f"no exam is {kind} with {queries} queries of {depth} pairs")
    Project.objects.select_for_update().get(pk=project.pk)
    if project.exams.filter(state__in=[Exam.State.PREPARING, Exam.State.OPEN]).exists():
        raise NotPossibleNow("Close the exam that is open first.")
    seed = randbelow(2**31) if seed is None else seed
    if kind == Exam.Kind.LATER:
        stock, grades = known_pairs_in_stock(project_id=project.pk), rules_of(project).grades
        draw = draw_even(stock, queries=queries, per_query=depth, grades=grades, seed=seed)
        if isinstance(draw, TooFew):
            shortage = str(draw).replace(" not seen before", "")
            raise TooFewPairs(f"{shortage} Exams draw on closed exams of first cohorts alone.")
    last = project.exams.order_by("-number").first()
    exam = Exam.objects.create(
        project=project,
        number=last.number + 1 if last else 1,
        kind=kind,
        state=Exam.State.PREPARING if kind == Exam.Kind.COHORT else Exam.State.OPEN,
        seed=seed,
        queries=queries,
        depth=depth,
        created_by=actor,
    )
    size = {"kind": kind, "queries": queries, "depth": depth, "seed": seed}
    audit_record(project=project, actor=actor, action="exam.create", subject=exam.uuid, number=exam.number, **size)
    if kind == Exam.Kind.COHORT:
        EXAMS.send(exam.pk)
    return exam


@durable(EXAMS.task)
def exam_prepare(*, exam_id: int) -> Exam | None:
    """Draw the pairs of a first cohort's exam and open it; a repeat finds it open."""
    with EXAMS.claim(exam_id) as exam:
        if exam is not None:
            _open(exam, _drawn(exam))
    return Exam.objects.select_related("project").filter(pk=exam_id).first()


def _drawn(exam: Exam) -> list[KnownPair]:
    """The best moments of random training queries: each text once, none that is known or an example."""
    known_texts = set(exam.project.known_pairs.values_list("query__text", flat=True))
    known_texts |= set(
        GuidelineExample.objects.filter(guideline__project=exam.project).values_list("query_text", flat=True)
    )
    judged = exam.project.queries.filter(Q(batches__isnull=False) | ~Q(split=Query.Split.TRAIN)).values("text")
    rows = exam.project.queries.filter(split=Query.Split.TRAIN, is_placeholder=False).exclude(text__in=judged)
    first: dict[str, Query] = {}
    for query in rows.order_by("number"):
        first.setdefault(query.text, query)
    free = [query for text, query in first.items() if text not in known_texts]
    if len(free) < exam.queries:
        raise NotPossible(f"The training split has {len(free)} queries for an exam, where {exam.queries} are needed.")
    queries = random.Random(exam.seed).sample(free, exam.queries)
    pool = pool_of(project=exam.project)
    if len(pool.moment_ids) < exam.depth:
        raise NotPossible(f"Previews of {len(pool.moment_ids)} moments are ready, where each query needs {exam.depth}.")
    texts = [query.text for query in queries]
    ranked_moments = pool.rank(texts, similarity=settings.SENTENCE_MODEL, depth=exam.depth)
    return [
        KnownPair(
            project=exam.project, query=query, moment_id=moment, rank=rank, source=KnownPair.Source.EXAM, exam=exam
        )
        for query, moments in zip(queries, ranked_moments, strict=True)
        for rank, moment in enumerate(moments, start=1)
    ]


@transaction.atomic
def _open(exam: Exam, pairs: list[KnownPair]) -> None:
    row = Exam.objects.select_for_update().get(pk=exam.pk)
    if row.state != Exam.State.PREPARING:
        return
    KnownPair.objects.bulk_create(pairs)
    row.state = Exam.State.OPEN
    row.save(update_fields=["state"])
    audit_record(project=exam.project, actor=None, action="exam.open", subject=exam.uuid, pairs=len(pairs))
    logger.info("exam %s open: %s pairs", exam.pk, len(pairs))


FEWEST = 3  # people whose grades make a truth
State = ExamAttempt.State


@transaction.atomic
def exam_close(
    *,
    exam: Exam,
    actor: User,
    confirmed: Collection[int] = (),
    left_out: Collection[int] = (),
    truth_rule: str = Exam.TruthRule.MEDIAN,
    call_off: bool = False,
    now: datetime | None = None,
) -> Exam:
    """End the giving of first grades. A first cohort's truth follows from those who have given them all.

    Who lacks a grade has missed the exam; what is complete but not handed in is handed in. Repeating changes nothing.

    Args:
        confirmed: numbers of people who are not done, and whom closing it leaves out all the same.
        left_out: numbers of people of a first cohort whose grades make no truth, as those far from the anchors.
        truth_rule: how the truth of a first cohort follows from the grades that make it.
        call_off: end a first cohort for which too few people came. By the rule of agreeing majorities, whatever is
            asked: as no majority of three can agree, no pair has a truth, nobody a result, nobody one attempt less.

    Raises:
        ValueError: there is no such rule.
        NotPossible: it is not open, or the grades of too few people of a first cohort would make the truth; or
            there are enough, and it is to be called off.
        Unfinished: somebody else is not done, and that was not confirmed.
    """
    rule = Exam.TruthRule.AGREEING if call_off else Exam.TruthRule(truth_rule)
    row = Exam.objects.select_for_update(of=("self",)).select_related("project").get(pk=exam.pk)
    if row.state == Exam.State.CLOSED:
        return row
    if row.state != Exam.State.OPEN:
        raise NotPossible("This exam is not open.")
    attempts = _locked(row)
    complete = [open_attempt for open_attempt in attempts if not open_attempt.left]
    number_of = annotator_numbers(row.project) if row.kind == Exam.Kind.COHORT else {}
    numbers = {
        open_attempt.exam_attempt_id: number_of[open_attempt.annotator_id]
        for open_attempt in attempts
        if open_attempt.annotator_id in number_of
    }
    out = {exam_attempt_id: number for exam_attempt_id, number in numbers.items() if number in left_out}
    making = [open_attempt.exam_attempt_id for open_attempt in complete if open_attempt.exam_attempt_id not in out]
    if call_off and (row.kind == Exam.Kind.LATER or len(complete) >= FEWEST):
        raise NotPossible(f"{len(complete)} people have given all grades by now: the exam can be closed with a result.")
    if row.kind == Exam.Kind.COHORT and len(making) < FEWEST and not call_off:
        raise NotPossible(_too_few(len(complete), len(making)))
    unfinished = exam_unfinished(row)
    if not set(unfinished) <= set(confirmed):
        raise Unfinished(unfinished)
    counts: dict[str, Any] = {"finished": len(complete), "missed": len(attempts) - len(complete)}
    counts["unfinished"] = unfinished
    if row.kind == Exam.Kind.COHORT:
        row.truth_rule = rule
        truths = _truth_set(row, making)
        counts |= {"truths": truths if rule == Exam.TruthRule.AGREEING else None, "left_out": sorted(out.values())}
    row.state, row.closed_by, row.closed_at = Exam.State.CLOSED, actor, now or timezone.now()
    row.save(update_fields=["state", "closed_by", "closed_at", "truth_rule"])
    for open_attempt in attempts:
        current = attempt_by_id(attempt_id=open_attempt.exam_attempt_id)  # with the truth and the exam closed
        attempt_move(current, State.MISSED if current.left else handed_in(current), now=row.closed_at)
    ExamAttempt.objects.filter(pk__in=out).update(left_out=True)
    audit_record(project=row.project, actor=actor, action="exam.close", subject=row.uuid, **counts)
    if row.kind == Exam.Kind.COHORT:
        EXAM_REPORTS.send(row.pk)
    logger.info("exam %s closed: %s", row.pk, counts)
    return row


def _locked(exam: Exam) -> list[OpenAttempt]:
    """The exam attempts whose first grades are not decided yet, locked in the order of their numbers."""
    going = exam.attempts.filter(state__in=[State.OPEN, State.WAITING]).order_by("pk")
    return [
        attempt_by_id(attempt_id=pk) for pk in list(going.select_for_update(of=("self",)).values_list("pk", flat=True))
    ]


def _too_few(complete: int, making: int) -> str:
    have = "has" if complete == 1 else "have"
    left_out = f", and {complete - making} of them would be left out" if making < complete else ""
    return f"{complete} of at least {FEWEST} people {have} given all grades{left_out}; the truth needs {FEWEST}."


def _truth_set(exam: Exam, attempt_ids: Sequence[int]) -> int:
    """Each pair's truth by the exam's rule from what those people gave it first; how many pairs have one. Pairs that
    were taken out have none, nor those where too few agree."""
    grades: dict[int, list[int]] = {}
    rows = ExamGrade.objects.filter(exam_attempt__in=attempt_ids, try_number=0).values_list("known_pair", "grade")
    for known_id, grade in rows:
        grades.setdefault(known_id, []).append(grade)
    pairs = list(exam.known_pairs.filter(is_retired=False, truth__isnull=True, pk__in=grades))
    agreeing, scale = exam.truth_rule == Exam.TruthRule.AGREEING, rules_of(exam.project)
    for pair in pairs:
        pair.truth = agreed_truth(grades[pair.pk], scale) if agreeing else truth_of(grades[pair.pk])
    KnownPair.objects.bulk_update(pairs, ["truth"])
    return sum(pair.truth is not None for pair in pairs)


RECENT = timedelta(days=2)  # what the sweep looks back at; where nothing was entered yet, at everything
WORDS = 4000  # of an explanation, in characters

ENTER = """
INSERT INTO judging_knownpair (uuid, project_id, query_id, moment_id, rank, source, pair_id, truth, explanation,
    is_retired, created_at)
SELECT gen_random_uuid(), batch.project_id, candidate.query_id, candidate.moment_id, candidate.rank, 'settled', pair.id,
    pair.relevance, '', false, now()
FROM judging_batch batch
JOIN judging_pair pair ON pair.batch_id = batch.id AND pair.state = 'settled'
JOIN annotation_candidate candidate ON candidate.id = pair.candidate_id
JOIN annotation_query query ON query.id = candidate.query_id AND NOT query.is_placeholder
WHERE batch.project_id = %(project)s AND NOT batch.is_pilot
    AND (%(since)s::timestamptz IS NULL OR (batch.state = 'done' AND batch.done_at >= %(since)s::timestamptz))
    AND (SELECT count(*) = batch.judges AND min(given.grade) = max(given.grade) FROM judging_judgment given
        WHERE given.pair_id = pair.id)
    AND NOT EXISTS (SELECT 1 FROM judging_knownpair known WHERE known.pair_id = pair.id)
ON CONFLICT DO NOTHING"""


def known_pairs_enter(*, project_id: int, since: datetime | None = None) -> int:
    """Enter the pairs that a first round settled with equal grades; a repeat enters what is new. Say how many.
    ``since`` looks at batches done since then alone. Pilot batches, whose guideline was a try-out, are left out."""
    with connection.cursor() as cursor:
        cursor.execute(ENTER, {"project": project_id, "since": since})
        return int(cursor.rowcount)


@swept
def known_pairs_sweep(now: datetime) -> None:
    """Enter what was settled lately, project by project; where nothing is entered yet, as after an upgrade, all."""
    lately = Project.objects.filter(batches__done_at__gte=now - RECENT)
    for project_id in lately.values_list("pk", flat=True).distinct():
        known_pairs_enter(project_id=project_id, since=now - RECENT)
    entered = KnownPair.objects.filter(project=OuterRef("pk"), source=KnownPair.Source.SETTLED)
    bare = Project.objects.filter(~Exists(entered), batches__state="done", dataset__corpus__is_placeholder=False)
    for project_id in bare.values_list("pk", flat=True).distinct():
        known_pairs_enter(project_id=project_id)


@transaction.atomic
def known_pair_explain(*, pair: KnownPair, actor: User, explanation: str) -> KnownPair:
    """Say why the truth is what it is; what stood there before is kept in the audit."""
    row = KnownPair.objects.select_for_update(of=("self",), no_key=True).select_related("project").get(pk=pair.pk)
    words = explanation.strip()[:WORDS]
    if words == row.explanation:
        return row
    change = {"was": row.explanation, "becomes": words}
    audit_record(project=row.project, actor=actor, action="known_pair.explain", subject=row.uuid, **change)
    row.explanation = words
    row.save(update_fields=["explanation"])
    return row


@transaction.atomic
def known_pair_anchor(*, pair: KnownPair, actor: User, grade: int | None) -> KnownPair:
    """Give a pair of a first cohort the lead's own grade to compare people with, change it, or take it back (None).
    Raises GradeUnknown: the project has no such grade; NotPossibleNow: its exam is not open, is no first cohort's, or
    somebody has handed in: from then on leads see grades, and an anchor would not be their own."""
    if grade is not None:
        grade_known_or_refused(grade, pair.project.top_grade)
    exam = Exam.objects.select_for_update().filter(pk=pair.exam_id).first() if pair.exam_id else None
    if exam is None or exam.kind != Exam.Kind.COHORT or exam.state != Exam.State.OPEN:
        raise NotPossibleNow("Only pairs of a first cohort that is open get an anchor.")
    attempts = exam.attempts.select_for_update().order_by("pk")
    if any(state != ExamAttempt.State.OPEN for state in attempts.values_list("state", flat=True)):
        raise NotPossibleNow("Somebody has handed in, so anchors are final: they are given before grades are seen.")
    row = KnownPair.objects.select_for_update(of=("self",), no_key=True).select_related("project").get(pk=pair.pk)
    if row.anchor == grade:
        return row
    action = "known_pair.anchor_remove" if grade is None else "known_pair.anchor"
    change = ({} if grade is None else {"grade": grade}) | ({} if row.anchor is None else {"was": str(row.anchor)})
    audit_record(project=row.project, actor=actor, action=action, subject=row.uuid, **change)
    row.anchor = grade
    row.save(update_fields=["anchor"])
    return row


@transaction.atomic
def known_pair_retire(*, pair: KnownPair, actor: User, reason: str, now: datetime) -> KnownPair:
    """Take a pair out: nobody is asked it any more, and feedback rounds go on without it. Repeating changes nothing.
    Raises NotPossible: no reason is given."""
    if not reason.strip():
        raise NotPossible("Say why: the reason is kept with the pair.")
    asking = ExamAttempt.objects.filter(
        known_ids__contains=[pair.pk], state__in=[ExamAttempt.State.OPEN, ExamAttempt.State.FEEDBACK]
    )
    attempts = list(asking.select_for_update().order_by("pk"))  # before the pair, as whoever grades it does
    row = KnownPair.objects.select_for_update(of=("self",), no_key=True).select_related("project").get(pk=pair.pk)
    if row.is_retired:
        return row
    row.is_retired = True
    row.save(update_fields=["is_retired"])
    audit_record(
        project=row.project, actor=actor, action="known_pair.retire", subject=row.uuid, reason=reason.strip()[:1000]
    )
    for attempt in attempts:
        attempt_settle(attempt_id=attempt.pk, now=now)
    logger.info("known pair %s retired", row.pk)
    return row
