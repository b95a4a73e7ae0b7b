"""Score runs on a release, and test runs against each other: computed by tasks, written once."""

import logging
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

import numpy as np
from django.core.files.storage import default_storage
from django.db import OperationalError, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.crypto import salted_hmac

from annotation.models import Video
from core.exceptions import MomentJudgeError
from core.jobs import durable, swept
from core.messages import send_on_commit
from core.sql import only_one
from judging.models import Release
from models_runner.leaderboard.models import ATTEMPTS
from models_runner.leaderboard.services.truths import truth_table
from models_runner.models import PerQuery, Run, Score, ScoreTest, Scoring
from moment_retrieval import serialization
from moment_retrieval.errors import EmptyFile, ScoringError
from moment_retrieval.metrics.board import COLUMNS, Board, Column, board
from moment_retrieval.metrics.report import KS, Durations, run_remarks
from moment_retrieval.statistics.significance import intervals, randomisation_test
from moment_retrieval.tables import Floats, JudgedTable, RunTable

logger = logging.getLogger(__name__)
SCORE_TASK = "models_runner.tasks.scoring_work"
LATE = timedelta(minutes=1)  # a scoring or test that still waits by then has lost its message, or its worker is busy
UNEXPECTED = "An error on the site; those who run it find it in the log."  # its text may hold what nobody should see
LEAST_ANSWERED = 0.9  # of the judged queries, where labels are hidden: scores over few tell the labels of each
HELD = 8  # tables of runs that a process keeps
State = Scoring.State


@dataclass(frozen=True)
class Scored:
    """What scoring found."""

    board: Board
    bounds: Floats  # [C, 2]
    remarks: tuple[str, ...]
    n_answered: int
    n_others: int


def scored(run: RunTable, judged: JudgedTable, *, durations_s: Durations | None = None) -> Scored:
    """Every measure of a run with its interval; answers to queries that are not judged are left out.

    ``durations_s``, how long the videos are, is for a remark on predictions that leave them.

    Raises:
        ScoringError: the run answers none of the judged queries.
    """
    answers = serialization.answers_to(run, judged.query_ids)
    if not len(answers):
        raise EmptyFile(f"the run answers none of the {len(judged)} judged queries")
    found = board(answers, judged)
    told = tuple(run_remarks(answers, max(KS), durations_s))
    return Scored(found, intervals(found.values), told, len(answers), len(run) - len(answers))


def answers_enough(n_answered: int, n_queries: int) -> bool:
    """Whether a run's scores on hidden labels may be told to those who must not see them."""
    return n_answered >= LEAST_ANSWERED * n_queries


@durable(SCORE_TASK)
def scoring_work(*, scoring_id: int) -> None:
    """Score what waits; a repeat finds it done, and what fails leaves other runs alone.

    What is wrong with the run is final and says so; anything unexpected is tried again, ATTEMPTS times in all.
    """
    with only_one("scoring", scoring_id) as alone:
        held = Scoring.objects.select_related("run", "release").filter(pk=scoring_id).first()
        if not alone or held is None or held.state != State.WAITING or held.run.state != Run.State.SCORED:
            return
        try:
            judged = truth_table(release=held.release, split=held.run.split, labels=held.run.labels)
            result = scored(run_table(held.run), judged, durations_s=durations_of(held.run))
        except OperationalError:
            raise
        except (ScoringError, MomentJudgeError) as error:
            scoring_fail(held, str(error))
        except Exception:
            scoring_record_failure(held)
            raise
        else:
            scoring_write(held, result)


@transaction.atomic
def scoring_write(scoring: Scoring, result: Scored) -> None:
    """Keep the scores, all or none; what is scored already stays."""
    held = Scoring.objects.select_for_update(of=("self",)).get(pk=scoring.pk)
    if held.state == State.SCORED:
        return
    Score.objects.bulk_create(_scores(held, result))
    values = zlib.compress(result.board.values.astype(np.float64).tobytes(), 1)
    PerQuery.objects.create(scoring=held, values=values)
    held.state, held.error, held.scored_at = State.SCORED, "", timezone.now()
    held.n_queries, held.n_answered = len(result.board.query_ids), result.n_answered
    held.n_others, held.missing = result.n_others, list(result.board.missing)
    held.remarks = list(result.remarks)
    held.save()
    logger.info("run %s scored on release %s", held.run_id, held.release_id)


def _scores(scoring: Scoring, result: Scored) -> list[Score]:
    rows = zip(COLUMNS, result.board.means.values(), result.bounds, result.board.unjudged, strict=True)
    return [
        Score(
            scoring=scoring,
            **column._asdict(),
            value=value,
            low=low,
            high=high,
            unjudged=None if np.isnan(rate) else float(rate),
        )
        for column, value, (low, high), rate in rows
    ]


def scoring_fail(scoring: Scoring, error: str) -> None:
    Scoring.objects.filter(pk=scoring.pk, state=State.WAITING).update(state=State.FAILED, error=error[:2000])
    logger.warning("scoring %s failed: %s", scoring.pk, error)


@transaction.atomic
def scoring_record_failure(scoring: Scoring) -> None:
    """Count an attempt that something unexpected ended; the sweep tries again until there have been enough."""
    waiting = Scoring.objects.filter(pk=scoring.pk, state=State.WAITING)
    waiting.update(attempts=F("attempts") + 1)
    if waiting.filter(attempts__gte=ATTEMPTS).exists():
        scoring_fail(scoring, UNEXPECTED)


@transaction.atomic
def scorings_order(*, release: Release) -> int:
    """Have every run of the project's other releases scored on this one too; returns how many wait.

    Runs by similarity are made anew for each release.
    """
    splits = list(release.truths.values_list("split", flat=True))
    older = Run.objects.filter(project=release.project_id, release__version__lte=release.version)
    runs = older.filter(state=Run.State.SCORED, split__in=splits)
    missing = runs.exclude(source=Run.Source.SIMILARITY).exclude(scorings__release=release)
    Scoring.objects.bulk_create([Scoring(run=run, release=release) for run in missing], ignore_conflicts=True)
    return scorings_send(list(release.scorings.filter(state=State.WAITING).values_list("pk", flat=True)))


@transaction.atomic
def run_order(*, run: Run) -> int:
    """Have a run scored on the releases that came after its own, too."""
    later = Release.objects.filter(
        project=run.project_id, state=Release.State.READY, version__gt=run.release.version, truths__split=run.split
    )
    new = [Scoring(run=run, release=release) for release in later.exclude(scorings__run=run)]
    Scoring.objects.bulk_create(new, ignore_conflicts=True)
    return scorings_send(list(run.scorings.filter(state=State.WAITING).values_list("pk", flat=True)))


def scorings_send(waiting: list[int]) -> int:
    for pk in waiting:
        send_on_commit(SCORE_TASK, pk)
    return len(waiting)


def scorings_complete() -> None:
    """Order what runs and releases that came at the same time, or lost messages, left out; however long ago."""
    scored_runs = Run.objects.filter(
        state=Run.State.SCORED,
        project__releases__state=Release.State.READY,
        project__releases__version__gte=F("release__version"),
        project__releases__truths__split=F("split"),
    ).exclude(source=Run.Source.SIMILARITY)
    due = scored_runs.annotate(on=F("project__releases"))
    missing = due.exclude(Exists(Scoring.objects.filter(run=OuterRef("pk"), release=OuterRef("on"))))
    new = [Scoring(run_id=run, release_id=release) for run, release in missing.values_list("pk", "on")]
    Scoring.objects.bulk_create(new, ignore_conflicts=True)
    waiting = Scoring.objects.filter(state=State.WAITING, run__in={one.run_id for one in new})
    scorings_send(list(waiting.filter(release__in={one.release_id for one in new}).values_list("pk", flat=True)))


@swept
def scorings_sweep(now: datetime) -> None:
    """Order what is missing; send again what still waits: its message may have been lost."""
    scorings_complete()
    late = Scoring.objects.filter(state=State.WAITING, created_at__lte=now - LATE, run__state=Run.State.SCORED)
    scorings_send(list(late.values_list("pk", flat=True)))


def durations_of(run: Run) -> dict[str, float]:
    """How long the videos of the run's project are."""
    return dict(Video.objects.filter(corpus__datasets__project=run.project_id).values_list("name", "duration_s"))


def run_table(run: Run) -> RunTable:
    """The run as it is scored; what was made before tables were kept is read from its file."""
    if run.table:
        return _table(str(run.table.name))
    from models_runner.leaderboard.services.runs import run_parsed  # which scores what it reads

    return run_parsed(run)


@lru_cache(maxsize=HELD)
def _table(name: str) -> RunTable:
    with default_storage.open(name) as file:
        return serialization.run_of(file.read())


def values_of(scoring: Scoring) -> Floats:
    """[queries of the truth, COLUMNS] the values behind the scores."""
    return _unpacked(scoring.per_query.values)


def _unpacked(values: bytes | memoryview) -> Floats:
    return np.frombuffer(zlib.decompress(bytes(values)), np.float64).reshape(-1, len(COLUMNS))


def columns_of(scorings: Sequence[int], place: int) -> Floats:
    """[queries, scorings] the values of one measure."""
    rows = PerQuery.objects.filter(pk__in=scorings).values_list("pk", "values")
    held = {pk: _unpacked(values)[:, place].copy() for pk, values in rows.iterator(chunk_size=20)}
    return np.stack([held[pk] for pk in scorings], axis=1)


TASK = "models_runner.tasks.score_tests_work"
SWEPT = 2_000  # tests that a sweep looks at


@transaction.atomic
def score_tests_order(*, base: int, others: Iterable[int]) -> None:
    """Have the scores of these keys tested against ``base``; what is there, or ordered, stays as it is."""
    pairs = sorted(sorted((base, other)) for other in others)
    if pairs:
        ScoreTest.objects.bulk_create([ScoreTest(one_id=a, other_id=b) for a, b in pairs], ignore_conflicts=True)
        send_on_commit(TASK, base)


@durable(TASK)
def score_tests_work(*, score_id: int) -> None:
    """Compute what waits of the tests that name this score; a repeat finds nothing, a second worker the rest."""
    try:
        with transaction.atomic():
            _work(score_id)
    except OperationalError:
        raise
    except Exception:
        _waiting().filter(_naming([score_id])).update(attempts=F("attempts") + 1)
        raise


def _work(score_id: int) -> None:
    waiting = _waiting().filter(_naming([score_id])).select_related("one", "other").order_by("pk")
    tests = list(waiting.select_for_update(of=("self",), skip_locked=True))
    if not tests:
        return
    scorings = list(dict.fromkeys(score.scoring_id for test in tests for score in (test.one, test.other)))
    values = columns_of(scorings, place_of(tests[0].one))
    column = {scoring: number for number, scoring in enumerate(scorings)}
    ones, others = ([column[score.scoring_id] for score in side] for side in zip(*map(_sides, tests), strict=True))
    differences = values[:, ones] - values[:, others]
    p_values = randomisation_test(differences, seed=seed_of_signs())
    found = zip(tests, p_values, intervals(differences), strict=True)
    for test, p, bounds in found:
        test.p = float(p)
        test.low, test.high = (None, None) if np.isnan(bounds).any() else map(float, bounds)
    ScoreTest.objects.bulk_update(tests, ["p", "low", "high"], batch_size=500)
    logger.info("%d runs tested against score %s", len(tests), score_id)


def seed_of_signs() -> int:
    """Return the seed of the random signs: the site's secret, since known signs tell from p which query differs."""
    return int.from_bytes(salted_hmac("models_runner.score_tests", "signs", algorithm="sha256").digest()[:8], "big")


def _sides(test: ScoreTest) -> tuple[Score, Score]:
    return test.one, test.other


def place_of(score: Score) -> int:
    """The number of its measure among the columns of the values that are kept."""
    return COLUMNS.index(Column(score.metric, score.k, score.mu, score.convention, score.gain))


def score_tests_of(base: int, others: Iterable[int]) -> dict[int, ScoreTest]:
    """By the other score, the tests against ``base`` that are there or ordered; all are keys."""
    asked = list(others)
    tests = ScoreTest.objects.filter(Q(one=base, other__in=asked) | Q(other=base, one__in=asked))
    return {test.other_id if test.one_id == base else test.one_id: test for test in tests}


def score_tests_drop(*, run: Run) -> None:
    """Forget the tests of a run that nobody is shown any more."""
    ScoreTest.objects.filter(_naming(Score.objects.filter(scoring__run=run))).delete()


@swept
def score_tests_sweep(now: datetime) -> None:
    """Send again what still waits: its message may have been lost."""
    late = _waiting().filter(created_at__lte=now - LATE).order_by("created_at")
    for score_id in covering(late.values_list("one_id", "other_id")[:SWEPT]):
        send_on_commit(TASK, score_id)


def covering(pairs: Iterable[tuple[int, int]]) -> list[int]:
    """A few scores that name every pair: again and again the one that most pairs name."""
    left, chosen = list(pairs), []
    while left:
        ((most, _),) = Counter(score for pair in left for score in pair).most_common(1)
        chosen.append(most)
        left = [pair for pair in left if most not in pair]
    return chosen


def _waiting() -> QuerySet[ScoreTest]:
    return ScoreTest.objects.filter(p=None, attempts__lt=ATTEMPTS)


def _naming(scores: Iterable[int] | QuerySet[Score]) -> Q:
    return Q(one__in=scores) | Q(other__in=scores)
