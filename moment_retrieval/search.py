"""From a query to ranked moments: candidate videos, the best cells of their maps, seconds.

Only moments of allowed lengths are looked at: 14 diagonals of each video's map, and of those only the best cell of
every start until the best starts are known. The ranking is that of the whole map. CONQUER looks only into the best
videos of another model, since the published lists are not to be had; that source is part of a run's name, as it bounds
the score: "CONQUER (candidates: ReLoCLNet, top 10)".

Notation: N queries, V videos of the corpus or of each query, W clips, H hidden features, k moments or candidates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from moment_retrieval.batches import Sequences
from moment_retrieval.distributed import Pair
from moment_retrieval.index import Index
from moment_retrieval.metrics.recall import Task
from moment_retrieval.models.conquer import Conquer, ConquerOutput, EncodedClips
from moment_retrieval.models.two_stream import EncodedVideos, TwoStream
from moment_retrieval.preprocessing import CLIP_S
from moment_retrieval.proposals import Proposals
from moment_retrieval.settings import Decoding, Ranking


@dataclass(frozen=True)
class RankedMoments:
    """Moments of N queries, best first [N, k]: which video, the clips of start and end, the score.

    A query with fewer than k moments has cells without a score (minus infinity) at its end.
    """

    video: Tensor
    start: Tensor
    end: Tensor
    score: Tensor

    @property
    def real(self) -> Tensor:
        """True where there is a moment [N, k]."""
        return self.score > -torch.inf


def by_probability(start: Tensor, end: Tensor, weights: Tensor, decoding: Decoding) -> RankedMoments:
    """Moments by weight * P(start) * P(end), as XML and ReLoCLNet rank them.

    Args:
        start, end: probabilities [N, V, W], 0 where no clip is.
        weights: of the videos [N, V].
    """
    best = _best(start * weights[..., None], end, torch.mul, 0.0, decoding)
    return replace(best, score=best.score.masked_fill(best.score <= 0, -torch.inf))


def by_logit(start: Tensor, end: Tensor, real: Tensor, decoding: Decoding) -> RankedMoments:
    """Moments by the sum of their logits [N, V, W], ``real`` where a clip is, as CONQUER ranks them."""
    start, end = (logits.masked_fill(~real, -torch.inf) for logits in (start, end))
    return _best(start, end, torch.add, -torch.inf, decoding)


def by_mean(scores: Tensor, proposals: Proposals, weights: Tensor, decoding: Decoding) -> RankedMoments:
    """Proposals by weight * mean score of their clips, as the ablations of XML rank them.

    Args:
        scores: of clips [N, V, W], 0 where no clip is.
        proposals: [N, V, M].
        weights: of the videos [N, V]; 0 leaves one out.
    """
    sums = functional.pad(scores.double().cumsum(2), (1, 0))  # [N, V, W + 1], of the clips before each
    means = (sums.gather(2, proposals.last + 1) - sums.gather(2, proposals.first)) / (
        proposals.last + 1 - proposals.first
    )
    is_searched = proposals.real & (weights[..., None] > 0)
    values = (weights[..., None] * means.to(scores.dtype)).masked_fill(~is_searched, -torch.inf).flatten(1)
    best = largest(values, decoding.moments)
    first, last = (clips.flatten(1).gather(1, best) for clips in (proposals.first, proposals.last))
    return RankedMoments(best // proposals.first.shape[2], first, last, values.gather(1, best))


def _best(start: Tensor, end: Tensor, join: Any, outside: float, decoding: Decoding) -> RankedMoments:
    """The best cells of ``joined(start[i], end[j])``, which grows with each; ``outside`` is worth nothing."""
    width = start.shape[2]
    diagonals = decoding.longest - decoding.shortest
    ends = functional.pad(end, (0, decoding.longest - 1), value=outside)[..., decoding.shortest :]  # [N, V, W + d - 1]
    best_end = functional.max_pool1d(ends, diagonals, stride=1)  # [N, V, W]
    starts = largest(join(start, best_end).flatten(1), decoding.moments).sort(1).values  # cells [N, k]
    ends = ends.unfold(2, diagonals, 1).flatten(1, 2)  # [N, V * W, d], a view
    near = ends.gather(1, starts[..., None].expand(-1, -1, diagonals))  # [N, k, d]
    cells = join(start.flatten(1).gather(1, starts)[..., None], near).flatten(1)  # [N, k * d]
    best = largest(cells, decoding.moments)
    cell = starts.gather(1, best // diagonals)
    first = cell % width
    last = first + decoding.shortest + best % diagonals
    return RankedMoments(cell // width, first, last, cells.gather(1, best))


def largest(values: Tensor, count: int) -> Tensor:
    """Where the ``count`` largest of each row are [N, min(count, C)], largest first, of equals the first first."""
    count = min(count, values.shape[1])
    top, where = values.topk(count, dim=1)
    where, order = where.sort(dim=1)
    where = where.gather(1, top.gather(1, order).argsort(dim=1, descending=True, stable=True))
    tied = ((values >= top[:, -1:]).sum(1) > count).nonzero().squeeze(1)  # which of the last equals topk took is chance
    if len(tied):
        where[tied] = values[tied].argsort(dim=1, descending=True, stable=True)[:, :count]
    return where


def listed_candidates(
    lists: Mapping[str, Sequence[int]], query_ids: Sequence[str], count: int, allowed: Tensor | None = None
) -> Tensor:
    """The first ``count`` videos that another system ranked for each query, -1 where there are fewer [N, count].

    Args:
        lists: by query id, indexes into the corpus, best first.
        allowed: which videos may be candidates of which query [N, V].
    """
    result = torch.full((len(query_ids), count), -1)
    for row, query_id in enumerate(query_ids):
        videos = [video for video in lists.get(query_id, ()) if allowed is None or allowed[row, video]][:count]
        result[row, : len(videos)] = torch.tensor(videos, dtype=torch.long)
    return result


def best_videos(scores: Tensor, count: int, allowed: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The ``count`` best of each row [N, V] that are allowed, -1 where there are fewer, and their scores."""
    if allowed is not None:
        scores = scores.masked_fill(~allowed, -torch.inf)
    videos = largest(scores, count)
    best = scores.gather(1, videos)
    return videos.masked_fill(best == -torch.inf, -1), best


def candidate_recall(candidates: Tensor, relevant: Sequence[Sequence[int]]) -> float:
    """The share of relevant moments whose video is a candidate: no ranking of candidates scores above it.

    Args:
        candidates: [N, k].
        relevant: for each query the video of every relevant moment, as often as it holds one.
    """
    hits = [video in row for row, videos in zip(candidates.tolist(), relevant, strict=True) for video in videos]
    return sum(hits) / len(hits) if hits else 0.0


QUERIES = 16  # whose best videos are looked into at once
SCORED = 128  # queries whose videos are all scored at once
Videos = Iterable[tuple[Sequences, Sequences]]  # batches of (video, subtitle) features


def encode_corpus(model: TwoStream, videos: Videos) -> Index:
    """All videos, batch by batch, with what a search needs of them."""
    levels = {model.score_level, model.span_level}
    with torch.inference_mode():
        encoded = EncodedVideos.joined([model.encode_videos(*batch).only(*levels) for batch in videos])
        return Index.of(encoded, score_level=model.score_level)


def search(model: TwoStream, queries: Sequences, corpus: Index, decoding: Decoding) -> RankedMoments:
    """Return the best moments of the whole corpus for each query."""
    with torch.inference_mode():
        return _joined(
            _span_moments(model, part, corpus, decoding) for part in _best_videos(model, queries, corpus, decoding)
        )


def search_tasks(
    model: TwoStream, queries: Sequences, corpus: Index, own: Tensor, decoding: Decoding
) -> dict[Task, RankedMoments]:
    """Answer each query of the three tasks of TVR: moments of the corpus, moments of its own video, videos.

    Args:
        own: the video of each query [N], indexes into the corpus; -1 is none.
    """
    results: dict[Task, list[RankedMoments]] = {task: [] for task in Task}
    with torch.inference_mode():
        parts = _best_videos(model, queries, corpus, decoding)
        for part, rows in zip(parts, own.split(QUERIES), strict=True):
            one = rows[:, None].to(part.videos.device)
            weights = part.all_weights.gather(1, one.clamp(min=0)).masked_fill(one < 0, 0.0)
            own_part = replace(part, videos=one.clamp(min=0), weights=weights)
            results[Task.VCMR].append(_span_moments(model, part, corpus, decoding))
            results[Task.SVMR].append(_span_moments(model, own_part, corpus, decoding))
            results[Task.VR].append(ranked_videos(part.videos, part.weights))
        return {task: _joined(moments) for task, moments in results.items()}


def ranked_videos(videos: Tensor, scores: Tensor) -> RankedMoments:
    """Return videos [N, k], the best first, as moments of no length; one without a score is none."""
    return RankedMoments(videos, torch.zeros_like(videos), torch.zeros_like(videos), scores)


def search_candidates(
    model: Conquer,
    queries: Sequences,
    clips: EncodedClips,
    candidates: Tensor,
    decoding: Decoding,
    *,
    scores: Tensor | None = None,
) -> RankedMoments:
    """The best moments among candidate videos, by ``decoding.ranking``; in the published runs by the logits alone.

    Args:
        clips: the corpus, or those of its videos that are candidates.
        candidates: of each query [N, V], indexes into ``clips``; -1 is none.
        scores: of the first stage [N, V], which the general ranking needs.

    Raises:
        ValueError: the ranking needs scores that are not there.
    """
    results = []
    with torch.inference_mode():
        encoded, device = model.encode_queries(queries), clips.seen.device
        for rows in torch.arange(len(candidates)).split(QUERIES):
            videos, is_candidate = candidates[rows].to(device).clamp(min=0), candidates[rows].to(device) >= 0
            query_index = rows.repeat_interleave(videos.shape[1]).to(device)
            some = clips.taken(videos.flatten())
            output = model.locate(encoded.taken(query_index), some)
            start, end = (logits.unflatten(0, videos.shape) for logits in (output.start, output.end))
            if decoding.ranking is Ranking.DISJOINT:
                best = by_logit(start, end, some.layout.real.view_as(start) & is_candidate[..., None], decoding)
            else:
                first_scores = None if scores is None else scores[rows].to(device)
                weights = _video_weights(output, is_candidate, decoding.ranking, first_scores)
                best = by_probability(start.softmax(2), end.softmax(2), weights, decoding)
            results.append(_in_corpus(best, videos))
        return _joined(results)


def _video_weights(output: ConquerOutput, is_candidate: Tensor, ranking: Ranking, scores: Tensor | None) -> Tensor:
    """The scores of candidates that moments are weighed by [n, V], 0 of no candidate: the first stage's, or its own."""
    if ranking is Ranking.EXCLUSIVE and output.videos is not None:
        return output.videos.view(is_candidate.shape).masked_fill(~is_candidate, -torch.inf).softmax(1).nan_to_num(0.0)
    if ranking is Ranking.GENERAL and scores is not None:
        return scores.masked_fill(~is_candidate, 0.0)
    raise ValueError(f"ranking {ranking} needs scores of videos, and there are none")


def seconds(moments: RankedMoments, decoding: Decoding) -> tuple[Tensor, Tensor]:
    """Start and end of each moment in seconds [N, k]; an end may lie behind the video's."""
    return moments.start * CLIP_S, moments.end * CLIP_S + decoding.end_offset_s


@dataclass(frozen=True)
class _Part:
    """A few queries [n], videos of each [n, v], the weights of these, and the weights of the whole corpus [n, V]."""

    queries: Pair
    videos: Tensor
    weights: Tensor
    all_weights: Tensor


def _best_videos(model: TwoStream, queries: Sequences, corpus: Index, decoding: Decoding) -> Iterator[_Part]:
    """Yield a few queries at a time with their best videos."""
    encoded = model.encode_queries(queries)
    for some in _parts(encoded, SCORED):
        all_scores = corpus.scores(some)
        for part, scores in zip(_parts(some, QUERIES), all_scores.split(QUERIES), strict=True):
            weights = (decoding.alpha * scores).exp()
            videos = largest(weights, decoding.videos)
            yield _Part(part, videos, weights.gather(1, videos), weights)


def _span_moments(model: TwoStream, part: _Part, corpus: Index, decoding: Decoding) -> RankedMoments:
    """Return the best moments of the videos of each query."""
    videos = part.videos
    visual, subtitle = (half.repeat_interleave(videos.shape[1], dim=0) for half in part.queries)
    some = corpus.taken(videos.flatten())
    start, end = (curve.unflatten(0, videos.shape) for curve in model.curves((visual, subtitle), some))
    if model.propose is None:
        return _in_corpus(by_probability(start, end, part.weights, decoding), videos)
    proposals = model.propose(start, some.layouts[0].lengths.view(videos.shape))
    return _in_corpus(by_mean(start, proposals, part.weights, decoding), videos)


def _parts(queries: Pair, size: int) -> Iterator[Pair]:
    yield from zip(queries[0].split(size), queries[1].split(size), strict=True)


def _in_corpus(moments: RankedMoments, videos: Tensor) -> RankedMoments:
    """The same with videos by their index in the corpus instead of their place in ``videos`` [n, v]."""
    return replace(moments, video=videos.gather(1, moments.video))


def _joined(parts: Iterable[RankedMoments]) -> RankedMoments:
    """Return the queries of all parts; where a part has fewer moments, cells without a score fill it up."""
    columns = list(zip(*((part.video, part.start, part.end, part.score) for part in parts), strict=True))
    width = max(score.shape[1] for score in columns[-1])
    video, start, end = (torch.cat([_widened(one, width, 0) for one in column]) for column in columns[:-1])
    return RankedMoments(video, start, end, torch.cat([_widened(one, width, -torch.inf) for one in columns[-1]]))


def _widened(values: Tensor, width: int, value: float) -> Tensor:
    """[n, k] -> [n, width]."""
    return functional.pad(values, (0, width - values.shape[1]), value=value)
