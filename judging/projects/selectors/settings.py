"""What the pages of settings read: clips to choose from, training material, the gate's figures, earlier policies."""

from collections import Counter
from itertools import pairwise
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet

from accounts.models import Project
from annotation.models import Caption, Moment, Query
from judging.guidelines.models import POLICY_VALUES
from judging.models import GateAttempt, GateQuestion, KnownPair, Policy
from judging.review.selectors import annotator_numbers
from judging.work.rules import GRADES

CLIPS = 24


class Clip(NamedTuple):
    moment: Moment
    caption: str


def clips_matching(project: Project, *, words: str, first: UUID | None = None) -> list[Clip]:
    """Moments with a preview whose caption holds the words; without words, those drawn for training.

    The one called ``first`` leads the list, whether it matches or not.
    """
    moments = moments_of(project)
    words = words.replace("\0", "").strip()
    if words:
        said = Caption.objects.filter(moment=OuterRef("pk"), text__icontains=words)
        found = moments.filter(Exists(said))
    else:
        drawn = KnownPair.objects.filter(project=project, source=KnownPair.Source.LEAD, moment=OuterRef("pk"))
        found = moments.filter(Exists(drawn))
    chosen = list(moments.filter(uuid=first)) if first else []
    chosen += [moment for moment in found.order_by("pk")[:CLIPS] if moment not in chosen]
    return [Clip(moment, caption_of(moment)) for moment in chosen]


def moments_of(project: Project) -> QuerySet[Moment]:
    """Every moment of the project's corpus that can be watched."""
    ready = Moment.objects.filter(video__corpus=project.dataset.corpus_id, preview_state=Moment.Preview.READY)
    return ready.select_related("video").prefetch_related("captions")


def caption_of(moment: Moment) -> str:
    return next((caption.text for caption in moment.captions.all()), "")


def training_queries(project: Project, *, show: str) -> QuerySet[Query]:
    """Queries with drawn pairs, those drawn last first; ``show`` all, only with pairs to grade, or with graded ones."""
    drawn = KnownPair.objects.filter(project=project, source=KnownPair.Source.LEAD, query=OuterRef("pk"))
    if show == "open":
        drawn = drawn.filter(truth__isnull=True)
    elif show == "graded":
        drawn = drawn.filter(truth__isnull=False)
    return Query.objects.filter(Exists(drawn), project=project).order_by("-pk")


def training_pairs(query: Query) -> list[tuple[KnownPair, str]]:
    """The drawn pairs of a query with their captions; near ones by rank, then the others."""
    drawn = query.known_pairs.filter(source=KnownPair.Source.LEAD).select_related("moment__video")
    pairs = drawn.prefetch_related("moment__captions").order_by("rank", "pk")
    return [(pair, caption_of(pair.moment)) for pair in pairs]


def tutorial_shown(project: Project) -> list[KnownPair]:
    held = project.known_pairs.filter(tutorial_position__isnull=False).select_related("query", "moment")
    return list(held.order_by("tutorial_position"))


def tutorial_levels(pairs: list[KnownPair]) -> list[tuple[int, int]]:
    """How many pairs of the tutorial have each grade."""
    counted = Counter(int(pair.truth) for pair in pairs if pair.truth is not None)
    return [(grade, counted[grade]) for grade in GRADES]


class QuestionFigures(NamedTuple):
    question: GateQuestion
    asked: int
    right: int


def gate_figures(project: Project) -> list[QuestionFigures]:
    """Every question with how often it was answered, and how often rightly."""
    asked, right = Counter[str](), Counter[str]()
    for attempt in GateAttempt.objects.filter(project=project, answered_at__isnull=False):
        for question, answer in zip(attempt.asked, attempt.answers, strict=True):
            asked[question["question"]] += 1
            right[question["question"]] += question["correct"] == answer
    questions = GateQuestion.objects.filter(project=project).select_related("moment").order_by("pk")
    return [QuestionFigures(row, asked[str(row.uuid)], right[str(row.uuid)]) for row in questions]


def gate_takers(project: Project) -> list[tuple[int | None, list[GateAttempt]]]:
    """Answered attempts by annotator number."""
    numbers = annotator_numbers(project)
    taken: dict[int, list[GateAttempt]] = {}
    for attempt in GateAttempt.objects.filter(project=project, answered_at__isnull=False).order_by("pk"):
        taken.setdefault(attempt.annotator_id, []).append(attempt)
    rows = [(numbers.get(person), attempts) for person, attempts in taken.items()]
    return sorted(rows, key=lambda row: -1 if row[0] is None else row[0])


def gate_clips(asked: list[dict[str, Any]]) -> dict[str, Moment]:
    """The moments of an attempt's questions, by their UUID as text."""
    found = Moment.objects.filter(uuid__in=[question["moment"] for question in asked])
    return {str(moment.uuid): moment for moment in found}


class PolicyStep(NamedTuple):
    """A version and what it changed: the value's name, before, after."""

    policy: Policy
    changed: list[tuple[str, object, object]]


def policy_history(project: Project) -> list[PolicyStep]:
    """All versions, the newest first."""
    versions = list(project.policies.order_by("version"))
    steps = [PolicyStep(versions[0], [])] if versions else []
    for before, after in pairwise(versions):
        pairs = [(name, getattr(before, name), getattr(after, name)) for name in POLICY_VALUES]
        steps.append(PolicyStep(after, [(name, old, new) for name, old, new in pairs if old != new]))
    return steps[::-1]
