"""Features of clips from an image model: what it makes of a few frames, as one row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any

import numpy as np

from moment_retrieval.features.extractors.base import Film
from moment_retrieval.features.extractors.frames import Frames, clips
from moment_retrieval.features.extractors.hub import DEFAULT, Setup, loading, source_of, version_of
from moment_retrieval.features.stores import Rows

RATE = 2.0  # frames a second: three of each clip
TOGETHER = 48  # frames that the model takes at a time


class Pooling(StrEnum):
    """How the frames of a clip become one row."""

    MEAN = "mean"
    MAX = "max"


class Images:
    """Features of films by an image model of transformers (CLIP, ViT, DINOv2, ResNet and others)."""

    batch = 1

    def __init__(self, model: str, *, setup: Setup = DEFAULT, pooling: Pooling = Pooling.MEAN) -> None:
        from transformers import AutoImageProcessor, AutoModel

        source = source_of(model)
        self.device = setup.place()
        with loading(model):
            self._processor = AutoImageProcessor.from_pretrained(source, backend="pil")  # nosec B615 - no torchvision
            self._model = AutoModel.from_pretrained(source).eval().to(self.device)  # nosec B615 - as asked for
            self.width = int(self._embedded(np.zeros((1, 64, 64, 3), np.uint8)).shape[1])
        self.name = f"image {pooling} {model} {version_of(source, self._model)}"
        self._pool = np.mean if pooling is Pooling.MEAN else np.max

    def rows(self, items: Sequence[Film]) -> Iterator[Rows]:
        """One row for each clip of each film."""
        for film in items:
            rows: list[Rows] = []
            waiting: list[Frames] = []
            for frames in clips(film.path, rate=RATE):
                waiting.append(frames)
                if sum(map(len, waiting)) >= TOGETHER:
                    rows += self._pooled(waiting)
                    waiting = []
            yield np.stack(rows + self._pooled(waiting))

    def _pooled(self, waiting: Sequence[Frames]) -> list[Rows]:
        """A row for each clip."""
        if not waiting:
            return []
        embedded = self._embedded(np.concatenate(waiting))
        ends = np.cumsum([len(frames) for frames in waiting])[:-1]
        return [self._pool(part, axis=0) for part in np.split(embedded, ends)]

    def _embedded(self, frames: Frames) -> Rows:
        """What the model makes of frames [f, h, w, 3]: one row for each [f, D]."""
        import torch

        pixels = self._processor(images=list(frames), return_tensors="pt")["pixel_values"].to(self.device)
        with torch.inference_mode():
            return np.asarray(_rows(self._model, pixels).float().cpu().numpy())


def _rows(model: Any, pixels: Any) -> Any:
    """A row [f, D] for each picture: the model's own summary, its first token, or the mean over places."""
    if hasattr(model, "get_image_features"):
        features = model.get_image_features(pixel_values=pixels)
        return features if hasattr(features, "dim") else features.pooler_output
    states = model(pixel_values=pixels).last_hidden_state
    if states.dim() == 4:
        return states.mean(dim=(2, 3))  # [f, D, h, w]
    has_first = any(name.endswith("cls_token") for name, _ in model.named_parameters())
    return states[:, 0] if has_first else states.mean(dim=1)
