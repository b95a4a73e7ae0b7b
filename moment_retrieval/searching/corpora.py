"""The corpus of a training, encoded by its best weights and kept beside them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from safetensors import SafetensorError

from moment_retrieval.checkpoints import WEIGHTS, BrokenCheckpoint
from moment_retrieval.data import readers_of
from moment_retrieval.errors import MissingFeatures, ScoringError, at
from moment_retrieval.features import open_features
from moment_retrieval.index import Index
from moment_retrieval.models.conquer import EncodedClips
from moment_retrieval.ragged import Sequences
from moment_retrieval.records import read_corpus
from moment_retrieval.search import encode_corpus
from moment_retrieval.training.evaluation import VIDEOS
from moment_retrieval.training.feature_rows import NoFeatures, Store
from moment_retrieval.training.progress import BEST, Trained

FOLDER, INDEX, ABOUT = "search", "index.safetensors", "index.json"
Names = tuple[str, ...]
Pairs = Iterator[tuple[Sequences, Sequences]]
Encoded = TypeVar("Encoded")


def corpus_index(trained: Trained, folder: Path) -> tuple[Names, Index]:
    """The videos that have features, and their index, from the training's folder if it was made of these weights.

    Raises:
        ScoringError: there is none, and the features cannot be read.
    """
    weights = _digest(folder / BEST / WEIGHTS)
    place = folder / FOLDER
    try:
        about = json.loads((place / ABOUT).read_text(encoding="utf-8"))
        if about["weights"] == weights:
            return tuple(about["names"]), Index.load(place / INDEX)
    except (OSError, ValueError, KeyError, TypeError, BrokenCheckpoint):
        pass  # not there yet, or cut short
    names, index = _read(trained, lambda pairs: encode_corpus(trained.model, pairs))
    _keep(place, index, {"weights": weights, "names": names})
    return names, index


def corpus_clips(trained: Trained) -> tuple[Names, EncodedClips]:
    """The same for CONQUER, which keeps the encoded clips of all videos. Raises ScoringError."""

    def encoded(pairs: Pairs) -> EncodedClips:
        with torch.inference_mode():
            return EncodedClips.joined([trained.model.encode_clips(*pair) for pair in pairs])

    return _read(trained, encoded)


def _read(trained: Trained, encode: Callable[[Pairs], Encoded]) -> tuple[Names, Encoded]:
    with ExitStack() as opened, at("the features of this training"):
        stores: dict[str, Store] = {"subtitle": NoFeatures()}
        for kind in ("video", "subtitle"):
            if (path := getattr(trained.plan, kind)) is not None:
                stores[kind] = opened.enter_context(open_features(path))
        corpus = read_corpus(Path(trained.plan.corpus)).durations_s
        names = tuple(name for name in corpus if name in stores["video"] and len(stores["video"].rows(name)))
        if not names:
            raise MissingFeatures("none of the videos has any")
        return names, encode(_pairs(trained, names, stores))


def _pairs(trained: Trained, names: Names, stores: dict[str, Store]) -> Pairs:
    """What is seen and heard, a batch of videos at a time; where nothing is said, rows of zeros."""
    readers, silence = readers_of(trained.plan), stores["subtitle"].width
    for first in range(0, len(names), VIDEOS):
        some = names[first : first + VIDEOS]
        seen = [readers["video"](stores["video"].rows(name)) for name in some]
        heard = [
            readers["subtitle"](
                stores["subtitle"].rows(name)
                if name in stores["subtitle"]
                else np.zeros((len(rows), silence), np.float32)
            )
            for name, rows in zip(some, seen, strict=True)
        ]
        yield Sequences.of(seen), Sequences.of(heard)


def _keep(place: Path, index: Index, about: dict[str, object]) -> None:
    """Index first, what it is of last; a disk that takes nothing costs the next worker the same work again."""
    mine = f".{os.getpid()}.part"
    try:
        place.mkdir(parents=True, exist_ok=True)
        index.save(place / (INDEX + mine))
        (place / (ABOUT + mine)).write_text(json.dumps(about), encoding="utf-8")
        (place / ABOUT).unlink(missing_ok=True)
        os.replace(place / (INDEX + mine), place / INDEX)
        os.replace(place / (ABOUT + mine), place / ABOUT)
    except (OSError, SafetensorError):
        for name in (INDEX, ABOUT):
            with suppress(OSError):
                (place / (name + mine)).unlink()


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ScoringError(f"the weights of this training cannot be read: {error.strerror}") from error
