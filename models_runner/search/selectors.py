"""Trainings to search with, and the hits as shown: spans as moments that have a preview."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import QuerySet

from accounts.models import Project
from annotation.models import Moment, Video
from models_runner.experiments.selectors import trainings_with_weights
from models_runner.models import Experiment, FeatureSet, Training
from moment_retrieval.answers import Answer, Hit, Why
from moment_retrieval.metrics.iou import span_iou
from moment_retrieval.records import Span

SEEN_FROM = 0.3  # a moment of ours is shown for a span that it overlaps by so much


class Seen(NamedTuple):
    """A moment of ours with its preview, and how much of it is the span it is shown for."""

    span: Span
    preview: UUID
    iou: float


def previews_of(project: Project, spans: Sequence[Span]) -> dict[Span, Seen]:
    """For each span the moment of ours that it overlaps most, from SEEN_FROM on."""
    names = {span.video for span in spans}
    ready = Moment.objects.filter(
        video__corpus=project.dataset.corpus_id, video__name__in=names, preview_state=Moment.Preview.READY
    )
    previews_by_video: dict[str, list[tuple[Span, UUID]]] = {}
    for video, start, end, preview in ready.values_list("video__name", "start_s", "end_s", "preview_uuid"):
        previews_by_video.setdefault(video, []).append((Span(video, start, end), preview))
    best_by_span = {}
    for span in map(plain, spans):
        rivals = [
            Seen(rival, preview, span_iou(span, rival)) for rival, preview in previews_by_video.get(span.video, [])
        ]
        best = max(rivals, key=lambda candidate: candidate.iou, default=None)  # of equals the first
        if best is not None and best.iou >= SEEN_FROM:
            best_by_span[span] = best
    return best_by_span


def files_of(project: Project, names: Collection[str]) -> dict[str, UUID]:
    """Return those of the named videos whose file is here, by name."""
    videos = Video.objects.filter(corpus=project.dataset.corpus_id, name__in=names).exclude(file="")
    return dict(videos.values_list("name", "uuid"))


def plain(moment: Span) -> Span:
    """The span alone of a moment that holds more."""
    return Span(moment.video, moment.start_s, moment.end_s)


class Shown(NamedTuple):
    """A hit as a page shows it."""

    rank: int
    hit: Hit
    why: Why
    file: UUID | None  # the video, by its name for the outside; None where there is no file
    duration_s: float | None  # of the video; None where the project does not have it any more
    seen: Seen | None  # a moment of ours that overlaps it

    @property
    def end_s(self) -> float:
        """Within the video: a model may name an end up to a clip behind it."""
        return min(self.hit.end_s, self.duration_s or self.hit.end_s)


def searchable(project: Project) -> QuerySet[Training]:
    """Return the finished trainings that have their weights, the newest first."""
    return trainings_with_weights(project).order_by("-experiment_id", "seed")


def without_weights(project: Project) -> QuerySet[Training]:
    """Return those that cannot be searched with, as nothing but their results is here."""
    trainings = Training.objects.filter(experiment__project=project, has_weights=False)
    return trainings.select_related("experiment").order_by("-experiment_id", "seed")


def words_by(experiment: Experiment) -> dict[str, Any]:
    """Return what made the query features of an experiment, as the set of the file says that it names: extractor,
    model, and its name with its version; nothing where it is not known. ``is_assumed``: people say so of a file not
    made here."""
    path = experiment.features["query"]["path"]
    sets = FeatureSet.objects.filter(project=experiment.project_id, kind=FeatureSet.Kind.QUERY)
    feature_set = sets.filter(path__in={path, str(Path(path).resolve())}).first()
    if feature_set is None or (feature_set.may_name_model and not feature_set.model):
        return {}
    if feature_set.may_name_model:
        layer = feature_set.attributes.get("layer")  # as the file says, where one made it that says so
        by: dict[str, Any] = {"layer": layer} if isinstance(layer, int) else {}
        return {"extractor": FeatureSet.Extractor.TEXTS, "model": feature_set.model, "is_assumed": True, **by}
    return {"extractor": feature_set.extractor, "model": feature_set.model, "made_by": feature_set.made_by}


def shown_hits(project: Project, answer: Answer) -> list[Shown]:
    """The hits with what there is to be seen of them, by two statements; those in retired videos are left out."""
    rows = Video.objects.filter(corpus=project.dataset.corpus_id, name__in=answer.videos)
    videos = {video.name: video for video in rows.only("uuid", "name", "duration_s", "file", "retired_at")}
    previews = previews_of(project, [hit.span for hit in answer.hits])
    hit_views = []
    for rank, hit in enumerate(answer.hits, start=1):
        video = videos.get(hit.video)
        if video and video.retired_at:
            continue
        file = video.uuid if video and video.file else None
        duration_s = video.duration_s if video else None
        hit_views.append(Shown(rank, hit, answer.videos[hit.video], file, duration_s, previews.get(hit.span)))
    return hit_views
