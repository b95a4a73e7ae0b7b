"""All that a training reads: samples, splits and the corpus, with their features.

Notation: S samples, V videos, Q queries.
"""

from __future__ import annotations

import gzip
import json
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch
from torch import Tensor

from moment_retrieval import formats
from moment_retrieval.batches import Batch
from moment_retrieval.checkpoints import BEST, META, WEIGHTS
from moment_retrieval.entries import MAX_VALUE
from moment_retrieval.errors import EmptyFile, InvalidRecord, MalformedFile, UnreadableFile, at
from moment_retrieval.formats.tvr_ranking import as_query_id
from moment_retrieval.jsonfiles import GZIP_MAGIC, as_array, as_number, as_object, checksum, member, shown
from moment_retrieval.preprocessing import CLIP_S, Boundary
from moment_retrieval.records import MAX_TIME_S, VideoCorpus, read_corpus, video_name
from moment_retrieval.tables import Floats, Ints, JudgedTable
from moment_retrieval.training.feature_rows import FeatureCache, FeatureRows, NoFeatures, Reader, Store, opened_stores
from moment_retrieval.training.plan import Plan, config_of, feature_options_of, settings_of

BLOCK = 2**20  # characters read at once
BETWEEN = re.compile(r"[ \t\r\n,]*")
DECODER = json.JSONDecoder()


@dataclass(frozen=True, eq=False)
class Clips:
    """Visual and subtitle features of V videos, corpus first."""

    names: tuple[str, ...]  # [V]
    searched: int  # how many of the first are the corpus
    seen: FeatureRows
    heard: FeatureRows

    @property
    def found(self) -> Tensor:
        """The videos of the corpus that have features; the others cannot be retrieved."""
        return self.seen.lengths[: self.searched].nonzero().squeeze(1)


@dataclass(frozen=True, eq=False)
class Samples:
    """Query-moment pairs ready to be batched."""

    queries: FeatureRows
    clips: Clips
    query: Tensor  # [S] numbers of queries
    video: Tensor  # [S] numbers of clips' videos
    start: Tensor  # [S] clips
    end: Tensor
    similarity: Tensor  # [S]
    skipped: dict[str, int] = field(default_factory=dict)  # how many pairs could not be used, by reason
    positives: Tensor | None = None  # for the mask: query * V + video of every pair, sorted; None: it is off

    def __len__(self) -> int:
        return len(self.query)

    def batch(self, rows: Tensor, *, pinned: bool = False, sampled: Tensor | None = None) -> Batch:
        """The samples of these numbers; ``sampled`` videos of each [B, k] stand behind its own."""
        query, video = self.query[rows], self.video[rows]
        videos = video if sampled is None else torch.cat([video[:, None], sampled], dim=1).flatten()
        return Batch(
            queries=self.queries.taken(query, pinned=pinned),
            video=self.clips.seen.taken(videos, pinned=pinned),
            subtitle=self.clips.heard.taken(videos, pinned=pinned),
            start=self.start[rows],
            end=self.end[rows],
            similarity=self.similarity[rows],
            positives=self.positives_among(rows),
        )

    def positives_among(self, rows: Tensor) -> Tensor | None:
        """Which videos of these samples hold a pseudo-positive of which of their queries; None: the mask is off."""
        if self.positives is None:
            return None
        pairs = self.query[rows][:, None] * len(self.clips.names) + self.video[rows]
        near = torch.searchsorted(self.positives, pairs).clamp(max=len(self.positives) - 1)
        return self.positives[near] == pairs


@dataclass(frozen=True, eq=False)
class Split:
    """Judged queries with their features, to be answered."""

    name: str
    judged: JudgedTable
    queries: FeatureRows
    samples: Samples  # each query with its most relevant moment, for a loss
    own_video: Tensor  # [Q] numbers of clips' videos: that of the most relevant moment; -1 where it cannot be searched

    @property
    def answered(self) -> Tensor:
        """The queries that have features; the others get no answer and count 0."""
        return self.queries.lengths.nonzero().squeeze(1)


@dataclass(frozen=True, eq=False)
class TrainingDataset:
    """Input of a training; ``data`` tells its files apart from others."""

    query_ids: tuple[str, ...]  # of the training queries
    samples: Samples
    clips: Clips
    splits: dict[str, Split]
    sizes: dict[str, int]
    data: dict[str, str]
    notices: list[str]


def read_dataset(plan: Plan, feature_cache: FeatureCache) -> TrainingDataset:
    """Everything a plan names; its paths must not depend on the folder.

    Raises:
        NoTrainingQueries: nothing is left to learn from.
        ScoringError: a file cannot be used.
    """
    corpus = read_corpus(Path(plan.corpus))
    rows = read_training(Path(plan.train), plan.top_n, corpus if corpus.names else None)
    rows = rows.shuffled_links(plan.seed) if plan.shuffle_links else rows
    with opened_stores(plan) as stores:
        readers = readers_of(plan)
        clips = read_clips(
            (*corpus.durations_s, *rows.video_names), len(corpus.durations_s), feature_cache, stores, readers
        )
        queries = feature_cache.prepared("query", rows.query_ids, stores["query"], readers["query"])
        samples = make_samples(rows, queries, clips, feature_options_of(plan).boundary)
        if settings_of(plan).objective.needs_positives:
            samples = replace(samples, positives=(samples.query * len(clips.names) + samples.video).unique())
        splits = {
            name: read_split(name, plan, clips, feature_cache, stores["query"])
            for name in ("val", "test")
            if getattr(plan, name) is not None
        }
        sizes = {f"{kind}_size": readers[kind].width(store.width) for kind, store in stores.items()}
        data = {kind: store.checksum() for kind, store in stores.items()}
    if not len(samples):
        with at(plan.train):
            raise NoTrainingQueries(f"no pair is left to learn from: {_counts_text(samples.skipped)}")
    judged = {name: getattr(plan, name) for name in ("train", "val", "test", "corpus")}
    data |= {name: checksum(Path(path)) for name, path in judged.items() if path is not None}
    data |= _candidates(plan)
    return TrainingDataset(rows.query_ids, samples, clips, splits, sizes, data, _notices(plan, samples, clips, splits))


def resident(dataset: TrainingDataset, device: torch.device, share: float) -> TrainingDataset:
    """The same with all features on a GPU, if they take no more than a ``share`` of its free memory."""
    samples, clips = dataset.samples, dataset.clips
    features = (samples.queries, clips.seen, clips.heard)
    if device.type != "cuda" or sum(one.rows.nbytes for one in features) > share * torch.cuda.mem_get_info(device)[0]:
        return dataset
    queries, visual, subtitle = (one.to(device) for one in features)
    clips = replace(clips, seen=visual, heard=subtitle)
    splits = {}
    for name, split in dataset.splits.items():
        split_queries = split.queries.to(device)
        splits[name] = replace(
            split, queries=split_queries, samples=replace(split.samples, queries=split_queries, clips=clips)
        )
    return replace(dataset, samples=replace(samples, queries=queries, clips=clips), clips=clips, splits=splits)


def readers_of(plan: Plan) -> dict[str, Reader]:
    """How features are read for a plan, by kind."""
    config, reading = config_of(plan), feature_options_of(plan)
    clips = Reader(limit=config.clips, endpoints=reading.endpoints, sample=reading.sample)
    return {
        "video": clips,
        "subtitle": replace(clips, normalise=reading.normalise_words),
        "query": Reader(limit=config.words, words=True, normalise=reading.normalise_words),
    }


def read_clips(
    names: Sequence[str],
    searched: int,
    feature_cache: FeatureCache,
    stores: dict[str, Store],
    readers: dict[str, Reader],
) -> Clips:
    """Videos by name, those that are searched first; a video without subtitles has rows of zeros."""
    video_names = tuple(dict.fromkeys(names))
    visual = feature_cache.prepared("video", video_names, stores["video"], readers["video"])
    subtitle = feature_cache.prepared(
        "subtitle", video_names, stores["subtitle"], readers["subtitle"], otherwise=visual.lengths
    )
    return Clips(video_names, searched, visual, subtitle)


def read_split(name: str, plan: Plan, clips: Clips, feature_cache: FeatureCache, store: Store) -> Split:
    """A file of judged moments, whose queries have features in ``store``.

    Raises:
        EmptyFile: no query can be answered.
        ScoringError: the file cannot be used.
    """
    path, corpus = Path(getattr(plan, name)), read_corpus(Path(plan.corpus))
    judged = formats.read_ground_truth(path, corpus=corpus if corpus.names else None)
    queries = feature_cache.prepared(name, judged.query_ids, store, readers_of(plan)["query"])
    if not len(queries.rows):
        with at(str(path)):
            raise EmptyFile(f"none of the {len(judged)} queries has features")
    rows = most_relevant(judged)
    samples = make_samples(rows, queries, clips, feature_options_of(plan).boundary)
    return Split(name, judged, queries, samples, own_videos(rows, len(judged), clips))


def own_videos(rows: TrainRows, n_queries: int, clips: Clips) -> Tensor:
    """Return the video of the only moment of each query [Q], -1 where it has none or its video no features."""
    number = {clips.names[index]: index for index in clips.found.tolist()}
    videos = torch.full((n_queries,), -1)
    for query, video in zip(rows.query.tolist(), rows.video.tolist(), strict=True):
        videos[query] = number.get(rows.video_names[video], -1)
    return videos


def most_relevant(judged: JudgedTable) -> TrainRows:
    """Each query with its most relevant moment, the first of equals; queries without one are left out."""
    order = np.lexsort((np.arange(len(judged.weights)), -judged.weights, judged.query))
    _, first = np.unique(judged.query[order], return_index=True)
    rows = order[first]
    rows = rows[judged.weights[rows] > 0]
    similarities = [judged.notes[row].similarity if judged.notes else None for row in rows]
    similarity = np.array([1.0 if value is None else value for value in similarities], np.float64)
    video, names, start_s, end_s = judged.spans
    query = judged.query[rows]
    return TrainRows(judged.query_ids, names, query, video[rows], start_s[rows], end_s[rows], similarity)


def make_samples(rows: TrainRows, queries: FeatureRows, clips: Clips, boundary: Boundary) -> Samples:
    """Pairs with their clips; those that cannot be used are counted. ``queries`` are those of the rows, in order."""
    video_numbers = {name: number for number, name in enumerate(clips.names)}
    video = np.array([video_numbers.get(name, -1) for name in rows.video_names], np.int64)[rows.video]
    lengths = np.append(clips.seen.lengths.numpy(), 0)[video]  # no clips of a video that is not there
    limits = lengths
    if boundary is Boundary.AFTER:  # the data set released for XML and ReLoCLNet counts the rows of the subtitles
        subtitle_lengths = np.append(clips.heard.lengths.numpy(), 0)[video]
        limits = np.where(subtitle_lengths > 0, np.minimum(lengths, subtitle_lengths), lengths)
    start, end = boundary_arrays(rows.start_s, rows.end_s, limits, boundary)
    reasons = {
        "no features of the video": lengths == 0,
        "no features of the query": queries.lengths.numpy()[rows.query] == 0,
        "the moment ends before it starts": rows.end_s < rows.start_s,
        "the moment holds no clip": end < start,
    }
    good, skipped = np.ones(len(rows), bool), {}
    for reason, bad in reasons.items():
        if count := int((bad & good).sum()):
            skipped[reason] = count
        good &= ~bad
    return Samples(
        queries,
        clips,
        query=torch.from_numpy(rows.query[good]),
        video=torch.from_numpy(video[good]),
        start=torch.from_numpy(start[good]),
        end=torch.from_numpy(end[good]),
        similarity=torch.from_numpy(rows.similarity[good].astype(np.float32)),
        skipped=skipped,
    )


def boundary_arrays(start_s: Any, end_s: Any, clips: Any, boundary: Boundary) -> tuple[Any, Any]:
    """``preprocessing.boundary_clips`` of many moments; where no clip is left, the end lies before the start."""
    last = clips - 1
    start = np.minimum(np.floor(start_s / CLIP_S).astype(np.int64), last)
    end = np.minimum(np.ceil(end_s / CLIP_S).astype(np.int64) - (boundary is Boundary.LAST), last)
    return start, end


def _candidates(plan: Plan) -> dict[str, str]:
    """Return the checksums behind CONQUER's candidates: a list, or weights and their features."""
    if plan.candidates is None:
        return {}
    path, groups = Path(plan.candidates["path"]), plan.candidates.get("groups")
    with at("candidates"):
        data = {"groups of the candidates": checksum(Path(groups))} if groups else {}
        if plan.candidates["source"] == "listed":
            return data | {"candidates": checksum(path)}
        folder, which = checkpoint_at(path)
        data |= {"candidates": checksum(folder / which / WEIGHTS)}
        with opened_stores(Plan.read(folder).located(folder)) as stores:
            feature_stores = {kind: store for kind, store in stores.items() if not isinstance(store, NoFeatures)}
            return data | {f"{kind} of the candidates": store.checksum() for kind, store in feature_stores.items()}


def checkpoint_at(path: Path) -> tuple[Path, str]:
    """The training's folder and the checkpoint's name, where either is named."""
    return (path.parent, path.name) if (path / META).exists() else (path, BEST)


def _notices(plan: Plan, samples: Samples, clips: Clips, splits: dict[str, Split]) -> list[str]:
    notices = [f"{_counts_text(samples.skipped)}, of the training pairs, are skipped"] if samples.skipped else []
    if n_missing := clips.searched - len(clips.found):
        notices.append(f"{n_missing} of the {clips.searched} videos have no features and cannot be retrieved")
    if plan.subtitle and clips.heard.absent:
        silent = f"{clips.heard.absent} of the {len(clips.names)} videos have no subtitles"
        notices.append(f"{silent}: rows of zeros stand for them")
    for split in splits.values():
        if n_missing := len(split.queries) - len(split.answered):
            notices.append(
                f"{n_missing} of the {len(split.queries)} queries of {split.name} have no features and score 0"
            )
    return notices


def _counts_text(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} ({reason})" for reason, count in counts.items())


class NoTrainingQueries(EmptyFile):
    """There is nothing to learn from."""


@dataclass(frozen=True, eq=False)
class TrainRows:
    """R pairs of a query and one of its moments, a query's best first."""

    query_ids: tuple[str, ...]  # how the numbers in ``query`` are called
    video_names: tuple[str, ...]  # how those in ``video`` are called
    query: Ints  # [R]
    video: Ints  # [R]
    start_s: Floats  # [R] seconds
    end_s: Floats  # [R] seconds
    similarity: Floats  # [R], 0 to 1

    def __len__(self) -> int:
        return len(self.query)

    def taken(self, rows: Any) -> TrainRows:
        columns = {name: getattr(self, name)[rows] for name in ("query", "video", "start_s", "end_s", "similarity")}
        return replace(self, **columns)

    def shuffled_links(self, seed: int) -> TrainRows:
        """The same with every query given the moments of another, nobody its own (one query keeps them)."""
        order = np.random.default_rng([seed, 1]).permutation(len(self.query_ids))
        other = np.empty_like(order)
        other[order] = np.roll(order, 1)
        return replace(self, query=other[self.query])


@dataclass
class _Columns:
    """Rows while they are read."""

    top_n: int
    corpus: VideoCorpus | None
    queries: dict[str, int] = field(default_factory=dict)
    videos: dict[str, int] = field(default_factory=dict)
    counts: list[int] = field(default_factory=list)
    numbers: array[int] = field(default_factory=lambda: array("q"))
    values: array[float] = field(default_factory=lambda: array("d"))

    def add(self, record: dict[str, object]) -> None:
        """A query with its moments (July 2024), or one pair (April 2024, and TVR's own file)."""
        query_id = as_query_id(member(record, "query_id", "desc_id"))
        number = self.queries.setdefault(query_id, len(self.queries))
        if number == len(self.counts):
            self.counts.append(0)
        moments = as_array(record["relevant_moment"], "relevant_moment") if "relevant_moment" in record else [record]
        with at(f"query {query_id}"):
            for position, moment in enumerate(moments[: self.top_n - self.counts[number]], start=1):
                with at(f"moment {position}"):
                    self._add(number, as_object(moment, "a moment"))

    def _add(self, query: int, moment: dict[str, object]) -> None:
        in_corpus = "vid_name" not in moment  # TVR searches the videos of one split, and trains on those of another
        name = video_name(member(moment, "video_name", "vid_name"), self.corpus, strict=in_corpus)
        times = as_array(member(moment, "timestamp", "ts"), "timestamp")
        if len(times) != 2:
            raise InvalidRecord(f"timestamp must be [start, end], got {shown(times)}")
        start, end = (as_number(time, "a time") for time in times)
        similarity = as_number(moment.get("similarity", 1.0), "similarity")
        if not (0 <= start <= MAX_TIME_S and end <= MAX_TIME_S):
            raise InvalidRecord(f"times must be seconds from 0, got {shown(times)}")
        self.numbers.extend((query, self.videos.setdefault(name, len(self.videos))))
        self.values.extend((start, end, similarity))
        self.counts[query] += 1

    def rows(self) -> TrainRows:
        numbers = np.frombuffer(self.numbers, np.int64).reshape(-1, 2) if self.numbers else np.empty((0, 2), np.int64)
        values = np.frombuffer(self.values, np.float64).reshape(-1, 3) if self.values else np.empty((0, 3))
        query, video = (np.ascontiguousarray(column) for column in numbers.T)
        start, end, similarity = (np.ascontiguousarray(column) for column in values.T)
        return TrainRows(tuple(self.queries), tuple(self.videos), query, video, start, end, similarity)


def read_training(path: Path, top_n: int, corpus: VideoCorpus | None = None) -> TrainRows:
    """The ``top_n`` first moments of every query.

    Args:
        path: a file of N = ``top_n`` or more, plain or gzipped, of July (an array) or April 2024 (JSON lines); or the
            training file of TVR (JSON lines), whose queries have one moment of similarity 1.
        corpus: translates indexes of videos, and refuses names it does not have.

    Raises:
        NoTrainingQueries: there are none, or none has a moment.
        ScoringError: the file cannot be used; the message names file, query and moment.
    """
    columns = _Columns(top_n, corpus)
    with at(str(path)):
        try:
            with _opened_text(path) as stream:
                for number, record in enumerate(_objects(stream), start=1):
                    with at(f"entry {number}"):
                        columns.add(as_object(record, "an entry"))
        except (OSError, EOFError) as error:
            raise UnreadableFile(getattr(error, "strerror", None) or str(error)) from error
        except UnicodeDecodeError as error:
            raise MalformedFile(f"not UTF-8 text: {error.reason}") from error
        rows = columns.rows()
        if not len(rows):
            raise NoTrainingQueries("there are no training queries, or none of them has a moment")
        return rows


def _opened_text(path: Path) -> IO[str]:
    with path.open("rb") as file:
        packed = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
    return gzip.open(path, "rt", encoding="utf-8-sig") if packed else path.open(encoding="utf-8-sig")


def _objects(stream: IO[str]) -> Iterator[object]:
    """The elements of a JSON array, or the values of JSON lines, few of them in memory at once."""
    text = stream.read(BLOCK)
    position = _beyond_gap(text, 0)
    in_array, ended = text.startswith("[", position), False
    position += in_array
    while True:
        position = _beyond_gap(text, position)
        if in_array and text.startswith("]", position):
            return
        try:
            value, end = DECODER.raw_decode(text, position)
        except (json.JSONDecodeError, RecursionError) as error:
            if ended and position == len(text) and not in_array:
                return
            if ended or len(text) - position > MAX_VALUE:
                raise MalformedFile("not JSON, cut off, or a value too large for a query with its moments") from error
            block = stream.read(BLOCK)  # the value may go on there
            text, position, ended = text[position:] + block, 0, not block
            continue
        yield value
        position = end


def _beyond_gap(text: str, position: int) -> int:
    match = BETWEEN.match(text, position)
    return position if match is None else match.end()
