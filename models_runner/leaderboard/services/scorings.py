"""Scores of runs on a release: its judged moments as columns, every measure computed, written in one transaction."""

import logging
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

import numpy as np
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import IntegrityError, transaction
from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone

from annotation.models import Video
from core.exceptions import MomentJudgeError, NotPossible
from core.jobs import LONGEST_ERROR, JobKind, durable, swept
from core.media_files import files_delete
from core.texts import storable
from judging.models import Release
from judging.releases.layout import JUDGED_SPLITS, POOL
from judging.releases.selectors import archive_opened
from models_runner.leaderboard.models import ATTEMPTS
from models_runner.models import PerQuery, ReadRelease, Run, Score, Scoring, Truth
from moment_retrieval import formats, serialization
from moment_retrieval.errors import EmptyFile, ScoringError
from moment_retrieval.formats.builder import SourceFile
from moment_retrieval.formats.trec import read_pool
from moment_retrieval.metrics.estimates import Pool, pool_for
from moment_retrieval.metrics.leaderboard import COLUMNS, LeaderboardScores, leaderboard_scores
from moment_retrieval.metrics.matching import lengths
from moment_retrieval.metrics.ndcg_iou import without_relevant
from moment_retrieval.metrics.report import KS, Durations, run_warnings
from moment_retrieval.metrics.scores import numbers_of
from moment_retrieval.statistics.significance import intervals
from moment_retrieval.tables import Flags, Floats, JudgedTable, RunTable, similarity_labelled

logger = logging.getLogger(__name__)
UNEXPECTED = "An error on the site; those who run it find it in the log."  # its text may hold what must not be shown
LEAST_ANSWERED = 0.9  # of the judged queries, where labels are hidden: scores over few tell the labels of each
RUN_TABLES = 8  # tables of runs that a process keeps
State = Scoring.State
TO_BE_SCORED = Q(state=State.WAITING) | Q(state=State.SCORED, n_measures__lt=len(COLUMNS), attempts__lt=ATTEMPTS)
SCORINGS = JobKind(
    "models_runner.tasks.scoring_work",
    lambda: Scoring.objects.filter(TO_BE_SCORED, run__state=Run.State.SCORED).select_related("run", "release"),
    moved="created_at",
    lock="scoring",
    expected=(ScoringError, MomentJudgeError),
    unexpected=UNEXPECTED,
    attempts=ATTEMPTS,
)
DIGESTS = 1_000  # of truths, of 64 letters each
TRUTH_TABLES = 4  # tables that a process keeps; the largest has about 10 MB


@SCORINGS.failure
def scoring_mark_failed(scoring: Scoring, error: str) -> None:
    """Say why a run has no scores; one that is scored keeps them, and lacks the measures that came later."""
    rows = Scoring.objects.filter(pk=scoring.pk, state=scoring.state)
    if scoring.state == State.SCORED:
        rows.update(attempts=ATTEMPTS)
    else:
        rows.update(state=State.FAILED, error=storable(error)[:LONGEST_ERROR] or "unknown")


def truths_make(release: Release) -> list[Truth]:
    """A truth for each split of the release that has a judged query; those that are there stay."""
    truths = {truth.split: truth for truth in release.truths.all()}
    missing = {str(split): name for split, name in JUDGED_SPLITS.items() if split not in truths}
    if missing and not ReadRelease.objects.filter(release=release).exists():
        with TemporaryDirectory(prefix="momentjudge-truths-") as folder:
            with archive_opened(release) as source, ZipFile(source) as archive:
                there = [name for name in missing.values() if name in archive.namelist()]
                pool_name = [POOL] if POOL in archive.namelist() else []  # of an earlier release there is none
                archive.extractall(folder, [*there, *pool_name])  # not its training sets, which are large
            pooled = _read_pool(Path(folder) / POOL) if pool_name else None
            for split, name in missing.items():
                if name in there and (judged := _read(Path(folder) / name)) is not None:
                    truths[split] = _truth_keep(release, split, judged, pooled)
    return [truths[split] for split in sorted(truths, reverse=True)]  # val before test


def _read(path: Path) -> JudgedTable | None:
    try:
        return formats.read_ground_truth(path, formats.FileFormat.TVR_RANKING)
    except EmptyFile:
        return None


def _read_pool(path: Path) -> tuple[JudgedTable, Pool] | None:
    try:
        return read_pool(SourceFile(path.read_bytes()))
    except EmptyFile:
        return None


def _truth_keep(release: Release, split: str, judged: JudgedTable, pooled: tuple[JudgedTable, Pool] | None) -> Truth:
    pool = None if pooled is None else pool_for(judged, *pooled)
    truth = Truth(release=release, split=split, n_queries=len(judged), n_moments=len(judged.weights))
    truth.table.save("truth", ContentFile(serialization.truth_bytes(judged, pool)), save=False)
    try:
        with transaction.atomic():
            truth.save()
    except IntegrityError:  # another process was quicker
        files_delete(str(truth.table.name))
        return Truth.objects.get(release=release, split=split)
    return truth


def truth_table(*, release: Release, split: str, labels: str = Run.Labels.JUDGED) -> JudgedTable:
    """Return the ground truth of this split, by people's grades or by those derived from similarity. Raises
    NotPossible where the release has no judged query there."""
    truth = next((truth for truth in truths_make(release) if truth.split == split), None)
    if truth is None:
        raise NotPossible(f"Release {release.version} has no judged query of the split {split}.")
    name = str(truth.table.name)
    return _truth_loaded(name) if labels == Run.Labels.JUDGED else _relabelled(name)


def truth_pool(*, release: Release, split: str) -> Pool | None:
    """Return what was pooled for the queries of this split; None where the release does not say it."""
    name = Truth.objects.filter(release=release, split=split).values_list("table", flat=True).first()
    return _pool_loaded(str(name)) if name else None


def truth_digest(*, release: Release, split: str) -> str:
    """Equal for equal judged moments of the split, whichever release holds them; empty where there are none."""
    name = Truth.objects.filter(release=release, split=split).values_list("table", flat=True).first()
    return _digest(str(name)) if name else ""


def n_without_relevant(*, release: Release, split: str) -> int:
    """Return how many judged queries of the split have no relevant moment; it tells labels."""
    name = Truth.objects.filter(release=release, split=split).values_list("table", flat=True).first()
    return _n_without_relevant(str(name)) if name else 0


@lru_cache(maxsize=DIGESTS)
def _n_without_relevant(name: str) -> int:
    return int(without_relevant(_truth_loaded(name)).sum())


@lru_cache(maxsize=DIGESTS)
def _digest(name: str) -> str:
    judged = _truth_loaded(name)
    digest = sha256("\0".join([*judged.query_ids, "", *judged.spans.names]).encode())
    for column in (judged.offsets, judged.spans.video, judged.spans.start_s, judged.spans.end_s, judged.weights):
        digest.update(np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()


@lru_cache(maxsize=TRUTH_TABLES)
def _truth_loaded(name: str) -> JudgedTable:
    with default_storage.open(name) as file:
        return serialization.truth_of(file.read())


@lru_cache(maxsize=TRUTH_TABLES)
def _pool_loaded(name: str) -> Pool | None:
    with default_storage.open(name) as file:
        return serialization.pool_of(file.read())


@lru_cache(maxsize=TRUTH_TABLES)
def _relabelled(name: str) -> JudgedTable:
    return similarity_labelled(_truth_loaded(name))


@dataclass(frozen=True)
class Scored:
    values: LeaderboardScores
    bounds: Floats  # [C, 2]
    warnings: tuple[str, ...]
    n_answered: int
    n_others: int


def scored(
    run: RunTable, judged: JudgedTable, *, pool: Pool | None = None, durations_s: Durations | None = None
) -> Scored:
    """Every measure of a run with its interval; answers to queries that are not judged are left out. ``durations_s``,
    how long the videos are, is for a remark on predictions that leave them. Raises ScoringError where the run answers
    none of the judged queries."""
    answers = serialization.answers_to(run, judged.query_ids)
    if not len(answers):
        raise EmptyFile(f"the run answers none of the {len(judged)} judged queries")
    scores = leaderboard_scores(answers, judged, pool)
    warnings = tuple(run_warnings(answers, max(KS), durations_s))
    return Scored(scores, intervals(scores.values), warnings, len(answers), len(run) - len(answers))


def answers_enough(n_answered: int, n_queries: int) -> bool:
    """Whether a run's scores on hidden labels may be shown to those who must not see them."""
    return n_answered >= LEAST_ANSWERED * n_queries


@durable(SCORINGS.task)
def scoring_work(*, scoring_id: int) -> None:
    """Score what waits; a repeat finds it done, and what fails leaves other runs alone. What is wrong with the run is
    final and says so; anything unexpected is tried again, ATTEMPTS times in all."""
    with SCORINGS.claim(scoring_id) as row:
        if row is not None:
            judged = truth_table(release=row.release, split=row.run.split, labels=row.run.labels)
            pool = truth_pool(release=row.release, split=row.run.split)
            scoring_write(row, scored(run_table(row.run), judged, pool=pool, durations_s=durations_of(row.run)))


@transaction.atomic
def scoring_write(scoring: Scoring, result: Scored) -> None:
    """Keep the scores, all or none; those that are there stay, and measures that came later are added."""
    row = Scoring.objects.select_for_update(of=("self",)).get(pk=scoring.pk)
    n_present = row.n_measures if row.state == State.SCORED else 0
    if n_present >= len(COLUMNS):
        return
    measures = list(zip(COLUMNS, result.values.means.values(), result.bounds, result.values.unjudged, strict=True))
    Score.objects.bulk_create(
        Score(scoring=row, **column._asdict(), value=value, low=low, high=high, unjudged=None if np.isnan(u) else u)
        for column, value, (low, high), u in measures[n_present:]
        if not np.isnan(value)  # no query has a part in it
    )
    values = zlib.compress(result.values.values.astype(np.float64).tobytes(), 1)
    PerQuery.objects.update_or_create(scoring=row, defaults={"values": values})
    row.n_measures = len(COLUMNS)
    if n_present:
        row.save(update_fields=["n_measures"])
        return
    row.state, row.error, row.scored_at = State.SCORED, "", timezone.now()
    row.n_queries, row.n_answered = len(result.values.query_ids), result.n_answered
    row.n_others, row.missing = result.n_others, list(result.values.missing)
    row.warnings = list(result.warnings)
    row.save()
    logger.info("run %s scored on release %s", row.run_id, row.release_id)


@transaction.atomic
def scorings_schedule(**which: object) -> None:
    """Have runs scored on the releases that came after their own, too: all of them, or those that ``which`` selects.

    Runs by similarity are made anew for each release.
    """
    scored_runs = Run.objects.filter(
        state=Run.State.SCORED,
        project__releases__state=Release.State.READY,
        project__releases__version__gte=F("release__version"),
        project__releases__truths__split=F("split"),
        **which,
    ).exclude(source=Run.Source.SIMILARITY)
    due = scored_runs.annotate(on=F("project__releases"))
    missing = due.exclude(Exists(Scoring.objects.filter(run=OuterRef("pk"), release=OuterRef("on"))))
    new = [Scoring(run_id=run, release_id=release) for run, release in missing.values_list("pk", "on")]
    Scoring.objects.bulk_create(new, ignore_conflicts=True)
    runs, releases = {one.run_id for one in new}, {one.release_id for one in new}
    for pk in SCORINGS.rows().filter(run__in=runs, release__in=releases).values_list("pk", flat=True):
        SCORINGS.send(pk)


@swept
def scorings_sweep(now: datetime) -> None:
    """Order what runs and releases that came at the same time left out."""
    scorings_schedule()


def durations_of(run: Run) -> dict[str, float]:
    """How long the videos of the run's project are."""
    return dict(Video.objects.filter(corpus__datasets__project=run.project_id).values_list("name", "duration_s"))


def run_table(run: Run) -> RunTable:
    return _run_loaded(str(run.table.name))


@lru_cache(maxsize=RUN_TABLES)
def _run_loaded(name: str) -> RunTable:
    with default_storage.open(name) as file:
        return serialization.run_of(file.read())


def values_of(scoring: Scoring) -> Floats:
    """[queries of the truth, COLUMNS] the values behind the scores; NaN for measures that it lacks."""
    return _unpacked(scoring.per_query.values, scoring.n_measures)


def _unpacked(values: bytes | memoryview, n_measures: int) -> Floats:
    present = np.frombuffer(zlib.decompress(bytes(values)), np.float64).reshape(-1, n_measures)
    return np.pad(present, ((0, 0), (0, len(COLUMNS) - n_measures)), constant_values=np.nan)


def columns_of(scorings: Sequence[int], index: int) -> Floats:
    """[queries, scorings] the values of one measure."""
    rows = PerQuery.objects.filter(pk__in=scorings).values_list("pk", "values", "scoring__n_measures")
    columns = {pk: _unpacked(values, n)[:, index].copy() for pk, values, n in rows.iterator(chunk_size=20)}
    return np.stack([columns[pk] for pk in scorings], axis=1)


def answers_nothing(scoring: Scoring, judged: JudgedTable) -> Flags:
    """[queries of the truth] whether the run answers a query with an empty list or not at all."""
    run = run_table(scoring.run)
    is_empty: Flags = lengths(run, numbers_of(judged.query_ids, run)) == 0
    return is_empty
