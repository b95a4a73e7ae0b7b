"""Steps after a release is ready: its truths, its runs by similarity, and all other runs scored on it. A run by
similarity is what the frozen candidates of a release's queries would retrieve."""

import logging
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from django.core.files import File
from django.core.files.base import ContentFile
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from accounts.models import User
from annotation.models import Candidate, Query
from core import clock
from core.audit import audit_record
from core.files import checksum
from core.jobs import JobKind, durable
from judging.models import Release
from models_runner.leaderboard.services.scorings import (
    scored,
    scoring_write,
    scorings_schedule,
    truth_pool,
    truth_table,
    truths_make,
)
from models_runner.models import ReadRelease, Run, Scoring, Truth
from moment_retrieval import formats, records, serialization
from moment_retrieval.errors import ScoringError
from moment_retrieval.tables import JudgedTable, RunTable

logger = logging.getLogger(__name__)
SIMILARITY = "similarity"
RECENT = timedelta(hours=1)


def _unfinished() -> QuerySet[Release]:
    """Return the ready releases that a lost message or a killed worker left without truths or runs."""
    runs = Run.objects.filter(source=Run.Source.SIMILARITY)
    own = runs.filter(release=OuterRef("release"), split=OuterRef("split"))
    is_unread = ~Q(Exists(ReadRelease.objects.filter(release=OuterRef("pk"))))  # also one without a judged query
    is_missing_a_run = Q(Exists(Truth.objects.filter(~Exists(own), release=OuterRef("pk"))))
    at_work = runs.filter(state=Run.State.RUNNING, release=OuterRef("pk"))
    has_stopped = Q(Exists(at_work), created_at__gte=clock.now() - RECENT)
    return Release.objects.filter(is_unread | is_missing_a_run | has_stopped, state=Release.State.READY)


READY_RELEASES = JobKind("models_runner.tasks.similarity_runs_make", _unfinished, moved="created_at")


@durable(READY_RELEASES.task)
def release_receive(*, release_id: int) -> None:
    """Read the release, score the project's runs on it, make its runs by similarity; a repeat finds it done."""
    release = Release.objects.select_related("project").filter(pk=release_id, state=Release.State.READY).first()
    if release is None:
        return
    truths_make(release)
    ReadRelease.objects.get_or_create(release=release)
    scorings_schedule(project__releases=release)
    similarity_runs_make(release_id=release_id)


@transaction.atomic
def similarity_runs_request(*, release: Release, actor: User) -> None:
    """Wake the task that makes the similarity runs of a release."""
    audit_record(project=release.project, actor=actor, action="run.request", subject=release.uuid, system=SIMILARITY)
    READY_RELEASES.send(release.pk)


def similarity_runs_make(*, release_id: int) -> list[Run]:
    """A run per judged split of the release: each query's moments by sim(query, caption), scored on the release."""
    release = Release.objects.select_related("project").get(pk=release_id, state=Release.State.READY)
    return [_run_make(release, truth.split) for truth in truths_make(release)]


def _run_make(release: Release, split: str) -> Run:
    values = {"project": release.project, "source": Run.Source.SIMILARITY}
    run, _ = Run.objects.get_or_create(release=release, system=SIMILARITY, split=split, owner=None, defaults=values)
    if run.state == Run.State.SCORED:
        return run
    try:
        with TemporaryDirectory(prefix="momentjudge-runs-") as folder:
            _run_score(run, truth_table(release=release, split=split), Path(folder) / f"{SIMILARITY}.{split}.json")
    except ScoringError as error:
        Run.objects.filter(pk=run.pk).update(state=Run.State.FAILED, error=str(error))
        logger.warning("run %s failed: %s", run.pk, error)
    run.refresh_from_db()
    return run


def _run_score(run: Run, judged: JudgedTable, path: Path) -> None:
    """Keep the run's file and its scores."""
    formats.write_run(path, RunTable.from_queries(_ranked(run.release, judged)))
    table = formats.read_run(path, formats.FileFormat.TVR_RANKING, strict=False)
    result = scored(table, judged, pool=truth_pool(release=run.release, split=run.split))
    with transaction.atomic():
        row = Run.objects.select_for_update().get(pk=run.pk)
        if row.state == Run.State.SCORED:
            return
        with path.open("rb") as source:
            row.sha256 = checksum(File(source))  # equal files are shown equal numbers, on every release
            row.file.save(path.name, File(source), save=False)
        row.table.save("table", ContentFile(serialization.run_bytes(table)), save=False)
        row.state, row.n_queries, row.error, row.form = Run.State.SCORED, len(table), "", "tvr-ranking"
        row.bytes, row.file_name = path.stat().st_size, path.name
        row.save()
        scoring, _ = Scoring.objects.get_or_create(run=row, release=row.release)
        scoring_write(scoring, result)


def _ranked(release: Release, judged: JudgedTable) -> list[records.RankedQuery]:
    """The frozen candidates of each query by similarity, best first; twins answer with those of their query."""
    rows = Query.objects.filter(project=release.project, number__in=[int(query_id) for query_id in judged])
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
