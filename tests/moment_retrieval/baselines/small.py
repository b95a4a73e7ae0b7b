"""Models and batches small enough for a test."""

from typing import Any

import numpy as np
import torch

from moment_retrieval.baselines import BASELINES
from moment_retrieval.batches import Batch, Sample, Sequences, collate

SIZES = {"video_size": 10, "subtitle_size": 8, "query_size": 6, "hidden": 16, "heads": 2, "clips": 20, "words": 12}
CONQUER_SIZES = {"inner": 24, "centres": 3, "narrow": 4}


def model_of(baseline: str, **changes: Any) -> Any:
    """A fresh model, always the same."""
    torch.manual_seed(5)
    more = CONQUER_SIZES if baseline == "conquer" else {}
    return BASELINES[baseline].build(**{**SIZES, **more, **changes})


def batch_of(size: int = 5, seed: int = 0, clips: tuple[int, int] = (3, 20)) -> Batch:
    return collate([sample(number, seed, clips) for number in range(size)])


def sample(number: int, seed: int = 0, clips: tuple[int, int] = (3, 20)) -> Sample:
    draw = np.random.default_rng([seed, number])
    length, words = int(draw.integers(clips[0], clips[1] + 1)), int(draw.integers(2, 13))
    start = int(draw.integers(length))

    def rows(count: int, features: int) -> np.ndarray:
        return draw.normal(size=(count, features)).astype(np.float32)

    return Sample(
        query=rows(words, 6),
        video=rows(length, 10),
        subtitle=rows(length, 8),
        start=start,
        end=min(start + 2, length - 1),
        similarity=float(draw.uniform(0.6, 1)),
        query_id=f"q{number}",
        video_id=f"v{number}",
    )


def corpus_of(count: int, seed: int = 1) -> tuple[Sequences, Sequences]:
    batch = batch_of(count, seed)
    return batch.video, batch.subtitle
