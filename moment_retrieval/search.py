"""Queries against a corpus that was encoded once.

Notation: N queries, V videos of the corpus, H hidden features.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor

from moment_retrieval.decoding import Found, by_logit, by_probability, largest
from moment_retrieval.index import Index
from moment_retrieval.models.conquer import Conquer, EncodedClips
from moment_retrieval.models.two_stream import EncodedVideos, Pair, TwoStream
from moment_retrieval.preprocessing import CLIP_S
from moment_retrieval.ragged import Sequences
from moment_retrieval.settings import Decoding

QUERIES = 16  # whose best videos are looked into at once
SCORED = 128  # queries whose videos are all scored at once
RESCORED = 4  # as many times the videos wanted are scored anew in float32 where less is kept
Videos = Iterable[tuple[Sequences, Sequences]]  # batches of (video, subtitle) features


def encode_corpus(model: TwoStream, videos: Videos, *, dtype: torch.dtype = torch.float32) -> Index:
    """All videos, batch by batch, with what a search needs of them."""
    levels = {model.score_level, model.span_level}
    with torch.inference_mode():
        encoded = EncodedVideos.joined([model.encode_videos(*batch).only(*levels) for batch in videos])
        return Index.of(encoded, score_level=model.score_level, dtype=dtype)


def search(model: TwoStream, queries: Sequences, corpus: Index, decoding: Decoding) -> Found:
    """The best moments of the whole corpus for each query."""
    with torch.inference_mode():
        encoded = model.encode_queries(queries)
        found = []
        for some in _parts(encoded, SCORED):
            scores = corpus.scores(some)
            parts = zip(_parts(some, QUERIES), scores.split(QUERIES), strict=True)
            found += [_search(model, part, near, corpus, decoding) for part, near in parts]
        return _joined(found)


def search_candidates(
    model: Conquer,
    queries: Sequences,
    clips: EncodedClips,
    candidates: Tensor,
    decoding: Decoding,
    *,
    scores: Tensor | None = None,
) -> Found:
    """The best moments among candidate videos.

    Args:
        model, queries, decoding: what is asked.
        clips: the corpus, or those of its videos that are candidates.
        candidates: of each query [N, V], indexes into ``clips``; -1 is none.
        scores: of the candidates [N, V]; moments then count by them and by probability ("general"). Without scores the
            logits decide alone ("disjoint"), as in the published runs.
    """
    found = []
    with torch.inference_mode():
        encoded, device = model.encode_queries(queries), clips.seen.device
        for rows in torch.arange(len(candidates)).split(QUERIES):
            videos, known = candidates[rows].to(device).clamp(min=0), candidates[rows].to(device) >= 0
            asked = rows.repeat_interleave(videos.shape[1]).to(device)
            some = clips.taken(videos.flatten())
            output = model.locate(encoded.taken(asked), some)
            start, end = (logits.unflatten(0, videos.shape) for logits in (output.start, output.end))
            if scores is None:
                best = by_logit(start, end, some.layout.real.view_as(start) & known[..., None], decoding)
            else:
                best = by_probability(start.softmax(2), end.softmax(2), scores[rows].to(device) * known, decoding)
            found.append(_in_corpus(best, videos))
        return _joined(found)


def seconds(found: Found, decoding: Decoding) -> tuple[Tensor, Tensor]:
    """Start and end of each moment in seconds [N, k]; an end may lie behind the video's."""
    return found.start * CLIP_S, found.end * CLIP_S + decoding.end_offset_s


def _search(model: TwoStream, queries: Pair, scores: Tensor, corpus: Index, decoding: Decoding) -> Found:
    """A few queries, given their scores [n, V]."""
    weights, videos = best_weights(queries, scores, corpus, decoding)  # [n, v]
    asked = tuple(part.repeat_interleave(videos.shape[1], dim=0) for part in queries)
    logits = model.span_logits((asked[0], asked[1]), corpus.taken(videos.flatten()))
    start, end = (boundary.softmax(1).unflatten(0, videos.shape) for boundary in logits)
    return _in_corpus(by_probability(start, end, weights, decoding), videos)


def best_weights(queries: Pair, scores: Tensor, corpus: Index, decoding: Decoding) -> tuple[Tensor, Tensor]:
    """The videos of largest weight of each query, and their weights exp(alpha * score) [n, v]."""
    if corpus.dtype is torch.float32:
        weights = (decoding.alpha * scores).exp()
        videos = largest(weights, decoding.videos)
        return weights.gather(1, videos), videos
    near = largest(scores, RESCORED * decoding.videos).sort(1).values  # of equals, the first in the corpus stays first
    weights = (decoding.alpha * corpus.exact_scores(queries, near)).exp()
    chosen = largest(weights, decoding.videos)
    return weights.gather(1, chosen), near.gather(1, chosen)


def _parts(queries: Pair, size: int) -> Iterator[Pair]:
    yield from zip(queries[0].split(size), queries[1].split(size), strict=True)


def _in_corpus(found: Found, videos: Tensor) -> Found:
    """The same with videos by their index in the corpus instead of their place in ``videos`` [n, v]."""
    return Found(videos.gather(1, found.video), found.start, found.end, found.score)


def _joined(parts: Iterable[Found]) -> Found:
    columns = zip(*((part.video, part.start, part.end, part.score) for part in parts), strict=True)
    return Found(*(torch.cat(column) for column in columns))
