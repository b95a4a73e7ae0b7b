"""How well a model retrieves: the corpus encoded once, every query answered, NDCG in both conventions.

Notation: Q queries of a split, V videos of the corpus, k moments.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from moment_retrieval.decoding import Decoding, Found
from moment_retrieval.metrics.ndcg_iou import Convention, Measure
from moment_retrieval.metrics.report import evaluate
from moment_retrieval.models.conquer import EncodedClips
from moment_retrieval.ragged import Sequences
from moment_retrieval.search import encode_corpus, search, search_candidates, seconds
from moment_retrieval.tables import RunTable
from moment_retrieval.training.material import Clips, Split

VIDEOS, QUERIES = 128, 256  # at once; between them training may be asked to stop
SELECTED = "ndcg@20_0.5"  # of the paper's convention: what the best weights are chosen by
RELEASED = "released_"
OnPart = Callable[[], None]


@dataclass(frozen=True)
class Cost:
    """Seconds of retrieving: of the corpus once, of each query."""

    corpus_s: float = 0.0
    query_s: float = 0.0

    def of(self, queries: int) -> float:
        return self.corpus_s + queries * self.query_s


class Watch:
    """An ``on_part`` that knows when each part began."""

    def __init__(self, on_part: OnPart) -> None:
        self.on_part, self.began = on_part, [time.monotonic()]

    def __call__(self) -> None:
        self.on_part()
        self.began.append(time.monotonic())

    def cost(self, split: Split) -> Cost:
        """After the retrieval and the metrics of one split, whose queries came last."""
        parts, now = len(split.answered.split(QUERIES)), time.monotonic()
        answering = self.began[-parts]
        return Cost(answering - self.began[0], (now - answering) / max(1, len(split.answered)))


class Retriever(Protocol):
    """Finds moments for queries, given weights."""

    def __call__(self, model: Any, splits: list[Split], on_part: OnPart) -> dict[str, RunTable]:
        """The answers to all splits, by name."""
        ...


@dataclass(frozen=True, eq=False)
class WholeCorpus:
    """XML and ReLoCLNet: all videos are searched."""

    clips: Clips
    decoding: Decoding
    device: torch.device

    def __call__(self, model: Any, splits: list[Split], on_part: OnPart) -> dict[str, RunTable]:
        videos = self.clips.found
        corpus = encode_corpus(model, self._batches(videos, on_part))

        def answered(queries: Sequences, _: Tensor) -> Found:
            return search(model, queries, corpus, self.decoding)

        return {split.name: answers(self, split, videos, answered, on_part) for split in splits}

    def _batches(self, videos: Tensor, on_part: OnPart) -> Iterator[tuple[Sequences, Sequences]]:
        for part in videos.split(VIDEOS):
            on_part()
            yield self.clips.seen.taken(part).to(self.device), self.clips.heard.taken(part).to(self.device)


@dataclass(frozen=True, eq=False)
class AmongCandidates:
    """CONQUER: only the candidates of each query are searched; ``candidates`` of each split [Q, n], -1 is none."""

    clips: Clips
    decoding: Decoding
    device: torch.device
    candidates: dict[str, Tensor]

    def __call__(self, model: Any, splits: list[Split], on_part: OnPart) -> dict[str, RunTable]:
        wanted = torch.cat([self.candidates[split.name].flatten() for split in splits]).unique()
        videos = wanted[wanted >= 0]
        encoded = self._encoded(model, videos, on_part)
        tables = {}
        for split in splits:
            held = self.candidates[split.name]
            places = torch.searchsorted(videos, held.clamp(min=0)).masked_fill(held < 0, -1)

            def answered(queries: Sequences, rows: Tensor, places: Tensor = places) -> Found:
                return search_candidates(model, queries, encoded, places[rows], self.decoding)

            tables[split.name] = answers(self, split, videos, answered, on_part)
        return tables

    def _encoded(self, model: Any, videos: Tensor, on_part: OnPart) -> EncodedClips:
        parts = []
        with torch.inference_mode():
            for part in videos.split(VIDEOS):
                on_part()
                pair = (rows.taken(part).to(self.device) for rows in (self.clips.seen, self.clips.heard))
                parts.append(model.encode_clips(*pair))
        return EncodedClips.joined(parts)


def answers(
    retriever: WholeCorpus | AmongCandidates,
    split: Split,
    videos: Tensor,
    answered: Callable[[Sequences, Tensor], Found],
    on_part: OnPart,
) -> RunTable:
    """What ``answered`` finds for every query that has features; found videos are places in ``videos``."""
    parts = []
    for rows in split.answered.split(QUERIES):
        on_part()
        found = answered(split.queries.taken(rows).to(retriever.device), rows)
        start, end = seconds(found, retriever.decoding)
        number = videos[found.video.cpu()].masked_fill(~found.real.cpu(), -1)
        parts.append([column.cpu().double().numpy() for column in (number, start, end, found.score)])
    video, start_s, end_s, score = (_stacked([part[place] for part in parts]) for place in range(4))
    ids = [split.judged.query_ids[row] for row in split.answered.tolist()]
    table = RunTable.from_arrays(ids, video.astype(np.int64), start_s, end_s, score, names=retriever.clips.names)
    texts = split.judged.texts
    return replace(table, texts=tuple(texts[row] for row in split.answered.tolist())) if texts else table


def _stacked(parts: list[Any]) -> Any:
    """[q, k] each -> [Q, k]; a part with fewer moments is filled up with none."""
    wide = max(part.shape[1] for part in parts)
    return np.concatenate([np.pad(part, ((0, 0), (0, wide - part.shape[1])), constant_values=-1) for part in parts])


def metrics_of(table: RunTable, split: Split) -> dict[str, float]:
    """NDCG at nine cutoffs and thresholds in both conventions: ``ndcg@20_0.5``, ``released_ndcg@20_0.5``."""
    metrics: dict[str, float] = {}
    for convention, prefix in ((Convention.PAPER, ""), (Convention.RELEASED, RELEASED)):
        report = evaluate(table, split.judged, convention=convention)
        metrics |= {f"{prefix}{metric_name(measure)}": value for measure, value in report.mean.items()}
    return metrics


def metric_name(measure: Measure) -> str:
    return f"ndcg@{measure.k}_{measure.mu}"
