"""How likely the exam that a lead is about to open lets somebody pass who cannot grade."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

from django.db.models import Count

from annotation.models import Project
from judging.models import Exam, Pair
from judging.rules.exam import PassRule, TooFew, draw_even
from judging.rules.exam.power import (
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
from judging.selectors.exams import EXAM_SPLITS
from judging.selectors.known_pairs import Known, known_pairs_in_stock, known_pairs_shown

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
