"""Runs and their scores."""

import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

from django.core.files import File
from django.db import transaction
from django.db.models import Q

from annotation.messages import send_on_commit
from annotation.models import Candidate, Query, User
from annotation.services.audit import audit_record
from judging.models import Release
from judging.releases import JUDGED_SPLITS
from models_runner.models import Run, Score
from models_runner.retrieval import records
from models_runner.retrieval.errors import EmptyFile, ScoringError
from models_runner.retrieval.metrics.ndcg_iou import Convention, Gain
from models_runner.retrieval.metrics.report import evaluate

logger = logging.getLogger(__name__)
SIMILARITY = "similarity"
LATE, RECENT = timedelta(minutes=1), timedelta(hours=1)
RUNS_TASK = "models_runner.tasks.similarity_runs_make"


@transaction.atomic
def similarity_runs_request(*, release: Release, actor: User) -> None:
    """Wake the task that makes the similarity runs of a release."""
    audit_record(project=release.project, actor=actor, action="run.request", subject=release.uuid, system=SIMILARITY)
    send_on_commit(RUNS_TASK, release.pk)


def similarity_runs_make(*, release_id: int) -> list[Run]:
    """A run per judged split of the release: each query's moments by sim(query, caption), scored on the release."""
    release = Release.objects.select_related("project").get(pk=release_id, state=Release.State.READY)
    with TemporaryDirectory(prefix="momentjudge-runs-") as place:
        folder = Path(place)
        with release.archive.open("rb") as source, ZipFile(source) as archive:
            archive.extractall(folder, JUDGED_SPLITS.values())  # not its training sets, which are large
        truths = {split: _truth(folder / name) for split, name in JUDGED_SPLITS.items()}
        return [_run_make(release, split, judged, folder) for split, judged in truths.items() if judged]


def runs_sweep(*, now: datetime) -> None:
    """Send the runs of recent releases that have none, or one that a killed worker left unfinished."""
    recent = Release.objects.filter(state=Release.State.READY, created_at__range=(now - RECENT, now - LATE))
    unmade = Q(runs__isnull=True) | Q(runs__state=Run.State.RUNNING)
    for pk in recent.filter(unmade).distinct().values_list("pk", flat=True):
        send_on_commit(RUNS_TASK, pk)


def _truth(path: Path) -> list[records.JudgedQuery]:
    """The judged queries of one split; none where no query of it is finished yet."""
    try:
        return records.read_ground_truth(path)
    except EmptyFile:
        return []


def _run_make(release: Release, split: str, judged: list[records.JudgedQuery], folder: Path) -> Run:
    run, _ = Run.objects.get_or_create(project=release.project, release=release, system=SIMILARITY, split=split)
    if run.state == Run.State.SCORED:
        return run
    path = folder / f"{SIMILARITY}.{split}.json"
    try:
        records.write_run(path, _ranked(release, judged))
        ranked = records.moments_by_query(records.read_run(path))
        _run_score(run, ranked, records.moments_by_query(judged), path)
    except ScoringError as error:
        Run.objects.filter(pk=run.pk).update(state=Run.State.FAILED, error=str(error))
        logger.warning("run %s failed: %s", run.pk, error)
    run.refresh_from_db()
    return run


def _ranked(release: Release, judged: list[records.JudgedQuery]) -> list[records.RankedQuery]:
    """The frozen candidates of each query by similarity, best first; twins answer with those of their query."""
    rows = Query.objects.filter(project=release.project, number__in=[int(query.query_id) for query in judged])
    ranked = []
    for query in rows.select_related("judged_as").order_by("number"):
        ranked_by = (query.judged_as or query).candidates.filter(source=Candidate.Source.SIMILARITY)
        candidates = ranked_by.select_related("moment__video").order_by("rank")
        moments = tuple(
            records.ScoredMoment(c.moment.video.name, c.moment.start_s, c.moment.end_s, c.similarity or 0.0)
            for c in candidates
        )
        ranked.append(records.QueryMoments(str(query.number), query.text, moments))
    return ranked


@transaction.atomic
def _run_score(
    run: Run,
    ranked: Mapping[str, tuple[records.ScoredMoment, ...]],
    judged: Mapping[str, tuple[records.JudgedMoment, ...]],
    path: Path,
) -> None:
    """Keep the run's file and its scores under both conventions, exponential gain."""
    held = Run.objects.select_for_update().get(pk=run.pk)
    if held.state == Run.State.SCORED:
        return
    for convention in Convention:
        report = evaluate(ranked, judged, convention=convention, gain=Gain.EXPONENTIAL)
        Score.objects.bulk_create(
            [
                Score(
                    run=held,
                    convention=convention.value,
                    gain=Gain.EXPONENTIAL.value,
                    k=measure.k,
                    mu=measure.mu,
                    value=value,
                )
                for measure, value in report.mean.items()
            ],
            ignore_conflicts=True,
        )
    with path.open("rb") as source:
        held.file.save(path.name, File(source), save=False)
    held.state, held.n_queries, held.error = Run.State.SCORED, len(ranked), ""
    held.save(update_fields=["file", "state", "n_queries", "error"])
    logger.info("run %s scored on %s queries", held.pk, len(ranked))
