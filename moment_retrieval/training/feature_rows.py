"""Features as the model reads them, prepared once and mapped into memory.

What a corpus needs may be larger than the memory (10 GB for TVR-Ranking), so the rows lie in a file beside the
plan, end to end; the operating system keeps what is read often. A training that goes on, and the other processes
of one on several devices, take the file as it is.

Notation: V names, R rows of all of them, D features.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from moment_retrieval.batches import Sequences, rows_of
from moment_retrieval.errors import ScoringError, at
from moment_retrieval.features.files import open_features
from moment_retrieval.features.stores import FeatureStore
from moment_retrieval.jsonfiles import flush
from moment_retrieval.preprocessing import Rows, clip_rows, word_rows
from moment_retrieval.training.plan import Plan

FOLDER = "prepared"
KINDS = ("video", "subtitle", "query")


class UnusableFeatures(ScoringError):
    """Features are not finite numbers, or do not fit the model."""


@dataclass(frozen=True)
class NoFeatures:
    """A store without anything: nothing is said in any video."""

    width: int = 1

    def __contains__(self, name: object) -> bool:
        return False

    def rows(self, name: str) -> Rows:
        raise KeyError(name)

    def checksum(self) -> str:
        return "none"

    def close(self) -> None:
        """Nothing is open."""


Store = FeatureStore | NoFeatures


@contextmanager
def opened_stores(plan: Plan, kinds: Sequence[str] = KINDS) -> Iterator[dict[str, Store]]:
    """Open the features that a plan names, by kind; one that names no subtitles has nothing said in any video."""
    with ExitStack() as stack:
        stores: dict[str, Store] = {}
        for kind in kinds:
            path = getattr(plan, kind)
            stores[kind] = NoFeatures() if path is None else stack.enter_context(closing(open_features(path)))
        yield stores


@dataclass(frozen=True, kw_only=True)
class Reader:
    """Makes a model's rows of stored ones; arguments of ``preprocessing.clip_rows`` and ``word_rows``."""

    limit: int
    words: bool = False
    endpoints: bool = False
    sample: bool = True
    normalise: bool = True

    def __call__(self, rows: Rows) -> Rows:
        if self.words:
            return word_rows(rows, limit=self.limit, normalise=self.normalise)
        return clip_rows(rows, limit=self.limit, endpoints=self.endpoints, sample=self.sample, normalise=self.normalise)

    def width(self, store_width: int) -> int:
        """Features of a row, given how many are stored."""
        return store_width + 2 * self.endpoints


@dataclass(frozen=True, eq=False)
class FeatureRows:
    """Rows of V names, in their order; a name without features has none."""

    lengths: Tensor  # [V] on the CPU
    rows: Tensor  # [R, D], mapped from a file, or on a GPU
    absent: int = 0  # how many names had no features

    def __len__(self) -> int:
        return len(self.lengths)

    def taken(self, indexes: Tensor, *, pinned: bool = False) -> Sequences:
        """Those of some names, as a batch; from ``pinned`` memory it goes to a GPU without waiting."""
        index = rows_of(self.lengths, indexes)
        if self.rows.device.type != "cpu":
            return Sequences(self.rows[index.to(self.rows.device)], self.lengths[indexes])
        rows = torch.empty(len(index), self.rows.shape[1], pin_memory=pinned)
        torch.index_select(self.rows, 0, index, out=rows)
        return Sequences(rows, self.lengths[indexes])

    def to(self, device: torch.device) -> FeatureRows:
        return replace(self, rows=self.rows.to(device))


@dataclass(frozen=True)
class FeatureCache:
    """Where prepared rows lie."""

    folder: Path  # of the training
    on_item: Callable[[], None] = lambda: None  # called before each name is read; it may raise, to stop

    def prepared(
        self, kind: str, names: Sequence[str], store: Store, reader: Reader, *, otherwise: Tensor | None = None
    ) -> FeatureRows:
        """Rows of ``names`` in their order, from the file of an earlier time if it was made of the same.

        ``kind`` begins the file's name. ``otherwise`` [V] says how many rows of zeros a name without features has.

        Raises:
            UnusableFeatures: a feature is not a finite number.
        """
        key_parts = [names, store.checksum(), repr(reader), None if otherwise is None else otherwise.tolist()]
        key = hashlib.blake2b(json.dumps(key_parts).encode(), digest_size=8).hexdigest()
        path = self.folder / FOLDER / f"{kind}-{key}"
        if not path.with_suffix(".npz").exists():
            self._write(path, names, store, reader, otherwise)
        return _opened(path)

    def _write(self, path: Path, names: Sequence[str], store: Store, reader: Reader, otherwise: Tensor | None) -> None:
        """Rows first, lengths last: where the lengths are, all is there."""
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}.part")
        lengths, absent = np.zeros(len(names), np.int64), 0
        try:
            with part.open("wb") as file:
                for number, name in enumerate(names):
                    self.on_item()
                    has_features = name in store
                    absent += not has_features
                    if has_features:
                        rows = _read(name, store, reader)
                    else:
                        count = 0 if otherwise is None else int(otherwise[number])
                        rows = reader(np.zeros((count, store.width), np.float32))
                    lengths[number] = len(rows)
                    file.write(np.ascontiguousarray(rows, np.float32).tobytes())
            _put(part, path.with_suffix(".rows"))
            with part.open("wb") as file:
                np.savez(file, lengths=lengths, width=reader.width(store.width), absent=absent)
            _put(part, path.with_suffix(".npz"))
        finally:
            part.unlink(missing_ok=True)


def _put(part: Path, target: Path) -> None:
    """Move what is whole to its place, and have it there before anything else is."""
    flush(part)
    part.replace(target)
    flush(target.parent)


def _read(name: str, store: Store, reader: Reader) -> Rows:
    with at(name):
        rows = store.rows(name)
        if not np.isfinite(rows).all():
            raise UnusableFeatures("a feature is not a finite number")
        return reader(rows)


def _opened(path: Path) -> FeatureRows:
    header = np.load(path.with_suffix(".npz"))
    lengths, width, absent = torch.from_numpy(header["lengths"]), int(header["width"]), int(header["absent"])
    count = int(lengths.sum())
    if not count:  # nothing can be mapped
        return FeatureRows(lengths, torch.empty(0, width), absent)
    rows = np.memmap(path.with_suffix(".rows"), np.float32, "c", shape=(count, width))  # torch wants them writable
    return FeatureRows(lengths, torch.from_numpy(rows), absent)
