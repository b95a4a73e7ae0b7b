"""Writes a release in the published file forms: the contract with models_runner and with the world.

The forms are those of TVR-Ranking (July 2024); docs/data-formats.md lists every column.
"""

import csv
import json
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

from django.conf import settings
from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from annotation.models import Candidate, Measure, Moment, Pooling, Project, Query, Video
from annotation.rules.pooling import BATCH_SIZE
from annotation.selectors import captions_serving, queries_to_judge
from annotation.services.measures import measure_of
from annotation.services.train_pool import train_pool_of
from annotation.similarity import registry
from annotation.train_sets.files import JsonTrainFile
from judging.models import Assignment, Batch, BatchReview, Judgment, Pair, Release
from judging.selectors import annotator_numbers, contributions, released_edits

MANIFEST = "manifest.json"
JUDGED_SPLITS = {Query.Split.VAL: "val.json", Query.Split.TEST: "test.json"}
TRAIN_DEPTHS = (1, 20, 40)
IS_PILOT = Q(batches__is_pilot=True) | Q(batches__isnull=True, query_set__is_pilot=True)


def released_queries(release: Release) -> QuerySet[Query]:
    """Finished queries; those judged as a pilot only where the release includes them."""
    finished = finished_queries(release.project_id)
    return finished if release.includes_pilot else finished.exclude(batches__is_pilot=True)


def queries_left_out(release: Release) -> tuple[int, int]:
    """How many queries to judge are not in the release: unfinished ones, and those of pilot sets."""
    to_judge = queries_to_judge(release.project_id)
    left_out = Query.objects.none() if release.includes_pilot else to_judge.filter(IS_PILOT).distinct()
    unfinished = to_judge.exclude(pk__in=finished_queries(release.project_id)).exclude(pk__in=left_out)
    return unfinished.count(), left_out.count()


def finished_queries(project_id: int) -> QuerySet[Query]:
    """Judged queries with nothing left to do: closed after the first batch, second batch done, or historic.

    A batch pooled from runs makes a query unfinished until it is done, too.
    """
    closed = BatchReview.objects.filter(batch__query=OuterRef("pk"), decision=BatchReview.Decision.CLOSE)
    extended = BatchReview.objects.filter(batch__query=OuterRef("pk"), decision=BatchReview.Decision.EXTEND)
    second = Batch.objects.filter(query=OuterRef("pk"), number=2)
    beyond = Candidate.objects.filter(query=OuterRef("pk"), source=Candidate.Source.SIMILARITY, rank=BATCH_SIZE + 1)
    judged = Query.objects.filter(project=project_id, batches__number=1, batches__state=Batch.State.DONE)
    return judged.filter(~Exists(Batch.objects.filter(query=OuterRef("pk"), state=Batch.State.OPEN))).filter(
        Q(is_placeholder=True)
        | Exists(closed)
        | Exists(second.filter(state=Batch.State.DONE))
        | (Exists(extended) & ~Exists(second) & ~Exists(beyond))
    )


def pair_number(pair: Pair) -> int:
    """The pair's number in files: that of the imported file, else our own."""
    return pair.pk if pair.source_id is None else pair.source_id


def write_files(release: Release, folder: Path) -> None:
    """Write every file but the manifest into ``folder``, which is made if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    project = release.project
    finished = list(released_queries(release).order_by("number").distinct())
    pairs = _pairs(finished)
    captions = _captions(project.corpus_id)
    for split, name in JUDGED_SPLITS.items():
        _write_json(folder / name, _judged(finished, split, pairs, captions))
    _write_train(release, folder)
    videos = project.corpus.videos.filter(corpus__is_placeholder=False).order_by("name")
    _write_json(folder / "video_corpus.json", {video.name: [video.duration_s, video.index] for video in videos})
    _write_csv(folder / "raw_annotation.csv", ["pair_id", "worker", "relevance"], _raw(project, finished))
    _write_csv(folder / "pairs.csv", PAIR_COLUMNS, _pair_rows(finished, pairs))
    (folder / "qrels.txt").write_text("".join(_qrels(finished, pairs)))


def _pairs(queries: Iterable[Query]) -> dict[int, list[Pair]]:
    """Pairs of each query, best rank first."""
    rows = (
        Pair.objects.filter(batch__query__in=[query.pk for query in queries if not query.is_placeholder])
        .select_related("candidate__moment__video", "batch")
        .order_by("batch__query", "candidate__rank")
    )
    held: dict[int, list[Pair]] = {}
    for pair in rows:
        held.setdefault(pair.batch.query_id, []).append(pair)
    return held


def _captions(corpus_id: int) -> dict[int, str]:
    """One caption of each moment: the first that serves."""
    return dict(captions_serving(corpus_id).order_by("-id").values_list("moment", "text"))


def _judged(
    finished: Iterable[Query], split: str, pairs: dict[int, list[Pair]], captions: dict[int, str]
) -> list[dict[str, object]]:
    """Queries of the split with their settled moments; a twin shares the relevance of the query judged for it."""
    own = [query for query in finished if not query.is_placeholder]
    twins = Query.objects.filter(judged_as__in=[query.pk for query in own], split=split)
    listed = [(query, query.pk) for query in own if query.split == split]
    listed += [(twin, twin.judged_as_id) for twin in twins if twin.judged_as_id]
    return [
        {
            "query_id": query.number,
            "query": query.text,
            "relevant_moment": [
                {**_moment_row(pair, captions), "relevance": pair.relevance}
                for pair in pairs.get(judged, [])
                if pair.state == Pair.State.SETTLED
            ],
        }
        for query, judged in sorted(listed, key=lambda item: item[0].number)
    ]


def _moment_row(pair: Pair, captions: dict[int, str]) -> dict[str, object]:
    moment = pair.candidate.moment
    return {
        "pair_id": pair_number(pair),
        "video_name": moment.video.name,
        "timestamp": [moment.start_s, moment.end_s],
        "duration": moment.video.duration_s,
        "caption": captions.get(moment.pk),
        "similarity": pair.candidate.similarity,
    }


def _write_train(release: Release, folder: Path) -> None:
    """The pseudo training sets: each training query's top moments by similarity, ranked once for all of them."""
    project = release.project
    pool = train_pool_of(project=project, measure=measure_of(registry.sentence_model(settings.SENTENCE_MODEL)))
    last = Pair.objects.filter(batch__project=project).order_by("-pk").values_list("pk", flat=True).first() or 0
    with ExitStack() as stack:
        files = [
            stack.enter_context(JsonTrainFile(folder / name, pool.moments, depth=depth, first=last + 1))
            for depth, name in ((depth, f"train_top{depth:02d}.json") for depth in TRAIN_DEPTHS)
        ]
        for block in pool.ranked(project, depth=max(TRAIN_DEPTHS)):
            for file in files:
                file.add(block)


def _raw(project: Project, finished: Iterable[Query]) -> Iterator[list[int]]:
    """Every final grade of the finished queries under the annotator's number; identities are never joined."""
    rows = (
        Judgment.objects.filter(pair__batch__query__in=[query.pk for query in finished])
        .exclude(assignment__state=Assignment.State.OPEN)
        .order_by("pair__source_id", "pair", "round", "seat")
    )
    numbers = annotator_numbers(project)
    columns = rows.values_list("pair__source_id", "pair", "annotator", "grade")
    for source_id, pair_id, annotator, grade in columns.iterator(chunk_size=20_000):
        yield [pair_id if source_id is None else source_id, numbers[annotator], grade]


PAIR_COLUMNS = [
    "pair_id",
    "query_id",
    "query",
    "video_name",
    "start",
    "end",
    "rank",
    "similarity",
    "batch",
    "state",
    "relevance",
    "reason",
    "source",
    "returned_by",
]


def _pair_rows(finished: Iterable[Query], pairs: dict[int, list[Pair]]) -> Iterator[list[object]]:
    returned = contributions(pair.candidate_id for held in pairs.values() for pair in held)
    for query in finished:
        for pair in pairs.get(query.pk, []):
            moment, candidate = pair.candidate.moment, pair.candidate
            yield [
                pair_number(pair),
                query.number,
                query.text,
                moment.video.name,
                moment.start_s,
                moment.end_s,
                candidate.rank,
                candidate.similarity,
                pair.batch.number,
                pair.state,
                pair.relevance,
                pair.reason,
                candidate.source,
                "; ".join(f"{name}: {rank}" for name, rank in returned.get(candidate.pk, [])),
            ]


def moment_name(moment: Moment) -> str:
    """Video, start and end in seconds as one word: the document id of TREC files."""
    return f"{'_'.join(moment.video.name.split())}:{moment.start_s!r}-{moment.end_s!r}"


def _qrels(finished: Iterable[Query], pairs: dict[int, list[Pair]]) -> Iterator[str]:
    """TREC lines: query, 0, moment, relevance."""
    for query in finished:
        for pair in pairs.get(query.pk, []):
            if pair.state == Pair.State.SETTLED:
                moment = pair.candidate.moment
                yield f"{query.number} 0 {moment_name(moment)} {pair.relevance}\n"


def manifest_facts(release: Release) -> dict[str, object]:
    """What the release is, and what it counts."""
    project = release.project
    finished = released_queries(release).distinct()
    unfinished, pilot = queries_left_out(release)
    states = Pair.objects.filter(batch__query__in=finished).order_by().values_list("state").annotate(n=Count("pk"))
    relevance = (
        Pair.objects.filter(batch__query__in=finished, state=Pair.State.SETTLED)
        .order_by("relevance")
        .values_list("relevance")
        .annotate(n=Count("pk"))
    )
    judgments = Judgment.objects.filter(pair__batch__query__in=finished).exclude(
        assignment__state=Assignment.State.OPEN
    )
    captions_edited, query_captions_edited = released_edits(project, finished)
    return {
        "project": project.name,
        "release": release.version,
        "created_at": release.created_at.isoformat(),
        "sentence_model": settings.SENTENCE_MODEL,
        "similarities": _measures(finished),
        "includes_pilot": release.includes_pilot,
        "pools": list(_pools(finished)),
        "counts": {
            "queries": finished.count(),
            "queries_unfinished": unfinished,
            "queries_pilot": pilot,
            "pairs": dict(states),
            "relevance": {str(value): n for value, n in relevance},
            "judgments": judgments.count(),
            "simulated_judgments": judgments.filter(source=Judgment.Source.SIMULATED).count(),
            "annotators": judgments.order_by().values("annotator").distinct().count(),
            "videos": Video.objects.filter(corpus=project.corpus_id, corpus__is_placeholder=False).count(),
            "captions_edited": captions_edited,
            "query_captions_edited": query_captions_edited,
        },
    }


def _measures(queries: QuerySet[Query]) -> list[dict[str, object]]:
    """How the similarities of the candidates of these queries were computed."""
    used = Candidate.objects.filter(query__in=queries.values("pk"), measure__isnull=False).order_by()
    rows = Measure.objects.filter(pk__in=used.values("measure").distinct()).order_by("pk")
    return [dict(row) for row in rows.values("name", "model", "version", "normalisation")]


def _pools(finished: QuerySet[Query]) -> Iterator[dict[str, object]]:
    """The pools whose candidates are in the release: what was pooled, and how many pairs came of it."""
    poolings = Pooling.objects.filter(candidates__query__in=finished).distinct().order_by("opened_at", "pk")
    for pooling in poolings.prefetch_related("sources"):
        yield {
            "opened_at": pooling.opened_at.isoformat() if pooling.opened_at else None,
            "sources": [source.name for source in pooling.sources.all()],
            "depth": pooling.depth,
            "iou_min": pooling.iou_min,
            "pairs": Pair.objects.filter(candidate__pooling=pooling, batch__query__in=finished).count(),
        }


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _write_csv(path: Path, columns: list[str], rows: Iterable[Iterable[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
