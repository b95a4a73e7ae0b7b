"""How well a model retrieves: the corpus encoded once, every query answered, NDCG in both conventions, recall.

CONQUER's queries have candidates, from the source its plan names.

Notation: Q queries of a split, V videos of the corpus, k moments, n candidates.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
import torch
from torch import Tensor

from moment_retrieval.batches import Sequences
from moment_retrieval.checkpoints import Trained, open_trained
from moment_retrieval.data import Clips, Split, checkpoint_at, read_clips, readers_of
from moment_retrieval.errors import at
from moment_retrieval.jsonfiles import as_array, as_object, decode, parse_json, read_bytes
from moment_retrieval.metrics.ndcg_iou import Convention
from moment_retrieval.metrics.recall import Task, recall, recall_name
from moment_retrieval.metrics.report import evaluate
from moment_retrieval.models.conquer import EncodedClips
from moment_retrieval.search import (
    RankedMoments,
    best_videos,
    candidate_recall,
    encode_corpus,
    listed_candidates,
    ranked_videos,
    search_candidates,
    search_tasks,
    seconds,
)
from moment_retrieval.settings import RELEASED, Decoding
from moment_retrieval.tables import RunTable
from moment_retrieval.training.feature_rows import FeatureCache, Store, opened_stores
from moment_retrieval.training.plan import BadPlan, Plan

TRAIN = "train"  # the training queries, among splits


@dataclass(frozen=True, eq=False)
class Candidates:
    """Candidates of queries, best first: numbers of videos [Q, n], -1 is none; their scores, if the source has any."""

    videos: Tensor
    scores: Tensor | None = None

    def first(self, count: int) -> Candidates:
        """The best ``count`` of each query."""
        return Candidates(self.videos[:, :count], None if self.scores is None else self.scores[:, :count])


@dataclass(frozen=True, eq=False)
class FirstStage:
    """Candidates by split, and the share of relevant moments in them; ``lists`` are longer, to sample videos from."""

    name: str
    candidates: dict[str, Candidates]
    recall: dict[str, float]
    lists: dict[str, Tensor] = field(default_factory=dict)  # by split, and of the training queries


@dataclass(frozen=True, eq=False)
class CandidateRequest:
    """For whom candidates are wanted."""

    count: int  # candidates of each query
    # clips, splits: what is searched, and for whom
    clips: Clips
    splits: list[Split]
    feature_cache: FeatureCache  # for the features of a source that is a model
    device: torch.device  # where that model computes
    list_length: int = 0  # of the lists that videos are sampled from, of splits and of ``train``; 0: none
    train: Sequence[str] = ()  # ids of the training queries

    def queries(self) -> dict[str, Sequence[str]]:
        """Return the ids of all queries that have candidates, by split."""
        train = {TRAIN: self.train} if self.list_length else {}
        return {split.name: split.judged.query_ids for split in self.splits} | train

    @property
    def depth(self) -> int:
        """How many videos are ranked at the most."""
        return max(self.count, self.list_length)


def first_stage(plan: Plan, request: CandidateRequest) -> FirstStage:
    """Read a plan's candidate source; its paths must not depend on the folder. Raises ScoringError."""
    source = plan.candidates or {}
    path, allowed = Path(source["path"]), Allowed.read(source.get("groups"))
    name, ranked = (_listed if source["source"] == "listed" else _scored)(path, request, allowed)
    name += f", top {request.count}" + ("" if allowed is None else " of its group")
    candidates = {split.name: ranked[split.name].first(request.count) for split in request.splits}
    recall = {
        split.name: candidate_recall(candidates[split.name].videos, _relevant(split, request.clips))
        for split in request.splits
    }
    lists = {name: one.first(request.list_length).videos for name, one in ranked.items()} if request.list_length else {}
    return FirstStage(name, candidates, recall, lists)


@dataclass(frozen=True, eq=False)
class Allowed:
    """Which videos may be candidates of which query: those of its group, where there are groups."""

    videos: Mapping[str, str]
    queries: Mapping[str, str]

    @classmethod
    def read(cls, path: str | None) -> Self | None:
        if path is None:
            return None
        with at(path):
            record = as_object(parse_json(decode(read_bytes(Path(path)))), "the groups")
            groups = {kind: as_object(record.get(kind), kind).items() for kind in ("videos", "queries")}
        return cls(**{kind: {name: str(group) for name, group in items} for kind, items in groups.items()})

    def among(self, names: Sequence[str], query_ids: Sequence[str]) -> Tensor:
        """[Q, V]; of a query of no group, all."""
        groups = {name: number for number, name in enumerate(sorted(set(self.videos.values())))}
        video_groups = torch.tensor([groups.get(self.videos.get(name, ""), -1) for name in names])
        query_groups = torch.tensor([groups.get(self.queries.get(query_id, ""), -2) for query_id in query_ids])
        return (query_groups[:, None] == video_groups[None, :]) | (query_groups == -2)[:, None]


def _listed(path: Path, request: CandidateRequest, allowed: Allowed | None) -> tuple[str, dict[str, Candidates]]:
    number = {request.clips.names[index]: index for index in request.clips.found.tolist()}
    with at(str(path)):
        lists = {
            query: [number[name] for name in map(str, as_array(names, query)) if name in number]
            for query, names in as_object(parse_json(decode(read_bytes(path))), "the lists").items()
        }
    candidates = {}
    for name, query_ids in request.queries().items():
        parts = []
        for first in range(0, len(query_ids), QUERIES):
            some = query_ids[first : first + QUERIES]
            mask = allowed and allowed.among(request.clips.names, some)
            parts.append(listed_candidates(lists, some, request.depth, mask))
        candidates[name] = Candidates(torch.cat(parts))
    return path.stem, candidates


def _scored(folder: Path, request: CandidateRequest, allowed: Allowed | None) -> tuple[str, dict[str, Candidates]]:
    with at("candidates"):
        training_folder, which = checkpoint_at(folder)
        trained = open_trained(training_folder, which=which, device=request.device)
        if RELEASED[trained.plan.baseline].needs_candidates:
            raise BadPlan("they come from xml or reloclnet: conquer needs candidates itself")
        with opened_stores(trained.plan) as stores:
            return trained.plan.baseline, _scored_by(trained, request, stores, allowed)


def _scored_by(
    trained: Trained, request: CandidateRequest, stores: dict[str, Store], allowed: Allowed | None
) -> dict[str, Candidates]:
    """The videos a model scores highest, of those that CONQUER can look into."""
    readers, feature_cache = (
        readers_of(trained.plan),
        FeatureCache(request.feature_cache.folder / "candidates", request.feature_cache.on_item),
    )
    names = [request.clips.names[index] for index in request.clips.found.tolist()]
    theirs = read_clips(names, len(names), feature_cache, stores, readers)
    numbers = request.clips.found[theirs.found]  # of what both have features
    corpus = encode_corpus(trained.model, batches(theirs, theirs.found, request.device, request.feature_cache.on_item))
    searched = [theirs.names[index] for index in theirs.found.tolist()]
    result = {}
    for name, query_ids in request.queries().items():
        queries = feature_cache.prepared(name, query_ids, stores["query"], readers["query"])
        candidates = torch.full((len(queries), min(request.depth, len(numbers))), -1)
        scores = torch.zeros(candidates.shape)
        for rows in queries.lengths.nonzero().squeeze(1).split(QUERIES):
            request.feature_cache.on_item()
            some = [query_ids[row] for row in rows.tolist()]
            mask = None if allowed is None else allowed.among(searched, some).to(request.device)
            with torch.inference_mode():
                encoded = trained.model.encode_queries(queries.taken(rows).to(request.device))
                best, values = best_videos(corpus.scores(encoded), request.depth, mask)
            candidates[rows] = torch.where(best.cpu() < 0, -1, numbers[best.cpu()])
            scores[rows] = values.cpu()
        result[name] = Candidates(candidates, scores)
    return result


def _relevant(split: Split, clips: Clips) -> list[list[int]]:
    """The videos of each query's relevant moments, as often as they hold one; -2 for one that is not there."""
    number = {name: index for index, name in enumerate(clips.names)}
    judged = split.judged
    videos: list[list[int]] = [[] for _ in judged.query_ids]
    for row in (judged.weights > 0).nonzero()[0].tolist():
        videos[judged.query[row]].append(number.get(judged.spans.names[judged.spans.video[row]], -2))
    return videos


VIDEOS, QUERIES = 128, 256  # at once; between them training may be asked to stop
OnPart = Callable[[], None]


def batches(
    clips: Clips, videos: Tensor, device: torch.device, on_part: OnPart
) -> Iterator[tuple[Sequences, Sequences]]:
    """Yield the visual and subtitle features of these videos, some at a time."""
    for part in videos.split(VIDEOS):
        on_part()
        yield clips.seen.taken(part).to(device), clips.heard.taken(part).to(device)


@dataclass(frozen=True)
class Cost:
    """Seconds of retrieving: of the corpus once, of each query."""

    corpus_s: float = 0.0
    query_s: float = 0.0

    def of(self, queries: int) -> float:
        return self.corpus_s + queries * self.query_s


class RetrievalTimer:
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

    def __call__(self, model: Any, splits: list[Split], on_part: OnPart) -> dict[str, Answers]:
        """Answer all splits, by name."""
        ...


@dataclass(frozen=True, eq=False)
class WholeCorpus:
    """XML and ReLoCLNet: all videos are searched."""

    clips: Clips
    decoding: Decoding
    device: torch.device

    def __call__(self, model: Any, splits: list[Split], on_part: OnPart) -> dict[str, Answers]:
        videos = self.clips.found
        corpus = encode_corpus(model, batches(self.clips, videos, self.device, on_part))

        def search_some(queries: Sequences, _: Tensor, own: Tensor) -> dict[Task, RankedMoments]:
            return search_tasks(model, queries, corpus, own, self.decoding)

        return {split.name: answers(self, split, videos, search_some, on_part) for split in splits}


@dataclass(frozen=True, eq=False)
class AmongCandidates:
    """CONQUER: only the candidates of each query are searched, by split.

    It ranks no videos of a corpus itself: those of VR are the candidates, in their order.
    """

    clips: Clips
    decoding: Decoding
    device: torch.device
    candidates: dict[str, Candidates]

    def __call__(self, model: Any, splits: list[Split], on_part: OnPart) -> dict[str, Answers]:
        sources = [numbers for split in splits for numbers in (self.candidates[split.name].videos, split.own_video)]
        numbers = torch.cat([source.flatten() for source in sources]).unique()
        videos = numbers[numbers >= 0]
        with torch.inference_mode():
            parts = batches(self.clips, videos, self.device, on_part)
            encoded = EncodedClips.joined([model.encode_clips(*pair) for pair in parts])
        tables = {}
        for split in splits:
            candidates = self.candidates[split.name]
            indexes = indexes_of(candidates.videos, videos)

            def search_some(
                queries: Sequences,
                rows: Tensor,
                own: Tensor,
                indexes: Tensor = indexes,
                scores: Tensor | None = candidates.scores,
            ) -> dict[Task, RankedMoments]:
                some, one = indexes[rows], own[:, None]
                some_scores, one_score = (None, None) if scores is None else (scores[rows], torch.ones(one.shape))
                ranks = torch.arange(some.shape[1]).neg().expand(some.shape).double()
                return {
                    Task.VCMR: search_candidates(model, queries, encoded, some, self.decoding, scores=some_scores),
                    Task.SVMR: search_candidates(model, queries, encoded, one, self.decoding, scores=one_score),
                    Task.VR: ranked_videos(some.clamp(min=0), ranks.masked_fill(some < 0, -torch.inf)),
                }

            tables[split.name] = answers(self, split, videos, search_some, on_part)
        return tables


def indexes_of(numbers: Tensor, videos: Tensor) -> Tensor:
    """Return the index of each number in ``videos``, which are sorted and hold it; -1 stays."""
    return torch.searchsorted(videos, numbers.clamp(min=0)).masked_fill(numbers < 0, -1)


Answers: TypeAlias = Mapping[Task, RunTable]  # of the corpus, of each query's own video, and videos without times
SearchSome: TypeAlias = Callable[[Sequences, Tensor, Tensor], dict[Task, RankedMoments]]


def answers(
    retriever: WholeCorpus | AmongCandidates, split: Split, videos: Tensor, search_some: SearchSome, on_part: OnPart
) -> Answers:
    """Answer every query with features.

    Args:
        videos: numbers of the clips' videos, sorted, that results of ``search_some`` and its last argument index.
        search_some: of queries, their rows in the split, and the video of each, -1 for none.
    """
    parts: dict[Task, list[list[Any]]] = {task: [] for task in Task}
    own = indexes_of(split.own_video, videos)
    for rows in split.answered.split(QUERIES):
        on_part()
        results = search_some(split.queries.taken(rows).to(retriever.device), rows, own[rows])
        for task, moments in results.items():
            start, end = seconds(moments, retriever.decoding)
            number = videos[moments.video.cpu()].masked_fill(~moments.real.cpu(), -1)
            parts[task].append([column.cpu().double().numpy() for column in (number, start, end, moments.score)])
    return {task: _table(columns, split, retriever.clips) for task, columns in parts.items()}


def _table(parts: list[list[Any]], split: Split, clips: Clips) -> RunTable:
    video, start_s, end_s, score = (_stacked([part[index] for part in parts]) for index in range(4))
    ids = [split.judged.query_ids[row] for row in split.answered.tolist()]
    table = RunTable.from_arrays(ids, video.astype(np.int64), start_s, end_s, score, names=clips.names)
    texts = split.judged.texts
    return replace(table, texts=tuple(texts[row] for row in split.answered.tolist())) if texts else table


def _stacked(parts: list[Any]) -> Any:
    """[q, k] each -> [Q, k]; a part with fewer moments is filled up with none."""
    wide = max(part.shape[1] for part in parts)
    return np.concatenate([np.pad(part, ((0, 0), (0, wide - part.shape[1])), constant_values=-1) for part in parts])


def metrics_of(results: Answers, split: Split) -> dict[str, float]:
    """Return NDCG at nine cutoffs and thresholds in both conventions, and recall of TVR's three tasks.

    Names are ``ndcg@20_0.5``, ``released_ndcg@20_0.5``, ``vcmr_r@10_0.7``, ``svmr_r@1_0.5``, ``vr_r@100``; recall by
    type of query, where the judged moments have types, ``vt-vcmr_r@10_0.7``.
    """
    metrics: dict[str, float] = {}
    for convention, prefix in ((Convention.PAPER, ""), (Convention.RELEASED, "released_")):
        report = evaluate(results[Task.VCMR], split.judged, convention=convention)
        metrics |= {f"{prefix}ndcg@{k}_{mu}": value for (k, mu), value in report.mean.items()}
    for task in Task:
        scores = recall(results[task], split.judged, task=task)
        metrics |= {recall_name(task, measure): value for measure, value in scores.mean.items()}
        kinds = scores.by_kind if len(set(scores.kinds)) > 1 else {}
        for kind, values in kinds.items():
            metrics |= {f"{kind}-{recall_name(task, measure)}": value for measure, value in values.items()}
    return metrics
