"""Write what moments are retrieved from: videos, moments, captions, all queries; and the pseudo training sets."""

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import F, Q

from accounts.models import Project
from annotation.captions.selectors import captions_serving, captions_to_train_on
from annotation.models import Caption, Moment, Query
from annotation.pools.services.candidates import measure_of
from annotation.queries.selectors import queries_to_train_on
from annotation.similarity import registry
from annotation.train_sets.files import JsonTrainFile
from annotation.train_sets.services import train_pool_of
from judging.releases.judged import OnProgress
from judging.releases.layout import (
    MOMENTS,
    QUERIES,
    TRAIN_DEPTHS,
    TRAIN_FILES,
    VIDEO_CORPUS,
    VIDEOS,
    CsvFile,
    json_line,
    write_json,
    write_lines,
    yes,
)
from judging.releases.selectors import IS_PILOT, Scope

CHUNK = 2000


def write_corpus(scope: Scope, folder: Path, on_progress: OnProgress) -> None:
    corpus = scope.project.dataset.corpus
    rows = corpus.videos.order_by("pk").values_list("name", "index", "duration_s", "source_split")
    videos = [] if corpus.is_placeholder else list(rows)
    with CsvFile(folder, VIDEOS) as file:
        file.add_all(videos)
    write_json(folder / VIDEO_CORPUS, {name: [seconds, index] for name, index, seconds, _ in sorted(videos)})
    write_lines(folder / MOMENTS, _moments(scope, on_progress))


def _moments(scope: Scope, on_progress: OnProgress) -> Iterator[str]:
    """One line for each moment, in the order of their import, which breaks ties between similarities."""
    corpus = scope.project.dataset.corpus
    found = Moment.objects.filter(video__corpus=corpus, video__corpus__is_placeholder=False)
    done, total = 0, found.count()
    columns = ("pk", "video__name", "start_s", "end_s", "preview_state")
    rows = found.order_by("pk").values_list(*columns).iterator(chunk_size=CHUNK)
    while chunk := list(islice(rows, CHUNK)):
        captions = _captions(corpus.pk, [pk for pk, *_ in chunk])
        for pk, video, start_s, end_s, preview in chunk:
            moment: dict[str, Any] = {"video_name": video, "start": start_s, "end": end_s}
            if preview == Moment.Preview.FAILED:
                moment["not_cut"] = True
            yield json_line({**moment, "captions": captions.get(pk, [])})
        done += len(chunk)
        on_progress(done, total)


def _captions(corpus_id: int, moments: list[int]) -> dict[int, list[dict[str, Any]]]:
    """The captions of each moment that serve, first made first."""
    held: dict[int, list[dict[str, Any]]] = {}
    rows = captions_serving(corpus_id).filter(moment__in=moments).order_by("pk")
    for moment, number, kind, text, provider, model in rows.values_list(
        "moment", "description__source_id", "description__kind", "text", "provider", "model"
    ):
        told = {"id": number, "kind": kind, "text": text, "provider": provider, "model": model}
        held.setdefault(moment, []).append(told)
    return held


def write_queries(scope: Scope, folder: Path) -> None:
    """All queries of the project, released or not; one that is not is there with its text and split only."""
    serving = captions_serving(scope.project.dataset.corpus_id).values("pk")
    released = set(scope.keys)
    pilots = set(Query.objects.filter(IS_PILOT, project=scope.project).values_list("pk", flat=True))
    rows = Query.objects.filter(project=scope.project).order_by("number")
    said = dict(rows.filter(caption__in=serving).values_list("pk", "caption__description__source_id"))
    columns = ("pk", "number", "text", "split", "judged_as", "judged_as__number", "query_set__name", "is_placeholder")
    with CsvFile(folder, QUERIES) as file:
        for pk, number, text, split, judged, twin_of, held, is_placeholder in rows.values_list(*columns).iterator(
            chunk_size=CHUNK
        ):
            answers = map(yes, (is_placeholder, (judged or pk) in released, pk in pilots))
            file.add((number, text, split, twin_of, held, said.get(pk), *answers))


def write_train(project: Project, folder: Path, *, first: int, on_progress: OnProgress) -> None:
    """``first`` is the number of the first row; nobody judges these, so they are numbered behind the judged."""
    total = queries_to_train_on(project.pk).count()
    if not total:
        for name in TRAIN_FILES.values():
            write_json(folder / name, [])
        return
    pool = train_pool_of(project=project, measure=measure_of(registry.sentence_model(settings.SENTENCE_MODEL)))
    done = 0
    with ExitStack() as stack:
        files = [
            stack.enter_context(JsonTrainFile(folder / name, pool.moments, depth=depth, first=first))
            for depth, name in TRAIN_FILES.items()
        ]
        for block in pool.ranked(project, depth=max(TRAIN_DEPTHS)):
            for file in files:
                file.add(block)
            done += len(block.numbers)
            on_progress(done, max(done, total))


def described_in_train(project: Project) -> dict[str, int]:
    """Texts of the training sets that are descriptions as they were brought, never rewritten, names and all.

    A query keeps the text that it was drawn with when its caption is rewritten.
    """
    unwritten = Caption.Provider.AS_DESCRIBED
    drawn_before = Q(text=F("caption__description__text")) & ~Q(text=F("caption__text"))
    queries = queries_to_train_on(project.pk).filter(drawn_before | Q(caption__provider=unwritten))
    return {
        "captions_as_described": captions_to_train_on(project.dataset.corpus_id).filter(provider=unwritten).count(),
        "train_queries_as_described": queries.count(),
    }
