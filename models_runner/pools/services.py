"""Pooling from runs: reading them, and passing what they returned down as plain rows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef

from accounts.models import Project, User
from annotation.models import Pooling, PoolSource
from annotation.pools.services.poolings import Returned, Scope, pooling_create, pooling_fail
from core.exceptions import NotPossible
from core.jobs import JobKind, durable
from judging.studies.services import pool_plan
from models_runner.models import Run
from models_runner.pools.similarity import FeaturePair, returned_by_features, uuids_of
from moment_retrieval import formats, records, tables
from moment_retrieval.errors import ScoringError, at
from moment_retrieval.formats.tvr_ranking import INTEGER_ID

OF_FILES = PoolSource.objects.filter(pooling=OuterRef("pk"), run_uuids=[], feature_uuids=[])  # a command plans these
PLANS = JobKind(
    "models_runner.tasks.pool_prepare",
    lambda: Pooling.objects.filter(~Exists(OF_FILES), state=Pooling.State.PREPARING, seed=None).select_related(
        "project"
    ),
    moved="created_at",
    lock="pool-plan",
    expected=(NotPossible, ScoringError, OSError),
    fail=lambda pooling, error: pooling_fail(pooling=pooling, error=error),
)
MADE_UP = (
    "{} of the {} videos of this project came without an index, or with one that was taken, so that its indexes "
    "need not be those of your file; give the names of the videos"
)
NO_QUERY = -1  # a query of a run whose id is no number


@transaction.atomic
def pool_request(
    *, project: Project, runs: Sequence[Run], features: Iterable[FeaturePair] = (), scope: Scope, actor: User | None
) -> Pooling:
    """Order the plan of a pool from stored runs and features; a task reads them. Raises NotPossible where there is
    nothing to pool."""
    pooling = pooling_create(
        project=project, sources=sources_of(runs), features=uuids_of(features), scope=scope, actor=actor
    )
    PLANS.send(pooling.pk)
    return pooling


def sources_of(runs: Iterable[Run]) -> dict[str, list[UUID]]:
    """The systems that made the runs; those on several splits of a release are one source."""
    sources: dict[str, list[UUID]] = {}
    for run in runs:
        sources.setdefault(f"{run.system}, release {run.release.version}", []).append(run.uuid)
    return sources


@durable(PLANS.task)
def pool_prepare(*, pooling_id: int) -> None:
    """Plan the pool of stored runs and features; its error names what cannot be used. A repeat finds the plan."""
    with PLANS.claim(pooling_id) as pooling:
        if pooling is not None:
            pool_plan(pooling=pooling, returned=returned_by(pooling))


def returned_by(
    pooling: Pooling, *, files: Mapping[str, Path] = MappingProxyType({}), corpus: records.VideoCorpus | None = None
) -> Iterator[Returned]:
    """Yield the best of what every source returned for each query; runs are read one after another. Some may be files,
    by the name of their source. Raises NotPossible, ScoringError where a run cannot be read."""
    corpus = corpus or corpus_of(pooling.project)
    for source in pooling.sources.all():
        if source.feature_uuids:
            yield from returned_by_features(pooling, source)
            continue
        if source.name in files:
            table = formats.read_run(files[source.name], formats.FileFormat.TVR_RANKING, corpus=corpus, strict=False)
            ranked = tables.queries_of(table)
        else:
            ranked = list(_answers(pooling.project, source, corpus))
        for query in ranked:
            number = int(query.query_id) if INTEGER_ID.fullmatch(query.query_id) else NO_QUERY
            for rank, moment in enumerate(query.moments[: pooling.depth], start=1):
                yield Returned(number, moment.video, moment.start_s, moment.end_s, source.name, rank)


def _answers(project: Project, source: PoolSource, corpus: records.VideoCorpus) -> Iterator[records.RankedQuery]:
    scored = Run.objects.filter(project=project, state=Run.State.SCORED, uuid__in=source.run_uuids)
    runs = list(scored.order_by("split"))
    if not runs or len(runs) < len(source.run_uuids):
        raise NotPossible(f"A run of {source.name} is not there any more.")
    for run in runs:
        with at(str(run)), run.file.open("rb") as file:
            table = formats.parse_run(
                file.read(), formats.FileFormat(run.form) if run.form else None, corpus=corpus, strict=False
            )
            yield from tables.queries_of(table)


def corpus_of(project: Project) -> records.VideoCorpus:
    """The project's videos, so that runs may name them by index. Unless an index was made up here: a file that counts
    otherwise would be translated without a word, and be wrong."""
    videos = list(project.dataset.corpus.videos.values_list("name", "duration_s", "index", "index_is_given"))
    durations_s = {name: duration_s for name, duration_s, _, _ in videos}
    if made_up := sum(not has_duration for *_, has_duration in videos):
        return records.VideoCorpus(durations_s, {}, MADE_UP.format(made_up, len(videos)))
    return records.VideoCorpus(durations_s, {index: name for name, _, index, _ in videos})
