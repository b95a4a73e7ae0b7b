"""Moments of ours that have a preview, for spans that somebody or something else names."""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from annotation.models import Moment, Project
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
        video__corpus=project.corpus_id, video__name__in=names, preview_state=Moment.Preview.READY
    )
    held: dict[str, list[tuple[Span, UUID]]] = {}
    for video, start, end, preview in ready.values_list("video__name", "start_s", "end_s", "preview_uuid"):
        held.setdefault(video, []).append((Span(video, start, end), preview))
    found = {}
    for span in map(plain, spans):
        rivals = [Seen(rival, preview, span_iou(span, rival)) for rival, preview in held.get(span.video, [])]
        best = max(rivals, key=lambda seen: seen.iou, default=None)  # of equals the first
        if best is not None and best.iou >= SEEN_FROM:
            found[span] = best
    return found


def plain(moment: Span) -> Span:
    """The span alone of a moment that holds more."""
    return Span(moment.video, moment.start_s, moment.end_s)
