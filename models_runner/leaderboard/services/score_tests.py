"""Tests of runs against each other: scheduled by the first view, computed by a task, kept for everybody."""

import logging
from collections import Counter
from collections.abc import Iterable
from datetime import datetime

import numpy as np
from django.db import OperationalError, transaction
from django.db.models import F, Q, QuerySet
from django.utils.crypto import salted_hmac

from core.jobs import LATE, durable, swept
from core.messages import send_on_commit
from models_runner.leaderboard.models import ATTEMPTS
from models_runner.leaderboard.services.scorings import columns_of
from models_runner.models import Run, Score, ScoreTest
from moment_retrieval.metrics.leaderboard import COLUMNS
from moment_retrieval.statistics.significance import intervals, randomisation_test

logger = logging.getLogger(__name__)
TASK = "models_runner.tasks.score_tests_work"
SWEPT = 2_000  # tests that a sweep looks at


@transaction.atomic
def score_tests_schedule(*, base: int, others: Iterable[int]) -> None:
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
    values = columns_of(scorings, COLUMNS.index(tests[0].one.column))
    column = {scoring: number for number, scoring in enumerate(scorings)}
    ones = [column[test.one.scoring_id] for test in tests]
    others = [column[test.other.scoring_id] for test in tests]
    differences = values[:, ones] - values[:, others]
    p_values = randomisation_test(differences, seed=seed_of_signs())
    for test, p, bounds in zip(tests, p_values, intervals(differences), strict=True):
        test.p = float(p)
        test.low, test.high = (None, None) if np.isnan(bounds).any() else map(float, bounds)
    ScoreTest.objects.bulk_update(tests, ["p", "low", "high"], batch_size=500)
    logger.info("%d runs tested against score %s", len(tests), score_id)


def seed_of_signs() -> int:
    """Return the seed of the random signs: the site's secret, since known signs tell from p which query differs."""
    return int.from_bytes(salted_hmac("models_runner.score_tests", "signs", algorithm="sha256").digest()[:8], "big")


def score_tests_of(base: int, others: Iterable[int]) -> dict[int, ScoreTest]:
    """By the other score, the tests against ``base`` that are there or ordered; all are keys."""
    other_scores = list(others)
    tests = ScoreTest.objects.filter(Q(one=base, other__in=other_scores) | Q(other=base, one__in=other_scores))
    return {test.other_id if test.one_id == base else test.one_id: test for test in tests}


def score_tests_drop(*, run: Run) -> None:
    """Forget the tests of a run that is shown no more."""
    ScoreTest.objects.filter(_naming(Score.objects.filter(scoring__run=run))).delete()


@swept
def score_tests_sweep(now: datetime) -> None:
    """Send again what still waits. No ``JobKind``: a message names a score, and workers share the tests that name it by
    locks on their rows."""
    late = _waiting().filter(created_at__lte=now - LATE).order_by("created_at")
    for score_id in covering(late.values_list("one_id", "other_id")[:SWEPT]):
        send_on_commit(TASK, score_id)


def covering(pairs: Iterable[tuple[int, int]]) -> list[int]:
    """A few scores that name every pair: again and again the one that most pairs name."""
    pairs_left, cover = list(pairs), []
    while pairs_left:
        ((most, _),) = Counter(score for pair in pairs_left for score in pair).most_common(1)
        cover.append(most)
        pairs_left = [pair for pair in pairs_left if most not in pair]
    return cover


def _waiting() -> QuerySet[ScoreTest]:
    return ScoreTest.objects.filter(p=None, attempts__lt=ATTEMPTS)


def _naming(scores: Iterable[int] | QuerySet[Score]) -> Q:
    return Q(one__in=scores) | Q(other__in=scores)
