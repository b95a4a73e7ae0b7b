"""Moments made of the spans of runs: planned with a pool, made when it is opened, then cut as every moment is."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from django.db.models import Q, QuerySet

from accounts.models import Project
from annotation.models import Corpus, Moment, PoolAnswer, PoolEntry, Pooling, PoolSpan, PoolSpanEntry, Video
from annotation.pools import rules
from core.exceptions import NotPossible
from core.messages import send_on_commit
from moment_retrieval.records import Span

CHUNK = 5000
SHOWN = 3  # spans of a refusal
OUTSIDE = "{source}, query {query}, rank {rank}: the span in {video} is refused: {reason}."


class NewSpan(NamedTuple):
    """A span that fits no moment of the corpus, within its video."""

    source: str
    query: int  # the key of the query judged
    span: Span
    rank: int


class Position(NamedTuple):
    """Where a run returned a span, for messages."""

    source: str
    query: int  # its number
    rank: int


@dataclass
class SpanIntake:
    """The spans of a pool that makes moments: clipped to their videos, those outside refused together."""

    videos: Mapping[str, Video]
    spans: list[NewSpan] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)

    def clipped(self, span: Span, position: Position) -> Span | None:
        """Return the span within its video; None where it is refused."""
        video = self.videos.get(span.video)
        try:
            if video is None:
                raise ValueError("the corpus has no such video")
            return rules.clipped(span, video.duration_s)
        except ValueError as error:
            self.refusals.append(OUTSIDE.format(**position._asdict(), video=span.video, reason=error))
            return None

    def check(self) -> None:
        """Raise NotPossible where a span was refused."""
        if self.refusals:
            more = len(self.refusals) - SHOWN
            rest = f" And {more} more." if more > 0 else ""
            advice = " Correct the run, or pool without making moments."
            raise NotPossible(" ".join(self.refusals[:SHOWN]) + rest + advice)


def videos_by_name(project: Project) -> dict[str, Video]:
    return {video.name: video for video in project.dataset.corpus.videos.defer("poster")}


def spans_store(
    *,
    pooling: Pooling,
    spans: Sequence[NewSpan],
    answers: Mapping[tuple[str, int], PoolAnswer],
    videos: Mapping[str, Video],
) -> None:
    """Store which of the spans become moments, and who returned them at what rank.

    Args:
        answers: by source and query.
    """
    targets = rules.spans_joined([(row.span, row.rank) for row in spans], iou_min=pooling.iou_min)
    new_spans = list(dict.fromkeys(targets.values()))
    rows = PoolSpan.objects.bulk_create(
        [
            PoolSpan(pooling=pooling, video=videos[span.video], start_s=span.start_s, end_s=span.end_s)
            for span in new_spans
        ],
        batch_size=CHUNK,
    )
    row_of = dict(zip(new_spans, rows, strict=True))
    best: dict[tuple[str, int, Span], int] = {}
    for row in spans:
        key = (row.source, row.query, targets[row.span])
        best[key] = min(row.rank, best.get(key, row.rank))
    PoolSpanEntry.objects.bulk_create(
        [
            PoolSpanEntry(answer=answers[source, query], span=row_of[span], rank=rank)
            for (source, query, span), rank in best.items()
        ],
        batch_size=CHUNK,
    )


def moments_make(*, pooling: Pooling) -> None:
    """Make the moments of a plan, in the transaction that opens it; their previews are cut afterwards.

    A span that fits a moment by now, as another pool has made one, is that moment.
    """
    spans = list(pooling.new_spans.filter(moment=None).select_related("video").order_by("pk"))
    if not spans:
        return
    Corpus.objects.select_for_update().get(pk=pooling.project.dataset.corpus_id)  # one pool at a time
    moments: dict[int, list[tuple[int, Span]]] = {}
    columns = ("video", "pk", "start_s", "end_s")
    for video, pk, start_s, end_s in Moment.objects.filter(video__in={row.video_id for row in spans}).values_list(
        *columns
    ):
        moments.setdefault(video, []).append((pk, Span("", start_s, end_s)))
    for row in spans:
        span = Span("", row.start_s, row.end_s)
        row.moment_id = rules.moment_of(span, moments.get(row.video_id, ()), iou_min=pooling.iou_min)
        if row.moment_id is None:
            row.moment = Moment.objects.create(video=row.video, start_s=row.start_s, end_s=row.end_s)
            row.is_new = True
    PoolSpan.objects.bulk_update(spans, ["moment", "is_new"], batch_size=CHUNK)
    _entries_make(pooling)
    send_on_commit("annotation.tasks.previews_sweep")


def _entries_make(pooling: Pooling) -> None:
    """Let each result of a span be an entry of its moment, at the best rank where a source returned it twice."""
    entries = PoolEntry.objects.filter(answer__source__pooling=pooling)
    there = {(entry.answer_id, entry.moment_id): entry for entry in entries}
    new: dict[tuple[int, int], int] = {}
    better: list[PoolEntry] = []
    rows = PoolSpanEntry.objects.filter(span__pooling=pooling).values_list("answer", "span__moment", "rank")
    for answer, moment, rank in rows:
        key = (answer, moment)
        if key not in there:
            new[key] = min(rank, new.get(key, rank))
        elif rank < there[key].rank:
            there[key].rank = rank
            better.append(there[key])
    PoolEntry.objects.bulk_update(better, ["rank"], batch_size=CHUNK)
    PoolEntry.objects.bulk_create(
        [PoolEntry(answer_id=answer, moment_id=moment, rank=rank) for (answer, moment), rank in new.items()],
        batch_size=CHUNK,
    )


def moments_to_cut(pooling: Pooling) -> QuerySet[Moment]:
    """Return the moments of the pool's spans whose preview is not cut yet and can be."""
    uncut = Q(preview_state=Moment.Preview.MISSING) & ~Q(video__file="")
    return Moment.objects.filter(uncut, pool_spans__pooling=pooling).distinct()


def videos_to_cut(pooling: Pooling) -> Iterable[int]:
    """Return the videos of these moments, by key."""
    return moments_to_cut(pooling).order_by("video").values_list("video", flat=True).distinct()


def new_moments_of(pooling: Pooling) -> QuerySet[PoolSpan]:
    """Return the spans of which moments were made, or will be when the pool is opened."""
    return pooling.new_spans.filter(Q(is_new=True) | Q(moment=None))


def pools_of_moments(corpus_id: int) -> dict[int, int | None]:
    """Return the moments of the corpus that were made of spans, by key, and which pool made each; None where it came
    with an import without its pool."""
    rows = PoolSpan.objects.filter(is_new=True, video__corpus=corpus_id)
    return {moment: pooling for moment, pooling in rows.values_list("moment", "pooling") if moment is not None}
