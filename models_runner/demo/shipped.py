"""Read the finished benchmark runs that the demo ships: files beside this one, by ``python -m tools.demo_results``.

Features have 8 bits a number and weights 16, so that all of it stays small; what was trained read the features as they
are restored here.
"""

import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZIP_LZMA, ZipFile, ZipInfo

import numpy as np
from numpy.typing import NDArray

FOLDER = Path(__file__).with_name("results")
RESULTS, FEATURES, WEIGHTS, META = "results.json", "features.npz", "weights.npz", "meta.json"
PARTS = ("rows", "scale", "counts", "names")  # of the features of a kind; all rows after one another
EPOCH = (1980, 1, 1, 0, 0, 0)  # of every member, so that equal results are equal files
LEVELS = 127  # on each side of 0


@dataclass(frozen=True)
class ShippedTraining:
    """A finished training: how it was ordered, what it recorded of itself (columns of its row), and its folder."""

    name: str
    baseline: str
    top_n: int
    seed: int
    options: dict[str, Any]
    candidates: str  # the name of the training whose videos CONQUER looks at; else empty
    record: dict[str, Any]
    has_weights: bool
    folder: Path

    def weights(self) -> dict[str, NDArray[np.float32]]:
        with np.load(self.folder / WEIGHTS) as arrays:
            return {name: arrays[name].astype(np.float32) for name in arrays.files}

    def meta(self) -> str:
        return (self.folder / META).read_text(encoding="utf-8")


@dataclass(frozen=True)
class ShippedFeatures:
    """The features of one kind: the columns of their set, and the rows by name."""

    kind: str
    extractor: str
    made_by: str
    folder: Path

    def rows(self) -> Iterator[tuple[str, NDArray[np.float32]]]:
        with np.load(self.folder / FEATURES) as arrays:
            rows, scale, counts, names = (
                arrays[f"{self.kind}_{part}"] for part in ("rows", "scale", "counts", "names")
            )
        parts = np.split(restored(rows, float(scale)), np.cumsum(counts)[:-1])
        yield from zip(names.tolist(), parts, strict=True)


@dataclass(frozen=True)
class ShippedRun:
    """A run that a participant uploads: a system's predictions for one split."""

    system: str
    team: str
    split: str
    path: Path


@dataclass(frozen=True)
class Shipped:
    """All that is shipped for one demo."""

    trainings: tuple[ShippedTraining, ...]  # each behind the one that it takes candidates from
    features: tuple[ShippedFeatures, ...]
    uploads: tuple[ShippedRun, ...]


def folder_for(*, seed: int, videos: int) -> Path:
    return FOLDER / f"{seed}-{videos}"


def shipped_for(*, seed: int | None, videos: int | None) -> Shipped | None:
    """Return what is shipped for the demo of this seed and size; None where nothing is."""
    if seed is None or videos is None or not (folder := folder_for(seed=seed, videos=videos)).is_dir():
        return None
    entries = json.loads((folder / RESULTS).read_text(encoding="utf-8"))
    return Shipped(
        tuple(ShippedTraining(**one, folder=folder / one["baseline"]) for one in entries["trainings"]),
        tuple(ShippedFeatures(**one, folder=folder) for one in entries["features"]),
        tuple(ShippedRun(one["system"], one["team"], one["split"], folder / one["file"]) for one in entries["uploads"]),
    )


def rounded(rows: NDArray[np.float32]) -> tuple[NDArray[np.int8], float]:
    """Return the numbers as 8 bits, and what one step of them stands for."""
    scale = float(np.abs(rows).max() / LEVELS) or 1.0
    return np.round(rows / np.float32(scale)).astype(np.int8), scale


def restored(rows: NDArray[np.int8], scale: float) -> NDArray[np.float32]:
    """Return the numbers that ``rounded`` made 8 bits of."""
    return rows.astype(np.float32) * np.float32(scale)


def arrays_write(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write what ``numpy.load`` reads, packed more tightly than numpy does."""
    with ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.save(buffer, array, allow_pickle=False)
            archive.writestr(ZipInfo(f"{name}.npy", EPOCH), buffer.getvalue(), compress_type=ZIP_LZMA)
