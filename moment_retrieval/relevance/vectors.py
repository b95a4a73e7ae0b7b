"""Proxies that compare vectors: mean word vectors, sentence vectors, and video features (Wray et al., appendix C).

Two items are as relevant to each other as the cosine of their vectors; a negative cosine counts as 0, as relevance lies
in [0, 1] and the paper does not say more. A vector of zeros has no direction: its relevance is 0.

Notation: N videos, M captions, D numbers in a vector.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from moment_retrieval.errors import InvalidRecord, MalformedFile, UnreadableFile, at
from moment_retrieval.relevance import Normalisation, stop_words, words
from moment_retrieval.relevance.matrices import Captions
from moment_retrieval.tables import Floats

GZIP_MARK = b"\x1f\x8b"
MOST_LINE_BYTES = 2**20  # a word and its numbers; a longer line is of another kind of file
TEXT_FORM = "expected word2vec's text format: a word and its numbers on each line"


def cosine_relevance(rows: Floats, columns: Floats) -> Floats:
    """Return the relevance [N, M] of rows [N, D] to columns [M, D]: their cosine, and 0 where that is negative.

    Raises:
        InvalidRecord: the vectors differ in length, or hold what is not a finite number.
    """
    if rows.ndim != 2 or columns.ndim != 2 or rows.shape[1] != columns.shape[1]:
        raise InvalidRecord(f"vectors of different lengths: arrays of the shapes {rows.shape} and {columns.shape}")
    _check_finite(rows)
    _check_finite(columns)
    return np.clip(_unit(rows) @ _unit(columns).T, 0.0, 1.0)


def _check_finite(vectors: Floats) -> None:
    if not np.isfinite(vectors).all():
        raise InvalidRecord("a vector holds what is not a finite number")


def _unit(vectors: Floats) -> Floats:
    """Return the vectors at length 1; those of zeros stay."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, lengths, out=np.zeros(vectors.shape), where=lengths > 0)


def caption_relevance(captions: Captions, vectors: Floats) -> Floats:
    """Return the relevance [N, M] of videos to captions from a vector of each caption [M, D].

    Of a video with several captions: half the mean over its captions of their relevance to the column, and half that of
    the best of them, as METEOR does.

    Raises:
        InvalidRecord: there are not as many vectors as captions, or one is not finite.
    """
    if len(vectors) != len(captions.texts):
        raise InvalidRecord(f"{len(vectors)} vectors for {len(captions.texts)} captions; give one for each")
    _check_finite(vectors)
    units, result = _unit(vectors), np.empty((len(captions.videos), len(captions.texts)))
    for video, numbers in enumerate(captions.by_video()):
        scores = np.clip(units[numbers] @ units.T, 0.0, 1.0)  # [captions of the video, M]
        result[video] = (scores.mean(axis=0) + scores.max(axis=0)) / 2
    return result


@dataclass(frozen=True)
class MeanVectors:
    """Vectors of captions as the means of their words' vectors.

    Attributes:
        vectors: [M, D]; zeros for a caption none of whose words has a vector.
        n_words: how many words the captions hold, stop words left out.
        missing: the words without a vector, in the order of the captions, each as often as it occurs.
        n_empty: captions without any vector.
    """

    vectors: Floats
    n_words: int
    missing: tuple[str, ...]
    n_empty: int


def mean_word_vectors(texts: Sequence[str], how: Normalisation, word_vectors: Mapping[str, Floats]) -> MeanVectors:
    """Return the mean vector of each text's words that are no stop words; a word counts as often as it occurs.

    Args:
        word_vectors: of words, all of one length D; words without one are left out.

    Raises:
        InvalidRecord: no word of any text has a vector.
    """
    rows, missing, n_words = list[Floats | None](), list[str](), 0
    for text in texts:
        content = content_sequence(text, how)
        n_words += len(content)
        missing += [word for word in content if word not in word_vectors]
        own = [word_vectors[word] for word in content if word in word_vectors]
        rows.append(np.mean(own, axis=0) if own else None)
    width = next((len(row) for row in rows if row is not None), 0)
    if width == 0:
        raise InvalidRecord("no word of the captions has a vector; are the words of the file in lower case?")
    n_empty = sum(row is None for row in rows)
    vectors = np.array([np.zeros(width) if row is None else row for row in rows])
    return MeanVectors(vectors, n_words, tuple(missing), n_empty)


def content_sequence(text: str, how: Normalisation) -> list[str]:
    """Return the words of a text that are no stop words, in their order, each as often as it occurs."""
    return [word for word in words(text, how) if word and word not in stop_words()]


def read_word_vectors(path: Path, vocabulary: Collection[str]) -> dict[str, Floats]:
    """Return the vectors [D] of the words of ``vocabulary`` that a file holds.

    The file has word2vec's text format, plain or gzipped: a word and its numbers on each line, with or without a first
    line that says how many words of how many numbers follow. It is read line by line, since such files are large. A
    word that comes twice keeps its first vector.

    Raises:
        UnreadableFile: there is no such file.
        MalformedFile: it is not of this format, its vectors differ in length, or it is cut short.
    """
    needed = {word.encode(): word for word in vocabulary}
    vectors: dict[str, Floats] = {}
    with at(str(path)), _lines_of(path) as lines:
        header, width, n_lines = None, 0, 0
        for number, line in lines:
            fields = line.split()
            if number == 1 and len(fields) == 2 and fields[0].isdigit() and fields[1].isdigit():
                header, width = int(fields[0]), int(fields[1])
                continue
            n_numbers, n_lines = len(fields) - 1, n_lines + 1
            if n_numbers < 1:
                raise MalformedFile(f"line {number}: {TEXT_FORM}")
            width = width or n_numbers
            if n_numbers != width:
                raise MalformedFile(f"line {number}: a vector of {n_numbers} numbers, where {width} are expected")
            if (word := needed.get(fields[0])) is not None and word not in vectors:
                vectors[word] = _vector(fields[1:], number)
        if n_lines == 0:
            raise MalformedFile(f"the file holds no vector; {TEXT_FORM}")
        if header is not None and n_lines < header:
            raise MalformedFile(f"the file is cut short: {n_lines} words, where its first line says {header}")
    return vectors


def _vector(fields: Sequence[bytes], number: int) -> Floats:
    try:
        vector = np.array([float(field) for field in fields])
    except ValueError as error:
        raise MalformedFile(f"line {number}: {TEXT_FORM} ({error})") from error
    if not np.isfinite(vector).all():
        raise MalformedFile(f"line {number}: a vector holds what is not a finite number")
    return vector


@contextmanager
def _lines_of(path: Path) -> Iterator[Iterator[tuple[int, bytes]]]:
    """Open a file, plain or gzipped, and give its lines with their numbers, but for empty ones."""
    try:
        with path.open("rb") as file:
            is_packed = file.read(len(GZIP_MARK)) == GZIP_MARK
            file.seek(0)
            yield _lines(cast(BinaryIO, gzip.GzipFile(fileobj=file)) if is_packed else file)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise MalformedFile(f"broken gzip: {error}") from error
    except OSError as error:
        raise UnreadableFile(error.strerror or str(error)) from error


def _lines(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    number = 0
    while line := stream.readline(MOST_LINE_BYTES + 1):
        number += 1
        if len(line) > MOST_LINE_BYTES:
            raise MalformedFile(f"line {number} is longer than a vector; {TEXT_FORM}. Convert a binary file first")
        if line.strip():
            yield number, line
