"""Ranking training queries block by block; what was ranked is kept in parts, so that killed work goes on there."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from annotation.rules.pooling import SCALE, Ranked, top_moments
from annotation.similarity.gpu import ranker_here

QUERIES = 2_048  # of a block: what a kill can cost
ROWS = 81_920  # of a block: what is in memory, and a row group of a table
REMEMBERED = 5_000_000  # rows of queries whose text comes again: 40 MB
SUFFIX = ".npy"
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
        captions: NDArray[np.float32],
        first_caption: NDArray[np.intp],
        *,
        depth: int,
        vectors_of: Callable[[Sequence[str]], NDArray[np.float32]],
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
        for row, (moments, similarities) in enumerate(self._ranked(new)):
            fresh[0, row], fresh[1, row] = moments, np.rint(similarities * SCALE)
        found = [fresh[:, row_of[text]] if text in row_of else self.known[text] for text in texts]
        for text in new:
            if text in self.repeated and len(self.known) * self.depth < REMEMBERED:
                self.known[text] = fresh[:, row_of[text]].copy()
        return Ranks(*np.stack(found, axis=1))

    def _ranked(self, texts: Sequence[str]) -> Iterator[Ranked]:
        if texts:
            vectors, who = self.vectors_of(texts), ranker_here()
            yield from top_moments(vectors, self.captions, self.first_caption, depth=self.depth, ranker=who)


class Parts:
    """Ranks of blocks in a folder, a file for each: whole or not there, with a name that says what it was made of.

    Args:
        made_of: all that ranks depend on besides the queries.
    """

    def __init__(self, folder: Path, made_of: bytes) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.made_of = folder, made_of
        self.outdated = 0  # parts thrown away, made of something else
        self.held = {int(path.name.partition("-")[0]): path for path in folder.glob(f"*{SUFFIX}")}

    def read(self, place: int, queries: Sequence[Query]) -> Ranks | None:
        """The ranks of the block at this place; None where they are not there, or are those of other queries."""
        path = self._path(place, queries)
        if self.held.get(place, path) != path:
            self.outdated += 1
            self.held.pop(place).unlink()
        try:
            return Ranks(*np.load(path, allow_pickle=False))
        except (FileNotFoundError, EOFError, ValueError):  # not there, or damaged since
            return None

    def write(self, place: int, queries: Sequence[Query], ranks: Ranks) -> None:
        path = self._path(place, queries)
        unfinished = path.with_suffix(".writing")
        with unfinished.open("wb") as file:
            np.save(file, np.stack(ranks))
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)

    def _path(self, place: int, queries: Sequence[Query]) -> Path:
        digest = sha256(self.made_of)
        for query in queries:
            digest.update(repr(query).encode())
        return self.folder / f"{place:06}-{digest.hexdigest()[:32]}{SUFFIX}"


def ranked_blocks(blocks: Iterable[Sequence[Query]], ranker: TextRanker, parts: Parts | None = None) -> Iterator[Block]:
    """The blocks with their ranks: from the part where there is one, and else ranked now and kept as a part."""
    for place, queries in enumerate(blocks):
        numbers, texts = [number for number, _ in queries], [text for _, text in queries]
        ranks = parts.read(place, queries) if parts else None
        if ranks is None:
            ranks = ranker.rank(texts)
            if parts:
                parts.write(place, queries, ranks)
        yield Block(numbers, texts, ranks)
