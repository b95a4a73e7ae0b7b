"""Exams as leads see them, who would pass one, and the pairs of known truth that may be asked. People are numbers here.

A person has seen a query with a moment when any exam attempt or assignment of theirs holds it, by the query's words, or
when it is shown to everybody: in the tutorial, or as an example of a guideline. Such pairs are not asked again.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any, NamedTuple

from django.db.models import Count, Q, QuerySet

from accounts.models import Membership, Project
from annotation.models import Query
from core.sql import sql_rows
from judging.models import Exam, ExamAttempt, ExamGrade, KnownPair, Pair
from judging.qualification.rules import passing
from judging.qualification.rules.passing import Chance, Grader, PassRule, Truths
from judging.qualification.rules.truth import Distance, TooFew, distance, draw_even, is_aligned
from judging.review.selectors import annotator_numbers
from judging.work.rules import rules_of

EXAM_SPLITS = (Query.Split.TRAIN.value,)
State = ExamAttempt.State


SERVING = """
FROM judging_knownpair known
JOIN annotation_query query ON query.id = known.query_id
JOIN annotation_moment moment ON moment.id = known.moment_id AND moment.preview_state = 'ready'
LEFT JOIN judging_exam exam ON exam.id = known.exam_id
LEFT JOIN judging_pair pair ON pair.id = known.pair_id
WHERE known.project_id = %(project)s AND known.truth IS NOT NULL AND NOT known.is_retired
    AND (exam.state = 'closed' OR pair.state = 'settled')
    AND (%(splits)s::text[] IS NULL OR query.split = ANY (%(splits)s::text[]))"""

UNSEEN = f"""
WITH seen AS MATERIALIZED (
    SELECT query.text, known.moment_id FROM judging_examattempt attempt
    CROSS JOIN LATERAL unnest(attempt.known_ids) AS held (known_id)
    JOIN judging_knownpair known ON known.id = held.known_id
    JOIN annotation_query query ON query.id = known.query_id
    WHERE attempt.annotator_id = %(annotator)s AND attempt.project_id = %(project)s
    UNION
    SELECT query.text, candidate.moment_id FROM judging_assignment asked
    CROSS JOIN LATERAL unnest(asked.pair_ids) AS held (pair_id)
    JOIN judging_pair pair ON pair.id = held.pair_id
    JOIN annotation_candidate candidate ON candidate.id = pair.candidate_id
    JOIN annotation_query query ON query.id = candidate.query_id
    WHERE asked.annotator_id = %(annotator)s AND asked.project_id = %(project)s
    UNION
    SELECT query.text, known.moment_id FROM judging_knownpair known
    JOIN annotation_query query ON query.id = known.query_id
    WHERE known.project_id = %(project)s AND known.tutorial_position IS NOT NULL
    UNION
    SELECT example.query_text, example.moment_id FROM judging_guidelineexample example
    JOIN judging_guideline guideline ON guideline.id = example.guideline_id AND guideline.project_id = %(project)s)
SELECT known.id, known.query_id, known.truth
{SERVING}
    AND NOT EXISTS (SELECT 1 FROM seen WHERE seen.text = query.text AND seen.moment_id = known.moment_id)
ORDER BY known.id"""  # noqa: S608  # nosec B608 - constants

STOCK = f"SELECT known.id, known.query_id, known.truth {SERVING} ORDER BY known.id"

SHOWN = """
SELECT known.id FROM judging_knownpair known
JOIN annotation_query query ON query.id = known.query_id
WHERE known.project_id = %(project)s AND (query.text, known.moment_id) IN (
    SELECT of.text, shown.moment_id FROM judging_examattempt sat
    JOIN judging_examgrade given ON given.exam_attempt_id = sat.id AND given.try_number = 0
    JOIN judging_knownpair shown ON shown.id = given.known_pair_id AND shown.truth IS NOT NULL
    JOIN annotation_query of ON of.id = shown.query_id
    WHERE sat.project_id = %(project)s AND (sat.purpose <> 'exam'
        OR sat.state IN ('feedback', 'done')))"""


class Known(NamedTuple):
    """A pair that may be asked, and what is known of it."""

    id: int
    query_id: int
    truth: Decimal


def known_pairs_unseen(*, project_id: int, annotator_id: int, splits: Collection[str] | None = None) -> list[Known]:
    """Return pairs that are new to this person; of these splits, or of all."""
    values = {"project": project_id, "annotator": annotator_id, "splits": None if splits is None else list(splits)}
    return [Known(*row) for row in sql_rows(UNSEEN, values)]


def known_pairs_in_stock(*, project_id: int) -> list[Known]:
    """Return pairs that an exam may ask of somebody who has seen nothing."""
    return [Known(*row) for row in sql_rows(STOCK, {"project": project_id, "splits": list(EXAM_SPLITS)})]


def known_pairs_shown(*, project_id: int) -> frozenset[int]:
    """Pairs whose truth was shown to somebody, by the query's words: in a tutorial, a warm-up or an exam's result. An
    exam's result reveals every pair graded: where the grade is off by more than one, or that it is not."""
    return frozenset(known_id for (known_id,) in sql_rows(SHOWN, {"project": project_id}))


@dataclass(frozen=True)
class ExamRow:
    """One person's attempt, as a lead sees it."""

    number: int | None
    exam_attempt: ExamAttempt
    graded: int
    n_pairs: int
    regraded: int  # pairs given a later grade


@dataclass(frozen=True)
class PairRow:
    """A pair of an exam with the first grades by annotator number, misaligned ones marked."""

    known: KnownPair
    grades: list[tuple[int | None, int, bool]]


def exams_of(project: Project) -> QuerySet[Exam]:
    """Newest first, each with how many people sit or sat it."""
    return project.exams.annotate(
        people=Count("attempts"),
        finished=Count("attempts", filter=Q(attempts__state__in=[State.WAITING, State.FEEDBACK, State.DONE])),
        passed=Count("attempts", filter=Q(attempts__passed=True)),
    ).order_by("-number")


def exam_rows(exam: Exam) -> list[ExamRow]:
    """Everybody's attempt, by annotator number."""
    numbers = annotator_numbers(exam.project)
    attempts = exam.attempts.annotate(
        graded=Count("grades", filter=Q(grades__try_number=0)),
        regraded=Count("grades__known_pair", filter=Q(grades__try_number__gt=0), distinct=True),
    )
    rows = [
        ExamRow(numbers.get(sat.annotator_id), sat, sat.graded, len(sat.known_ids), sat.regraded) for sat in attempts
    ]
    return sorted(rows, key=lambda row: (by_number(row.number), row.exam_attempt.pk))


def exam_unfinished(exam: Exam) -> list[int]:
    """Annotator numbers of those who have not handed in; in a first cohort also of those who have not begun."""
    annotators = Membership.objects.filter(project=exam.project_id, roles=[Membership.Role.ANNOTATOR])
    undone = Q(user__in=exam.attempts.filter(state=State.OPEN).values("annotator"))
    if exam.kind == Exam.Kind.COHORT:
        undone |= Q(status=Membership.Status.EXAM) & ~Q(user__in=exam.attempts.values("annotator"))
    return sorted(number for number in annotators.filter(undone).values_list("number", flat=True) if number is not None)


def exam_pairs(exam: Exam) -> list[PairRow]:
    """The pairs of a first cohort by query and rank, each with the first grades that make its truth. Left out is what
    counts for nothing: of who has not handed in, missed the exam, or was left out by the lead."""
    numbers, max_spread = annotator_numbers(exam.project), exam.project.max_spread
    pairs = exam.known_pairs.select_related("query", "moment__video").order_by("query__number", "rank")
    rows = {pair.pk: PairRow(pair, []) for pair in pairs}
    for annotator, known_id, grade in _first_grades(exam, exam_attempt__left_out=False, known_pair__exam=exam):
        truth = rows[known_id].known.truth
        is_far = truth is not None and not is_aligned(grade, truth, max_spread)
        rows[known_id].grades.append((numbers.get(annotator), grade, is_far))
    for row in rows.values():
        row.grades.sort(key=lambda grade: by_number(grade[0]))
    return list(rows.values())


def _first_grades(exam: Exam, **conditions: Any) -> Iterable[tuple[int, int, int]]:
    """Annotator, pair and first grade, of everybody who has handed in."""
    rows = ExamGrade.objects.filter(exam_attempt__exam=exam, try_number=0, **conditions)
    rows = rows.exclude(exam_attempt__state__in=[State.OPEN, State.MISSED]).order_by("annotator")
    return rows.values_list("annotator", "known_pair", "grade")


def by_number(number: int | None) -> tuple[bool, int]:
    """Key to sort by annotator number; who has none comes last."""
    return number is None, number or 0


def exam_anchor_rows(exam: Exam) -> list[tuple[int | None, Distance]]:
    """Everybody who handed in, by annotator number, beside the lead's anchors; empty where the exam has none."""
    given_beforehand = exam.known_pairs.filter(anchor__isnull=False, is_retired=False).values_list("pk", "anchor")
    anchors = {pk: anchor for pk, anchor in given_beforehand if anchor is not None}
    if not anchors:
        return []
    grades: dict[int, dict[int, int]] = {}
    for annotator, known_id, grade in _first_grades(exam, known_pair__in=anchors):
        grades.setdefault(annotator, {})[known_id] = grade
    numbers, scale = annotator_numbers(exam.project), rules_of(exam.project)
    beside = partial(distance, anchors=anchors, scale=scale, error_share=passing.misaligned_share(scale))
    anchor_rows = [(numbers.get(person), beside(own)) for person, own in grades.items()]
    return sorted(anchor_rows, key=lambda row: by_number(row[0]))


def attempts_of(*, project: Project, annotator_id: int) -> QuerySet[ExamAttempt]:
    """A person's exam attempts, newest first."""
    attempts = ExamAttempt.objects.filter(project=project, annotator=annotator_id).select_related("exam")
    return attempts.order_by("-pk").annotate(graded=Count("grades", filter=Q(grades__try_number=0)))


DRAWS = 8  # of the known pairs, each as one attempt would be asked
IMAGINED = 64  # attempts of truths that are not known yet
FEWEST_SETTLED = 200  # pairs, before their relevance stands for what a first cohort will find
SEED = 20240709


@dataclass(frozen=True)
class ExamPower:
    """Power of the pass rule on an exam of this kind and size."""

    chances: dict[Grader, Chance]
    truth: str  # where the truths come from: "drawn", "settled" or "published"
    pairs: int
    shown: int = 0  # of the pairs that an attempt asks, those whose truth was shown to somebody, on average

    @property
    def too_easy(self) -> list[Grader]:
        """Who ought to fail and passes too often."""
        return [one for one in passing.OUGHT_TO_FAIL if one in self.chances and self.chances[one].within > passing.MOST]


def exam_power(
    project: Project, *, kind: str, queries: int, depth: int, rule: PassRule, attempts: int
) -> ExamPower | None:
    """How likely who passes such an exam; None where the known pairs do not make one. A later exam is drawn as it will
    be for somebody who has seen nothing. The truth of a first cohort is not known: its levels are taken to be as
    frequent as among the project's settled pairs, or where those are few as published."""
    pairs, grades = queries * depth, rules_of(project).grades
    if kind == Exam.Kind.LATER:
        stock = tuple(known_pairs_in_stock(project_id=project.pk))
        draw = _drawn(stock, known_pairs_shown(project_id=project.pk), queries, depth, grades)
        if draw is None:
            return None
        attempt_truths, n_shown = draw
        return ExamPower(passing.power(attempt_truths, rule, attempts=attempts), "drawn", pairs, n_shown)
    settled = Pair.objects.filter(batch__project=project, state=Pair.State.SETTLED).order_by()
    counts = dict(settled.values_list("relevance").annotate(n=Count("pk")))
    shares = [counts.get(level, 0) for level in grades]
    truth = "settled" if sum(shares) >= FEWEST_SETTLED else "published"
    attempt_truths = passing.truths_drawn(
        shares if truth == "settled" else passing.expected_shares(len(grades)), pairs=pairs, draws=IMAGINED, seed=SEED
    )
    return ExamPower(passing.power(attempt_truths, rule, attempts=attempts), truth, pairs)


@lru_cache(maxsize=8)
def _drawn(
    stock: tuple[Known, ...], shown_before: Collection[int], queries: int, depth: int, grades: range
) -> tuple[tuple[Truths, ...], int] | None:
    """Return truths of some attempts, and how many of their pairs were shown before, on average."""
    truth_of = {pair.id: pair.truth for pair in stock}
    attempt_truths, before = [], 0
    for seed in range(SEED, SEED + DRAWS):
        pair_ids = draw_even(
            stock, queries=queries, per_query=depth, grades=grades, seed=seed, shown_before=shown_before
        )
        if isinstance(pair_ids, TooFew):
            return None
        attempt_truths.append(passing.truths_of((truth_of[known_id] for known_id in pair_ids), len(grades)))
        before += sum(known_id in shown_before for known_id in pair_ids)
    return tuple(attempt_truths), round(before / DRAWS)
