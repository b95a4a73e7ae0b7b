"""What leads see of exams: how far people are, and what was given. People are numbers here.

How likely the exam that a lead is about to open lets somebody pass who cannot grade.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

from django.db.models import Count, Q, QuerySet

from accounts.models import Membership, Project
from annotation.models import Query
from judging.models import Exam, KnownPair, Pair, Sitting, SittingGrade
from judging.qualification.rules.draws import TooFew, draw_even
from judging.qualification.rules.passing import PassRule
from judging.qualification.rules.power import (
    MOST,
    OUGHT_TO_FAIL,
    PUBLISHED,
    Chance,
    Grader,
    Truths,
    power,
    truths_drawn,
    truths_of,
)
from judging.qualification.rules.truth import Distance, distance, is_aligned
from judging.qualification.selectors.known_pairs import Known, known_pairs_in_stock, known_pairs_shown
from judging.review.selectors import annotator_numbers

EXAM_SPLITS = (Query.Split.TRAIN.value,)
State = Sitting.State


@dataclass(frozen=True)
class ExamRow:
    """One person's sitting, as a lead sees it."""

    number: int | None
    sitting: Sitting
    graded: int
    asked: int
    regraded: int  # pairs given a later grade


@dataclass(frozen=True)
class AnchorRow:
    """One person who handed in, beside the lead's anchors."""

    number: int | None
    distance: Distance


@dataclass(frozen=True)
class PairRow:
    """A pair of an exam with the first grades by annotator number, misaligned ones marked."""

    known: KnownPair
    grades: list[tuple[int | None, int, bool]]


def exams_of(project: Project) -> QuerySet[Exam]:
    """Newest first, each with how many people sit or sat it."""
    return project.exams.annotate(
        people=Count("sittings"),
        finished=Count("sittings", filter=Q(sittings__state__in=[State.WAITING, State.FEEDBACK, State.DONE])),
        passed=Count("sittings", filter=Q(sittings__passed=True)),
    ).order_by("-number")


def exam_rows(exam: Exam) -> list[ExamRow]:
    """Everybody's sitting, by annotator number."""
    numbers = annotator_numbers(exam.project)
    sittings = exam.sittings.annotate(
        graded=Count("grades", filter=Q(grades__attempt=0)),
        regraded=Count("grades__known_pair", filter=Q(grades__attempt__gt=0), distinct=True),
    )
    rows = [
        ExamRow(numbers.get(sat.annotator_id), sat, sat.graded, len(sat.known_ids), sat.regraded) for sat in sittings
    ]
    return sorted(rows, key=lambda row: (row.number is None, row.number or 0, row.sitting.pk))


def exam_unfinished(exam: Exam) -> list[int]:
    """Annotator numbers of those who have not handed in; in a first cohort also of those who have not begun."""
    asked = Membership.objects.filter(project=exam.project_id, role=Membership.Role.ANNOTATOR)
    undone = Q(user__in=exam.sittings.filter(state=State.OPEN).values("annotator"))
    if exam.kind == Exam.Kind.COHORT:
        undone |= Q(standing=Membership.Standing.EXAM) & ~Q(user__in=exam.sittings.values("annotator"))
    return sorted(number for number in asked.filter(undone).values_list("number", flat=True) if number is not None)


def exam_pairs(exam: Exam) -> list[PairRow]:
    """The pairs of a first cohort by query and rank, each with the first grades that make its truth.

    Left out is what counts for nothing: of who has not handed in, missed the exam, or was left out by the lead.
    """
    numbers = annotator_numbers(exam.project)
    given: dict[int, list[tuple[int | None, int]]] = {}
    rows = SittingGrade.objects.filter(sitting__exam=exam, attempt=0, sitting__left_out=False)
    rows = rows.exclude(sitting__state__in=[State.OPEN, State.MISSED])
    for known_id, annotator, grade in rows.order_by("annotator").values_list("known_pair", "annotator", "grade"):
        given.setdefault(known_id, []).append((numbers.get(annotator), grade))
    asked = exam.known_pairs.select_related("query", "moment__video").order_by("query__number", "rank")
    return [PairRow(known, _marked(known, given.get(known.pk, []))) for known in asked]


def exam_anchors_open(exam: Exam) -> bool:
    """Whether a lead may still give anchors: until somebody hands in."""
    if exam.kind != Exam.Kind.COHORT or exam.state != Exam.State.OPEN:
        return False
    return not exam.sittings.exclude(state=State.OPEN).exists()


def exam_anchor_rows(exam: Exam) -> list[AnchorRow]:
    """Everybody who handed in, by annotator number; empty where the exam has no anchors."""
    given_beforehand = exam.known_pairs.filter(anchor__isnull=False, is_retired=False).values_list("pk", "anchor")
    anchors = {pk: anchor for pk, anchor in given_beforehand if anchor is not None}
    if not anchors:
        return []
    grades: dict[int, dict[int, int]] = {}
    rows = SittingGrade.objects.filter(sitting__exam=exam, attempt=0, known_pair__in=anchors)
    rows = rows.exclude(sitting__state__in=[State.OPEN, State.MISSED])
    for annotator, known_id, grade in rows.values_list("annotator", "known_pair", "grade"):
        grades.setdefault(annotator, {})[known_id] = grade
    numbers = annotator_numbers(exam.project)
    found = [AnchorRow(numbers.get(person), distance(given, anchors)) for person, given in grades.items()]
    return sorted(found, key=lambda row: (row.number is None, row.number or 0))


def _marked(known: KnownPair, given: Sequence[tuple[int | None, int]]) -> list[tuple[int | None, int, bool]]:
    return [
        (number, grade, known.truth is not None and not is_aligned(grade, known.truth))
        for number, grade in sorted(given, key=lambda row: (row[0] is None, row[0] or 0))
    ]


def sittings_of(*, project: Project, annotator_id: int) -> QuerySet[Sitting]:
    """A person's sittings, newest first."""
    found = Sitting.objects.filter(project=project, annotator=annotator_id).select_related("exam")
    return found.order_by("-pk").annotate(graded=Count("grades", filter=Q(grades__attempt=0)))


DRAWS = 8  # of the known pairs, each as one attempt would be asked
IMAGINED = 64  # attempts of truths that are not known yet
FEWEST_SETTLED = 200  # pairs, before their relevance stands for what a first cohort will find
SEED = 20240709


@dataclass(frozen=True)
class ExamPower:
    """What the pass rule is worth on an exam of this kind and size."""

    chances: dict[Grader, Chance]
    truth: str  # where the truths come from: "drawn", "settled" or "published"
    pairs: int
    shown: int = 0  # of the pairs that an attempt asks, those whose truth somebody was told, on average

    @property
    def too_easy(self) -> list[Grader]:
        """Who ought to fail and passes too often."""
        return [grader for grader in OUGHT_TO_FAIL if self.chances[grader].within > MOST]


def exam_power(
    project: Project, *, kind: str, queries: int, depth: int, rule: PassRule, attempts: int
) -> ExamPower | None:
    """How likely who passes such an exam; None where the known pairs do not make one.

    A later exam is drawn as it will be for somebody who has seen nothing. The truth of a first cohort is not known: its
    levels are taken to be as frequent as among the project's settled pairs, or where those are few as published.
    """
    pairs = queries * depth
    if kind == Exam.Kind.STORED:
        stock = tuple(known_pairs_in_stock(project_id=project.pk, splits=EXAM_SPLITS))
        drawn = _drawn(stock, known_pairs_shown(project_id=project.pk), queries, depth)
        if drawn is None:
            return None
        asked, shown = drawn
        return ExamPower(power(asked, rule, attempts=attempts), "drawn", pairs, shown)
    shares = _settled(project)
    truth = "settled" if sum(shares) >= FEWEST_SETTLED else "published"
    asked = truths_drawn(shares if truth == "settled" else PUBLISHED, pairs=pairs, draws=IMAGINED, seed=SEED)
    return ExamPower(power(asked, rule, attempts=attempts), truth, pairs)


@lru_cache(maxsize=8)
def _drawn(
    stock: tuple[Known, ...], shown: Collection[int], queries: int, depth: int
) -> tuple[tuple[Truths, ...], int] | None:
    """What some attempts ask, and how many of their pairs were shown before, on average."""
    pairs = [(known.id, known.query_id, known.truth) for known in stock]
    truth_of = {known.id: known.truth for known in stock}
    asked, before = [], 0
    for seed in range(SEED, SEED + DRAWS):
        drawn = draw_even(pairs, queries=queries, per_query=depth, seed=seed, shown=shown)
        if isinstance(drawn, TooFew):
            return None
        asked.append(truths_of(truth_of[known_id] for known_id in drawn))
        before += sum(known_id in shown for known_id in drawn)
    return tuple(asked), round(before / DRAWS)


def _settled(project: Project) -> tuple[int, ...]:
    """How many pairs of the project are settled on each relevance."""
    rows = Pair.objects.filter(batch__project=project, state=Pair.State.SETTLED).order_by()
    counts = dict(rows.values_list("relevance").annotate(n=Count("pk")))
    return tuple(counts.get(level, 0) for level in range(5))
