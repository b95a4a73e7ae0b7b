"""Reads of queries and moments for Tables 1 and 4."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.db.models import Avg, Count, ExpressionWrapper, F, FloatField, Max, Min, QuerySet, Sum

from annotation.models import Description, Moment, Project, Query, TrainSet, Video
from annotation.selectors.statistics import ALL, SPLITS
from annotation.train_sets.spans import Span, spans_of

CHUNK = 5000
HOUR_S = 3600
LENGTH = ExpressionWrapper(F("end_s") - F("start_s"), output_field=FloatField())


def columns_of(project: Project) -> list[tuple[str, str]]:
    """What each column is of, with words for which moments it counts: the corpus, its source splits, the splits."""
    sources = sorted(name for name in _source_splits(project) if name)
    found = [(ALL, "all of the corpus")]
    if len(sources) > 1:
        found += [(f"source {name}", "all of this part") for name in sources]
    splits = set(project.queries.filter(is_placeholder=False).order_by().values_list("split", flat=True).distinct())
    found += [(f"split {split}", "those the queries describe") for split in SPLITS if split in splits]
    if train := newest_train_set(project):
        found.append((f"train set {train.depth}", f"the best {train.depth} of each training query"))
    return found


def _source_splits(project: Project) -> set[str]:
    names = project.corpus.videos.order_by().values_list("source_split", flat=True).distinct()
    return set(names)


def newest_train_set(project: Project) -> TrainSet | None:
    return project.train_sets.filter(state=TrainSet.State.DONE).order_by("-finished_at").first()


def query_rows(project: Project, columns: Iterable[str]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every description and every query, with the columns it counts in."""
    wanted = set(columns)
    described = Description.objects.filter(corpus=project.corpus_id).values_list("moment__video__source_split", "text")
    for source, text in described.iterator(chunk_size=CHUNK):
        yield tuple({ALL, f"source {source}"} & wanted), text
    sets = tuple(name for name in wanted if name.startswith("train set"))
    asked = project.queries.filter(is_placeholder=False).values_list("split", "text")
    for split, text in asked.iterator(chunk_size=CHUNK):
        yield (f"split {split}", *(sets if split == Query.Split.TRAIN else ())), text


def moments_of(project: Project, column: str) -> QuerySet[Moment]:
    """The moments that a column counts, but of a training set."""
    moments = Moment.objects.filter(video__corpus=project.corpus_id)
    kind, _, name = column.partition(" ")
    if kind == "source":
        return moments.filter(video__source_split=name)
    if kind == "split":
        asked = project.queries.filter(split=name, is_placeholder=False, caption__isnull=False)
        return moments.filter(pk__in=asked.values("caption__moment"))
    return moments


def span_figures(moments: QuerySet[Moment]) -> dict[str, Any]:
    """How many moments there are, how long they and their videos are; None where there is none."""
    ratio = ExpressionWrapper(LENGTH / F("video__duration_s"), output_field=FloatField())
    found = moments.order_by().aggregate(
        moments=Count("pk"),
        seconds=Sum(LENGTH),
        moment_min=Min(LENGTH),
        moment_mean=Avg(LENGTH),
        moment_max=Max(LENGTH),
        ratio=Avg(ratio),
    )
    videos = Video.objects.filter(pk__in=moments.order_by().values("video")).aggregate(
        videos=Count("pk"),
        video_seconds=Sum("duration_s"),
        video_min=Min("duration_s"),
        video_mean=Avg("duration_s"),
        video_max=Max("duration_s"),
    )
    hours = {
        "moment_hours": (found.pop("seconds") or 0) / HOUR_S,
        "video_hours": (videos.pop("video_seconds") or 0) / HOUR_S,
    }
    return {**found, **videos, **hours}


def train_set_figures(train_set: TrainSet) -> dict[str, Any]:
    """The same of what a training set ranks, from its table."""
    with train_set.parquet.open("rb") as source:
        return _figures(spans_of(source))


def _figures(spans: set[Span]) -> dict[str, Any]:
    lengths = [end - start for _, start, end, _ in spans]
    videos = {name: duration for name, _, _, duration in spans}
    ratios = [(end - start) / duration for _, start, end, duration in spans]
    return {
        "moments": len(spans),
        "videos": len(videos),
        "moment_hours": sum(lengths) / HOUR_S,
        "video_hours": sum(videos.values()) / HOUR_S,
        **_least_mean_most("moment", lengths),
        **_least_mean_most("video", list(videos.values())),
        "ratio": sum(ratios) / len(ratios) if ratios else None,
    }


def _least_mean_most(name: str, values: list[float]) -> dict[str, float | None]:
    if not values:
        return {f"{name}_min": None, f"{name}_mean": None, f"{name}_max": None}
    return {f"{name}_min": min(values), f"{name}_mean": sum(values) / len(values), f"{name}_max": max(values)}
