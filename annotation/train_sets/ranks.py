"""Ranks training queries block by block; what was ranked is kept in parts, so that killed work goes on there.

What a row says of its moment is made once for each; which moments a training set ranks can be read from its table.
"""

import os
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property
from hashlib import sha256
from json.encoder import encode_basestring as quoted
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from annotation.pools.rules import SCALE, Indexes, Vectors, top_moments
from annotation.similarity.sentences import ranker_here

if TYPE_CHECKING:
    import pyarrow as pa

Span = tuple[str, float, float, float]  # video, start, end, length of the video
COLUMNS = ["video_name", "start_s", "end_s", "duration"]
QUERIES = 2_048  # of a block: what a kill can cost
ROWS = 81_920  # of a block: what is in memory, and a row group of a table
REMEMBERED = 5_000_000  # rows of queries whose text comes again: 40 MB
SUFFIX = ".npy"


def spans_of(source: IO[bytes]) -> set[Span]:
    """Each moment once; a row group of the table is held at a time."""
    from pyarrow import parquet

    table = parquet.ParquetFile(source)
    spans: set[Span] = set()
    for part in range(table.num_row_groups):
        different = table.read_row_group(part, columns=COLUMNS).group_by(COLUMNS).aggregate([]).select(COLUMNS)
        spans.update(zip(*different.to_pydict().values(), strict=True))
    return spans


class TrainMoments:
    """The moments of a pool in the order of the pool."""

    def __init__(self) -> None:
        self.videos: dict[str, tuple[int, float]] = {}  # name to place and length
        self.video = array("q")
        self.start_s, self.end_s = array("d"), array("d")
        self.captions: list[str] = []

    def __len__(self) -> int:
        return len(self.captions)

    def add(self, *, video_name: str, duration_s: float, start_s: float, end_s: float, caption: str) -> None:
        index, _ = self.videos.setdefault(video_name, (len(self.videos), duration_s))
        self.video.append(index)
        self.start_s.append(start_s)
        self.end_s.append(end_s)
        self.captions.append(caption)

    @cached_property
    def fragments(self) -> list[str]:
        """Of a row in JSON: all that follows the pair's number, up to the value of the similarity."""
        videos = [(quoted(name), duration_s) for name, (_, duration_s) in self.videos.items()]
        return [
            f',\n    "video_name": {videos[video][0]},\n    "timestamp": [\n     {start_s!r},\n     {end_s!r}\n    ],'
            f'\n    "duration": {videos[video][1]!r},\n    "caption": {quoted(caption)},\n    "similarity": '
            for video, start_s, end_s, caption in zip(self.video, self.start_s, self.end_s, self.captions, strict=True)
        ]

    @cached_property
    def columns(self) -> "dict[str, pa.Array]":
        """Of a table: one value for each moment, under the column's name."""
        import pyarrow as pa

        video = pa.array(self.video, pa.int64())
        return {
            "video_name": pa.array(list(self.videos), pa.string()).take(video),
            "start_s": pa.array(self.start_s, pa.float64()),
            "end_s": pa.array(self.end_s, pa.float64()),
            "duration": pa.array([duration_s for _, duration_s in self.videos.values()], pa.float64()).take(video),
            "caption": pa.array(self.captions, pa.string()),
        }


Query = tuple[int, str]  # number, text


class Ranks(NamedTuple):
    """The top moments [B, K] of B queries, as places in the pool, and their similarities [B, K] in millionths."""

    moments: NDArray[np.int32]
    millionths: NDArray[np.int32]


class Block(NamedTuple):
    """Some queries, in order, and what was found for them."""

    numbers: Sequence[int]
    texts: Sequence[str]
    ranks: Ranks


def block_size(depth: int) -> int:
    """Queries of a block; the same on every machine, since one may go on with the parts of another."""
    return max(1, min(QUERIES, ROWS // depth))


class TextRanker:
    """Ranks the moments of a pool for queries, each text once.

    Args:
        captions: [C, D] unit vectors, all captions of the first moment first, then of the next.
        first_caption: [M] index of each moment's first caption.
        vectors_of: unit vectors [N, D] of N texts.
        repeated: texts that several queries have.
    """

    def __init__(
        self,
        captions: Vectors,
        first_caption: Indexes,
        *,
        depth: int,
        vectors_of: Callable[[Sequence[str]], Vectors],
        repeated: Collection[str] = (),
    ) -> None:
        self.captions, self.first_caption, self.vectors_of = captions, first_caption, vectors_of
        self.depth = min(depth, len(first_caption))
        self.repeated = repeated
        self.known: dict[str, NDArray[np.int32]] = {}  # [2, K]

    def rank(self, texts: Sequence[str]) -> Ranks:
        """The top K = min(depth, M) moments of each of ``texts`` [B]."""
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        row_of = {text: row for row, text in enumerate(new)}
        fresh = np.empty((2, len(new), self.depth), np.int32)
        vectors, ranker = self.vectors_of(new) if new else np.zeros((0, 0), np.float32), ranker_here()
        ranked = top_moments(vectors, self.captions, self.first_caption, depth=self.depth, ranker=ranker)
        for row, (moments, similarities) in enumerate(ranked):
            fresh[0, row], fresh[1, row] = moments, np.rint(similarities * SCALE)
        columns = [fresh[:, row_of[text]] if text in row_of else self.known[text] for text in texts]
        for text in new:
            if text in self.repeated and len(self.known) * self.depth < REMEMBERED:
                self.known[text] = fresh[:, row_of[text]].copy()
        return Ranks(*np.stack(columns, axis=1))


class Parts:
    """Ranks of blocks in a folder, a file for each: whole or not there, with a name that says what it was made of.

    Args:
        made_of: all that ranks depend on besides the queries.
    """

    def __init__(self, folder: Path, made_of: bytes) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.made_of = folder, made_of
        self.outdated = 0  # parts discarded, made of something else
        self.paths = {int(path.name.partition("-")[0]): path for path in folder.glob(f"*{SUFFIX}")}

    def read(self, index: int, queries: Sequence[Query]) -> Ranks | None:
        """The ranks of the block at this place; None where they are not there, or are those of other queries."""
        path = self._path(index, queries)
        if self.paths.get(index, path) != path:
            self.outdated += 1
            self.paths.pop(index).unlink()
        try:
            return Ranks(*np.load(path, allow_pickle=False))
        except (FileNotFoundError, EOFError, ValueError):  # not there, or damaged since
            return None

    def write(self, index: int, queries: Sequence[Query], ranks: Ranks) -> None:
        path = self._path(index, queries)
        unfinished = path.with_suffix(".writing")
        with unfinished.open("wb") as file:
            np.save(file, np.stack(ranks))
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)

    def _path(self, index: int, queries: Sequence[Query]) -> Path:
        digest = sha256(self.made_of)
        for query in queries:
            digest.update(repr(query).encode())
        return self.folder / f"{index:06}-{digest.hexdigest()[:32]}{SUFFIX}"


def ranked_blocks(blocks: Iterable[Sequence[Query]], ranker: TextRanker, parts: Parts | None = None) -> Iterator[Block]:
    """The blocks with their ranks: from the part where there is one, and else ranked now and kept as a part."""
    for index, queries in enumerate(blocks):
        numbers, texts = [number for number, _ in queries], [text for _, text in queries]
        ranks = parts.read(index, queries) if parts else None
        if ranks is None:
            ranks = ranker.rank(texts)
            if parts:
                parts.write(index, queries, ranks)
        yield Block(numbers, texts, ranks)
