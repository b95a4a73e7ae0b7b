"""Features of video clips by video models of transformers: VideoMAE and others that look at several frames at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from moment_retrieval.features.attributes import Attributes
from moment_retrieval.features.extractors.base import DEFAULT, Film, Setup
from moment_retrieval.features.extractors.videos import Frames, frames_at, timed_clips
from moment_retrieval.features.stores import Rows
from moment_retrieval.hub import loading, source_of, version_of
from moment_retrieval.preprocessing import CLIP_S

FRAMES = 16  # of a clip, where the model does not say how many it takes
SHORTER_SIDE = 256  # pixels that frames are brought to when they are decoded


class VideoModel:
    """Features of films: of each clip, frames at equal distances; the mean over all tokens of the last hidden state.

    A model that has an embedding of videos of its own (X-CLIP) gives that instead.
    """

    batch = 1

    def __init__(self, model: str, *, setup: Setup = DEFAULT) -> None:
        from transformers import AutoImageProcessor, AutoModel

        source = source_of(model)
        self.device = setup.device_name()
        with loading(model):
            self._processor = AutoImageProcessor.from_pretrained(source, backend="pil")  # nosec B615 - no torchvision
            self._model = AutoModel.from_pretrained(source).eval().to(self.device)  # nosec B615 - as requested
            self.frames = frames_of(self._model.config)
            self.width = len(self._row(np.zeros((self.frames, 64, 64, 3), np.uint8)))
        self._instants = np.arange(self.frames) * CLIP_S / self.frames
        self._model_name = f"{model} {version_of(source)}"
        self.name = f"video {self._model_name}"

    @property
    def attributes(self) -> Attributes:
        """How the features are made, for the file that keeps them."""
        has_own = hasattr(self._model, "get_video_features")
        values: Attributes = {"extractor": "video-model", "model": self._model_name, "clip_s": CLIP_S}
        values |= {"fps": self.frames / CLIP_S, "frames": self.frames}
        values |= {"layer": "video embedding" if has_own else "last hidden state"}
        values |= {"pooling": "the model's own" if has_own else "mean over the tokens of a clip"}
        return values | {"normalisation": "none", "width": self.width}

    def rows(self, items: Sequence[Film]) -> Iterator[Rows]:
        """One row for each clip of each film."""
        for film in items:
            timed = timed_clips(film.path, rate=self.frames / CLIP_S, size=SHORTER_SIDE)
            yield np.stack([self._row(frames_at(times, frames, self._instants)) for times, frames in timed])

    def _row(self, frames: Frames) -> Rows:
        """Frames [f, h, w, 3] of a clip -> its row [width]."""
        import torch

        pixels = self._processor(images=list(frames), return_tensors="pt")["pixel_values"].to(self.device)
        values = pixels if pixels.dim() == 5 else pixels.unsqueeze(0)  # [1, f, 3, H, W]
        with torch.inference_mode():
            row: Rows = _summary(self._model, values).float().cpu().numpy()[0]
        return row


def frames_of(config: Any) -> int:
    """Return how many frames a model takes at a time."""
    vision = getattr(config, "vision_config", config)
    return int(getattr(config, "num_frames", None) or getattr(vision, "num_frames", None) or FRAMES)


def _summary(model: Any, values: Any) -> Any:
    """Videos [1, f, 3, H, W] -> rows [1, D]."""
    if hasattr(model, "get_video_features"):
        features = model.get_video_features(pixel_values=values)
        return features if hasattr(features, "dim") else features.pooler_output
    return model(pixel_values=values).last_hidden_state.mean(dim=1)
