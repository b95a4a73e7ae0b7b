"""What can be searched with, and what is shown of what was found."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from django.db.models import QuerySet

from annotation.models import Project, Video
from models_runner.models import Experiment, FeatureSet, Training
from models_runner.selectors.previews import Seen, previews_of
from moment_retrieval.records import Span
from moment_retrieval.searching.answers import Answer, Hit, Why


class WordsBy(NamedTuple):
    """What made the query features of an experiment, and its name with its version; empty where nobody knows.

    ``is_said``: people say so of a file that was not made here.
    """

    way: str = ""
    model: str = ""
    made_by: str = ""
    is_said: bool = False


class Shown(NamedTuple):
    """A hit as a page shows it.

    Attributes:
        file: the video, by its name for the outside; None where there is no file.
        duration_s: of the video; None where the project does not have it any more.
        seen: a moment of ours that overlaps it.
    """

    rank: int
    hit: Hit
    why: Why
    file: UUID | None
    duration_s: float | None
    seen: Seen | None

    @property
    def end_s(self) -> float:
        """Within the video: a model may name an end up to a clip behind it."""
        return min(self.hit.end_s, self.duration_s or self.hit.end_s)


def searchable(project: Project) -> QuerySet[Training]:
    """Finished trainings, the newest first."""
    done = Training.objects.filter(experiment__project=project, state=Training.State.DONE)
    return done.select_related("experiment").order_by("-experiment_id", "seed")


def words_by(experiment: Experiment) -> WordsBy:
    """By the set of features whose file the experiment names."""
    path = experiment.features["query"]["path"]
    places = {path, str(Path(path).resolve())}
    sets = FeatureSet.objects.filter(project=experiment.project_id, kind=FeatureSet.Kind.QUERY, path__in=places)
    held = sets.first()
    if held is None or (held.may_name_model and not held.model):
        return WordsBy()
    if held.may_name_model:
        return WordsBy(FeatureSet.Extractor.TEXTS, held.model, is_said=True)
    return WordsBy(held.extractor, held.model, held.made_by)


def shown_hits(project: Project, answer: Answer) -> list[Shown]:
    """The hits with what there is to be seen of them, by two statements."""
    spans: Sequence[Span] = [hit.span for hit in answer.hits]
    held = Video.objects.filter(corpus=project.corpus_id, name__in=answer.videos)
    videos = {video.name: video for video in held.only("uuid", "name", "duration_s", "file")}
    seen = previews_of(project, spans)
    return [_shown(rank, hit, answer, videos, seen) for rank, hit in enumerate(answer.hits, start=1)]


def _shown(rank: int, hit: Hit, answer: Answer, videos: dict[str, Video], seen: dict[Span, Seen]) -> Shown:
    video = videos.get(hit.video)
    file, duration_s = (video.uuid if video.file else None, video.duration_s) if video else (None, None)
    return Shown(rank, hit, answer.videos[hit.video], file, duration_s, seen.get(hit.span))
