"""What features are made of: the videos, subtitles or queries of a project."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from annotation.models import Project, Query, Video
from annotation.services.previews import local_copy
from models_runner.models import FeatureSet
from moment_retrieval.features.extractors import Film, Line, Sentence, Speech
from moment_retrieval.features.extractors.frames import clip_count

NOTHING = Path("/nonexistent")  # the file of a video that has none


def names_wanted(project: Project, kind: str) -> list[str]:
    """Whose features there are to be."""
    if kind == FeatureSet.Kind.QUERY:
        numbers = Query.objects.filter(project=project, is_placeholder=False).order_by("number")
        return [str(number) for number in numbers.values_list("number", flat=True)]
    return list(Video.objects.filter(corpus=project.corpus_id).order_by("index").values_list("name", flat=True))


def films(project: Project, is_known: Callable[[object], bool]) -> Iterator[Film]:
    """The videos, each on this machine while it is looked at; nothing else is known of them."""
    for video in Video.objects.filter(corpus=project.corpus_id).order_by("index").iterator():
        if is_known(video.name) or not video.file:
            yield Film(video.name, NOTHING)
            continue
        with local_copy(video) as path:
            yield Film(video.name, path)


def speeches(project: Project, is_known: Callable[[object], bool]) -> Iterator[Speech]:
    videos = Video.objects.filter(corpus=project.corpus_id).order_by("index")
    for video in videos.prefetch_related("subtitles").iterator(chunk_size=200):
        lines = [Line(line.start_s, line.end_s, line.text) for line in video.subtitles.all()]
        yield Speech(video.name, clip_count(video.duration_s), lines)


def sentences(project: Project, is_known: Callable[[object], bool]) -> Iterator[Sentence]:
    queries = Query.objects.filter(project=project, is_placeholder=False).order_by("number")
    for number, text in queries.values_list("number", "text").iterator():
        yield Sentence(str(number), text)


ITEMS: dict[str, Callable[[Project, Callable[[object], bool]], Iterator[Any]]] = {
    FeatureSet.Kind.VIDEO: films,
    FeatureSet.Kind.SUBTITLE: speeches,
    FeatureSet.Kind.QUERY: sentences,
}
