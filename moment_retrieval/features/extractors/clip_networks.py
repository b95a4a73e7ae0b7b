"""Features of video clips by networks whose weights are one file: I3D, SlowFast, C3D, and VGG by frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moment_retrieval.features.attributes import Attributes
from moment_retrieval.features.extractors.base import DEFAULT, Film, Setup
from moment_retrieval.features.extractors.networks.c3d import C3D
from moment_retrieval.features.extractors.networks.i3d import I3D
from moment_retrieval.features.extractors.networks.slowfast import SlowFast
from moment_retrieval.features.extractors.networks.vgg import VGG
from moment_retrieval.features.extractors.videos import FrameModel, Frames, frames_at, timed_clips
from moment_retrieval.features.extractors.weights import load_network
from moment_retrieval.features.stores import Rows
from moment_retrieval.preprocessing import CLIP_S

CLIPS_TOGETHER = 4  # that a network takes at a time


@dataclass(frozen=True)
class Preparation:
    """Size, mean and deviation that a network expects of pictures."""

    shorter_side: int  # pixels, before the middle is cut out
    crop: int  # pixels across and down of the middle
    # mean, deviation: of each colour, 0 to 255
    mean: tuple[float, float, float]
    deviation: tuple[float, float, float]
    is_bgr: bool = False  # blue first

    def of(self, frames: Frames) -> NDArray[np.float32]:
        """Frames [f, h, w, 3] -> numbers [3, f, crop, crop]."""
        y, x = ((length - self.crop) // 2 for length in frames.shape[1:3])
        middle = frames[:, y : y + self.crop, x : x + self.crop]
        if self.is_bgr:
            middle = middle[..., ::-1]
        mean, deviation = np.array(self.mean, np.float32), np.array(self.deviation, np.float32)
        values = (middle.astype(np.float32) - mean) / deviation
        return np.ascontiguousarray(values.transpose(3, 0, 1, 2))


@dataclass(frozen=True)
class Recipe:
    """Frames that a network of clips sees, and the layer that is kept."""

    extractor: str
    network: Any  # class of ``networks``
    fps: float
    instants_s: tuple[float, ...]  # when the frames of a clip are taken, from its beginning
    preparation: Preparation
    layer: str
    pooling: str


HALF = (127.5,) * 3
# Frames as Kinetics was trained on, 25 a second; all of a clip at once.
I3D_RECIPE = Recipe(
    extractor="i3d",
    network=I3D,
    fps=25.0,
    instants_s=tuple(number / 25 for number in range(round(25 * CLIP_S))),
    preparation=Preparation(256, 224, HALF, HALF),
    layer="last block",
    pooling="mean over time and picture of a clip",
)
# As CONQUER's features: 45 frames a clip, of which 32 are taken from the first on, 63 / 31 apart; the last one repeats.
SLOWFAST_RECIPE = Recipe(
    extractor="slowfast",
    network=SlowFast,
    fps=30.0,
    instants_s=tuple(min(int(number), 44) / 30 for number in np.linspace(0, 63, 32)),
    preparation=Preparation(224, 224, (0.45 * 255,) * 3, (0.225 * 255,) * 3),
    layer="last blocks of both paths",
    pooling="mean over time and picture of a clip",
)
C3D_RECIPE = Recipe(
    extractor="c3d",
    network=C3D,
    fps=16 / CLIP_S,
    instants_s=tuple(number * CLIP_S / 16 for number in range(16)),
    preparation=Preparation(128, 112, (90.0, 98.0, 102.0), (1.0, 1.0, 1.0), is_bgr=True),
    layer="fc6, rectified",
    pooling="none: one pass over a clip",
)
RECIPES = {recipe.extractor: recipe for recipe in (I3D_RECIPE, SLOWFAST_RECIPE, C3D_RECIPE)}
IMAGENET = Preparation(256, 224, (0.485 * 255, 0.456 * 255, 0.406 * 255), (0.229 * 255, 0.224 * 255, 0.225 * 255))


class ClipNetwork:
    """Features of films: one pass of a network over the frames of each clip."""

    batch = 1

    def __init__(self, recipe: Recipe, model: str, *, setup: Setup = DEFAULT) -> None:
        self.device = setup.device_name()
        network, version = load_network(recipe.network, model)
        self._recipe, self._network = recipe, network.to(self.device)
        self._instants = np.array(recipe.instants_s)
        self.width = int(network.width)
        self._model_name = f"{model} {version}"
        self.name = f"{recipe.extractor} {self._model_name}"

    @property
    def attributes(self) -> Attributes:
        """How the features are made, for the file that keeps them."""
        recipe = self._recipe
        values: Attributes = {"extractor": recipe.extractor, "model": self._model_name, "clip_s": CLIP_S}
        values |= {"fps": recipe.fps, "frames": len(recipe.instants_s), "layer": recipe.layer}
        return values | {"pooling": recipe.pooling, "normalisation": "none", "width": self.width}

    def rows(self, items: Sequence[Film]) -> Iterator[Rows]:
        """One row for each clip of each film."""
        for film in items:
            waiting = self._prepared(film)
            rows: list[Rows] = []
            while together := list(islice(waiting, CLIPS_TOGETHER)):
                rows.append(self._passed(np.stack(together)))
            yield np.concatenate(rows)

    def _prepared(self, film: Film) -> Iterator[NDArray[np.float32]]:
        """Yield the numbers [3, T, H, W] of each clip."""
        preparation = self._recipe.preparation
        for times, frames in timed_clips(film.path, rate=self._recipe.fps, size=preparation.shorter_side):
            yield preparation.of(frames_at(times, frames, self._instants))

    def _passed(self, values: NDArray[np.float32]) -> Rows:
        """Clips [B, 3, T, H, W] -> rows [B, width]."""
        import torch

        with torch.inference_mode():
            rows: Rows = self._network(torch.from_numpy(values).to(self.device)).float().cpu().numpy()
        return rows


class VGGFrames(FrameModel):
    """Features of films: means over frames of VGG-16's second fully connected layer."""

    extractor = "vgg"
    layer = "fc7, rectified"
    fps = 3.0
    size = IMAGENET.shorter_side

    def __init__(self, model: str, *, setup: Setup = DEFAULT) -> None:
        self.device = setup.device_name()
        network, version = load_network(VGG, model)
        self._network = network.to(self.device)
        self._width, self._model_name = network.width, f"{model} {version}"
        self.name = f"vgg {self.pooling} {self._model_name}"

    @property
    def model_name(self) -> str:
        return self._model_name

    @property
    def width(self) -> int:
        return self._width

    def embedded(self, frames: Frames) -> Rows:
        import torch

        pictures = np.ascontiguousarray(IMAGENET.of(frames).transpose(1, 0, 2, 3))  # [f, 3, h, w]
        with torch.inference_mode():
            rows: Rows = self._network(torch.from_numpy(pictures).to(self.device)).float().cpu().numpy()
        return rows
