"""The filters of a figure's address, and the counts that figures are drawn from."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple
from uuid import UUID

from django.core.paginator import Page, Paginator
from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Sum
from django.http import QueryDict

from accounts.models import Project
from annotation.models import Moment, NamedQuerySet, PoolEntry, Pooling, Query
from annotation.pools.services.poolings import RANDOM
from annotation.statistics.selectors import span_figures
from core.sql import sql_rows
from core.texts import uuid_or_none
from judging.figures.rules import GradesOfDay, Relevances, relevances_by
from judging.models import Batch, BatchReview, Judgment, JudgmentDay, Pair
from judging.quality.rules.agreement import Weights
from judging.review.selectors import annotator_numbers
from judging.work.rules import Rules, rules_of

PAIRS = """
SELECT pair.id, pair.state, pair.relevance, pair.candidate_id
FROM judging_pair pair
JOIN judging_batch batch ON batch.id = pair.batch_id AND batch.project_id = %(project_id)s
    AND (%(pilot)s OR NOT batch.is_pilot) AND (%(pooled)s OR batch.pooling_id IS NULL)
JOIN annotation_query query ON query.id = batch.query_id
    AND (%(split)s = '' OR query.split = %(split)s)
    AND (%(query_set_id)s::bigint IS NULL OR query.query_set_id = %(query_set_id)s::bigint)
WHERE (%(simulated)s OR NOT EXISTS (
    SELECT 1 FROM judging_judgment program
    WHERE program.pair_id = pair.id AND 'simulated' IN (program.source, program.origin)))"""

# materialized, so that a small project beside a large one is not planned as if it were large
CHOSEN = "WITH chosen AS MATERIALIZED (" + PAIRS + ")"


@dataclass(frozen=True)
class Scope:
    """Pairs of a project: of one split and one query set or of all. Those of pilots, of programs, and of batches that
    came behind the candidates by similarity are with them or not."""

    project_id: int
    split: str = ""
    query_set_id: int | None = None
    simulated: bool = True
    pilot: bool = False
    pooled: bool = False

    def rows(self, statement: str, *, before: str = CHOSEN, **parameters: Any) -> list[Any]:
        """Return the rows of a statement over ``chosen``; or over ``PAIRS`` in another way, with nothing ``before``."""
        return sql_rows(before + statement, vars(self) | parameters)


class FigureFilters:
    """The filters of a figure's address, in a project; one that makes no sense is as if it were not there."""

    def __init__(self, project: Project, parameters: QueryDict) -> None:
        self.project, self.parameters = project, parameters
        split, weights = parameters.get("split", ""), parameters.get("weights", "")
        self.split = split if split in Query.Split.values else ""
        self.weights = Weights(weights) if weights in list(Weights) else Weights.QUADRATIC
        self.words = parameters.get("q", "").replace("\0", "").strip()
        self.pilot, self.pooled = "pilot" in parameters, "pooled" in parameters

    @cached_property
    def query_sets(self) -> list[NamedQuerySet]:
        return list(self.project.query_sets.order_by("name"))

    @cached_property
    def query_set(self) -> NamedQuerySet | None:
        uuid = uuid_or_none(self.parameters.get("set", ""))
        return next((row for row in self.query_sets if row.uuid == uuid), None)

    @cached_property
    def has_simulated(self) -> bool:
        return self.project.memberships.filter(user__is_simulated=True).exists()

    @cached_property
    def may_leave_out_simulated(self) -> bool:
        by_people = Judgment.objects.filter(assignment__project=self.project, source=Judgment.Source.PERSON)
        return self.has_simulated and by_people.exists()

    @cached_property
    def rules(self) -> Rules:
        return rules_of(self.project)

    @property
    def simulated(self) -> bool:
        """Whether grades of programs are drawn, too: unless people's alone are requested."""
        return not ("people" in self.parameters and self.may_leave_out_simulated)

    @cached_property
    def simulated_judgments(self) -> tuple[int, int]:
        """How many judgments of the project are simulated, of how many."""
        sums = JudgmentDay.objects.filter(project=self.project).aggregate(
            simulated=Sum("simulated", default=0), judgments=Sum("judgments", default=0)
        )
        return sums["simulated"], sums["judgments"]

    @cached_property
    def has_pilots(self) -> bool:
        return self.project.batches.filter(is_pilot=True).exists()

    @cached_property
    def has_pooled(self) -> bool:
        return self.project.batches.filter(pooling__isnull=False).exists()

    @cached_property
    def annotators(self) -> dict[int, int]:
        """Account by number."""
        return {number: user for user, number in sorted(annotator_numbers(self.project).items())}

    @cached_property
    def annotator(self) -> int | None:
        """The number of the one that is asked for."""
        number = self.parameters.get("annotator", "")
        return int(number) if number.isascii() and number.isdigit() and int(number) in self.annotators else None

    @property
    def scope(self) -> Scope:
        query_set_id = self.query_set.pk if self.query_set else None
        return Scope(self.project.pk, self.split, query_set_id, self.simulated, self.pilot, self.pooled)

    @property
    def in_words(self) -> str:
        """The scope of the filters, for titles of files."""
        parts = [
            f"split {self.split}" if self.split else "",
            f"query set {self.query_set}" if self.query_set else "",
            "without simulated annotators" if self.has_simulated and not self.simulated else "",
            "with pilots" if self.pilot else "",
            "with pools" if self.pooled else "",
        ]
        return ", ".join([str(self.project), *filter(None, parts)])


BY_DAY = """
, judged AS (
    SELECT (max(given.created_at) AT TIME ZONE %(zone)s)::date AS day,
        array_agg(given.grade ORDER BY given.grade) AS grades
    FROM chosen JOIN judging_judgment given ON given.pair_id = chosen.id
    JOIN judging_assignment held ON held.id = given.assignment_id
        AND held.project_id = %(project_id)s AND held.state <> 'open'
    WHERE given.round = 1 GROUP BY given.pair_id HAVING count(*) = %(judges)s)
SELECT day, grades, count(*) FROM judged GROUP BY 1, 2"""

SHARED = """
, given AS MATERIALIZED (
    SELECT given.pair_id, given.annotator_id, given.grade
    FROM chosen JOIN judging_judgment given ON given.pair_id = chosen.id AND given.occurrence = 0
    LEFT JOIN judging_assignment held ON held.id = given.assignment_id
    WHERE held.id IS NULL OR held.state <> 'open')
SELECT one.annotator_id, other.annotator_id, one.grade, other.grade, count(*)
FROM given one JOIN given other ON other.pair_id = one.pair_id AND other.annotator_id > one.annotator_id
GROUP BY 1, 2, 3, 4"""


def agreement_by_day(scope: Scope, *, zone: str, judges: int) -> list[GradesOfDay]:
    """Count the pairs whose first round is complete by the day of its last grade and by their grades. Imported
    judgments say nothing about time and are left out."""
    return [GradesOfDay(*row) for row in scope.rows(BY_DAY, zone=zone, judges=judges)]


def grades_shared(scope: Scope) -> list[tuple[int, int, int, int, int]]:
    """Two annotators, by account, and how often the first gave a grade where the second gave another."""
    return scope.rows(SHARED)


PER_PAGE = 6

MATCHING = """
SELECT query.id FROM annotation_query query WHERE query.id IN (
    SELECT candidate.query_id FROM chosen JOIN annotation_candidate candidate ON candidate.id = chosen.candidate_id
    WHERE chosen.state = 'settled')
AND (%(words)s = '' OR strpos(lower(query.text), lower(%(words)s)) > 0 OR query.number::text = %(words)s)
ORDER BY query.number"""

CASES = """
SELECT candidate.query_id, candidate.rank, chosen.relevance, chosen.state, candidate.similarity,
    coalesce((SELECT caption.text FROM annotation_caption caption
        WHERE caption.moment_id = candidate.moment_id AND caption.state IN ('accepted', 'edited')
        ORDER BY caption.id LIMIT 1), ''),
    CASE WHEN moment.preview_state = 'ready' THEN moment.preview_uuid END
FROM chosen JOIN annotation_candidate candidate ON candidate.id = chosen.candidate_id
JOIN annotation_moment moment ON moment.id = candidate.moment_id
WHERE candidate.query_id = ANY(%(queries)s) ORDER BY candidate.rank"""


class Judged(NamedTuple):
    """A candidate as it was judged, its caption, and its preview where there is one."""

    rank: int
    relevance: int | None
    state: str
    similarity: float | None
    caption: str
    preview: UUID | None


def cases(scope: Scope, *, words: str, page: str | None) -> tuple[Page[int], list[tuple[Query, list[Judged]]]]:
    """Return one page of the queries with a settled pair whose text holds the words, or whose number they are; each
    with its judged candidates by rank."""
    matching = [query_id for (query_id,) in scope.rows(MATCHING, words=words)]
    case_page: Page[int] = Paginator(matching, PER_PAGE).get_page(page)
    ids = list(case_page)
    queries = Query.objects.in_bulk(ids)
    by_query: dict[int, list[Judged]] = {query_id: [] for query_id in ids}
    for query_id, *candidate in scope.rows(CASES, queries=ids):
        by_query[query_id].append(Judged(*candidate))
    return case_page, [(queries[query_id], candidates) for query_id, candidates in by_query.items()]


LATEST = 100_000  # judgments looked at, so that the page stays quick in a large project

# pairs are looked at one by one: the latest judgments are found without counting the others
EFFECTS = f"""
WITH latest AS MATERIALIZED (
    SELECT given.pair_id, given.annotator_id, given.grade, given.position, given.previous_grade
    FROM judging_judgment given JOIN judging_assignment held ON held.id = given.assignment_id
    WHERE held.project_id = %(project_id)s AND held.state <> 'open'
        AND (%(annotator)s::bigint IS NULL OR given.annotator_id = %(annotator)s::bigint)
        AND (false OR EXISTS ({PAIRS} AND pair.id = given.pair_id))
    ORDER BY given.id DESC LIMIT %(latest)s),
compared AS (
    SELECT latest.*, latest.grade - (
        SELECT avg(other.grade) FROM judging_judgment other
        JOIN judging_assignment held ON held.id = other.assignment_id AND held.state <> 'open'
        WHERE other.pair_id = latest.pair_id AND other.annotator_id <> latest.annotator_id) AS deviation
    FROM latest)
SELECT grouping(position), position, previous_grade, count(*), avg(grade)::float, avg(deviation)::float,
    1.96 * stddev_samp(deviation)::float / sqrt(count(deviation))
FROM compared GROUP BY GROUPING SETS ((position), (previous_grade)) ORDER BY 1, 2, 3 NULLS FIRST"""  # noqa: S608  # nosec B608 - constants


class Effect(NamedTuple):
    """Mean grade, and mean deviation from the others' grade on the same pair, of the judgments in one group.

    The order is shuffled, so position says nothing about relevance and mean grades by position should be level: a slope
    is fatigue or drift. Pairs judged one after the other share a query, so a plain mean by previous grade mixes
    anchoring with how relevant the query's moments are; the deviation from what others gave the same pair does not.
    Sources: Shokouhi, White, Yilmaz, SIGIR 2015 (anchoring); Scholer, Turpin, Sanderson, SIGIR 2011 (drift).
    """

    group: int | None  # position from 1, or previous grade; None: nothing before
    n: int
    mean: float
    deviation: float | None  # None where nobody else graded these pairs
    half_width: float | None  # of the 95 % interval of the deviation; None for fewer than two


class OrderEffects(NamedTuple):
    """Effects over the latest judgments of ended assignments; ``judgments`` says how many."""

    by_position: list[Effect]
    by_previous: list[Effect]

    @property
    def judgments(self) -> int:
        return sum(effect.n for effect in self.by_position)


def order_effects(scope: Scope, *, annotator_id: int | None = None) -> OrderEffects:
    """Effects of everybody, or of one annotator."""
    effects = OrderEffects([], [])
    rows = scope.rows(EFFECTS, before="", annotator=annotator_id, latest=LATEST)
    for is_previous, position, previous, *figures in rows:
        if is_previous:
            effects.by_previous.append(Effect(previous, *figures))
        else:
            effects.by_position.append(Effect(position, *figures))
    return effects


STEPS = 20  # bins of similarity between 0 and 1

# Settled pairs with similarity and rank: of a candidate by similarity its own, of one that a coverage study added those
# that the study keeps. What was drawn by chance has a rank, but stands for none: it is_random.
RANKED = """
, ranked AS (
    SELECT candidate.query_id, chosen.relevance, coalesce(candidate.similarity, entry.similarity) AS similarity,
        CASE WHEN candidate.source = 'similarity' THEN candidate.rank ELSE entry.similarity_rank END AS rank,
        entry.name = %(random)s AS is_random
    FROM chosen JOIN annotation_candidate candidate ON candidate.id = chosen.candidate_id
    LEFT JOIN LATERAL (
        SELECT entry.similarity, entry.similarity_rank, source.name FROM annotation_poolsource source
        JOIN annotation_poolanswer answer ON answer.source_id = source.id AND answer.query_id = candidate.query_id
        JOIN annotation_poolentry entry ON entry.answer_id = answer.id AND entry.moment_id = candidate.moment_id
        WHERE source.pooling_id = candidate.pooling_id AND entry.similarity IS NOT NULL LIMIT 1) entry ON true
    WHERE chosen.state = 'settled')"""
BY_SIMILARITY = f"""{RANKED}
SELECT least(floor(round(similarity * 1000000) / %(width)s)::int, %(last)s), relevance, count(*)
FROM ranked WHERE similarity IS NOT NULL GROUP BY 1, 2"""  # noqa: S608  # nosec B608 - constants
BY_RANK = f"""{RANKED}
SELECT CASE WHEN is_random THEN 0 ELSE rank END, relevance, count(*) FROM ranked WHERE rank IS NOT NULL GROUP BY 1, 2"""  # noqa: S608  # nosec B608 - constants
OF_STUDIES = f"""{RANKED}
SELECT query.number, query.text, ranked.similarity, ranked.rank, coalesce(ranked.is_random, false), ranked.relevance
FROM ranked JOIN annotation_query query ON query.id = ranked.query_id
WHERE ranked.similarity IS NOT NULL AND query.number IN (
    SELECT query.number FROM annotation_poolanswer answer
    JOIN annotation_query query ON query.id = answer.query_id AND query.project_id = %(project_id)s
    JOIN annotation_poolsource source ON source.id = answer.source_id AND source.name = %(random)s
    JOIN annotation_pooling study ON study.id = source.pooling_id AND study.state IN ('opening', 'done')
    ORDER BY study.id DESC, query.number LIMIT %(most)s)
ORDER BY query.number, ranked.rank"""  # noqa: S608  # nosec B608 - constants

OF_EQUAL = """
SELECT 0, chosen.relevance, count(*)
FROM chosen JOIN annotation_candidate candidate ON candidate.id = chosen.candidate_id
WHERE chosen.state = 'settled' AND candidate.similarity >= 1 GROUP BY 2"""

COUNTED = "SELECT 0, relevance, count(*) FROM chosen WHERE state = 'settled' GROUP BY 2"

RANGES = """
, extremes AS (
    SELECT min(given.grade) AS low, max(given.grade) AS high
    FROM chosen JOIN judging_judgment given ON given.pair_id = chosen.id
    LEFT JOIN judging_assignment held ON held.id = given.assignment_id
    WHERE chosen.state IN ('settled', 'escalated', 'dropped') AND (held.id IS NULL OR held.state <> 'open')
    GROUP BY given.pair_id)
SELECT low, high, count(*) FROM extremes GROUP BY 1, 2 ORDER BY 1, 2"""


def relevance_by_similarity(scope: Scope, scale: Rules) -> dict[int, Relevances]:
    """Settled pairs by step of similarity; step i is from i / STEPS to below (i + 1) / STEPS, the last with its end."""
    rows = scope.rows(BY_SIMILARITY, random=RANDOM, width=1_000_000 / STEPS, last=STEPS - 1)
    return relevances_by(rows, scale)


def relevance_of_equal_captions(scope: Scope, scale: Rules) -> Relevances:
    """Settled pairs whose caption is as good as the query: of similarity 1."""
    return relevances_by(scope.rows(OF_EQUAL), scale).get(0, Relevances.none(scale))


def relevance_of_ranks(scope: Scope, scale: Rules) -> dict[int, Relevances]:
    """Settled pairs by rank; group 0 holds what coverage studies drew by chance."""
    return relevances_by(scope.rows(BY_RANK, random=RANDOM), scale)


class StudiedPair(NamedTuple):
    """A settled pair of a query of a coverage study: its own candidates, and what the study added."""

    number: int
    text: str
    similarity: float
    rank: int
    is_random: bool
    relevance: int


MOST_STUDIED = 10  # queries that have a colour of their own, as many as the paper studied


def has_unmeasured_studies(project_id: int) -> bool:
    """Say whether a coverage study that was opened keeps no similarity of what it judges."""
    entries = PoolEntry.objects.filter(answer__source__pooling__project=project_id, similarity=None)
    states = [Pooling.State.OPENING, Pooling.State.DONE]
    return entries.filter(
        answer__source__pooling__seed__isnull=False, answer__source__pooling__state__in=states
    ).exists()


def pairs_of_studies(scope: Scope) -> list[StudiedPair]:
    """Return the settled pairs of the newest ten queries of coverage studies, each query's by rank."""
    return [StudiedPair(*row) for row in scope.rows(OF_STUDIES, random=RANDOM, most=MOST_STUDIED)]


def relevance_counted(scope: Scope, scale: Rules) -> Relevances:
    return relevances_by(scope.rows(COUNTED), scale).get(0, Relevances.none(scale))


def grade_ranges(scope: Scope) -> dict[tuple[int, int], int]:
    """How many pairs have which lowest and highest final grade, of those whose first round is complete."""
    return {(low, high): n for low, high, n in scope.rows(RANGES)}


def judged_figures(project: Project, split: str, *, finished: QuerySet[Query]) -> dict[str, Any]:
    """Of a split's settled pairs, whatever batch they are of; pilot batches are left out.

    How many moments are relevant is known of ``finished`` queries alone. A query has one batch when it was closed after
    its first, two when it was given a second. Of historic pairs the moments are not known.
    """
    pairs = Pair.objects.filter(batch__project=project, batch__query__split=split, batch__is_pilot=False)
    settled = pairs.filter(state=Pair.State.SETTLED)
    relevant = Q(state=Pair.State.SETTLED, relevance__gte=1)
    counts = pairs.aggregate(
        settled=Count("pk", filter=Q(state=Pair.State.SETTLED)),
        dropped=Count("pk", filter=Q(state=Pair.State.DROPPED)),
        relevant=Count("pk", filter=relevant),
        judged=Count("batch__query", filter=Q(state=Pair.State.SETTLED), distinct=True),
    )
    of_finished = pairs.filter(batch__query__in=finished.values("pk")).aggregate(
        queries=Count("batch__query", distinct=True), relevant=Count("pk", filter=relevant)
    )
    moments = Moment.objects.filter(pk__in=settled.values("candidate__moment"), video__corpus__is_placeholder=False)
    decided = counts["settled"] + counts["dropped"]
    second = Batch.objects.filter(query=OuterRef("query"), number=2)
    closed = BatchReview.objects.filter(batch=OuterRef("pk"), decision=BatchReview.Decision.CLOSE)
    firsts = Batch.objects.filter(project=project, query__split=split, number=1, is_pilot=False)
    batches = firsts.annotate(has_second=Exists(second), is_closed=Exists(closed)).aggregate(
        one=Count("pk", filter=Q(has_second=False, is_closed=True)), two=Count("pk", filter=Q(has_second=True))
    )
    n_reviewed = batches["one"] + batches["two"]
    return {
        **span_figures(moments),
        **counts,
        "consensus": 100 * counts["settled"] / decided if decided else None,
        "relevant_per_query": of_finished["relevant"] / of_finished["queries"] if of_finished["queries"] else None,
        "one_batch": batches["one"],
        "two_batches": batches["two"],
        **{f"{name}_share": 100 * n / n_reviewed if n_reviewed else None for name, n in batches.items()},
    }
