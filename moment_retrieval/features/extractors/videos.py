"""Features of video clips: from an image model, or from pixels alone.

``Images`` makes a row of what an image model says of a few frames. ``Pixels`` needs no model and was made for drawn
videos such as the demo's, where a still camera shows what people do with coloured things. Of each clip, brought to
96 x 54 pixels and four frames a second, it takes:

- how much each of 16 x 9 places changes from frame to frame,
- the colours of what changes, in 6 x 6 x 6 boxes,
- faintly, for they say where rather than what, the colours of the whole picture,
- all three less their mean over the video: what is special to this clip.

Square roots keep small things visible beside large ones. A fixed matrix of signs brings the 1,152 numbers to 512; it
comes from a hash function, so that features made anywhere are the same.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from hashlib import shake_256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moment_retrieval.errors import MissingModel, UnreadableFile
from moment_retrieval.features.attributes import Attributes
from moment_retrieval.features.extractors.base import DEFAULT, Film, Setup
from moment_retrieval.features.stores import Rows
from moment_retrieval.hub import loading, source_of, version_of
from moment_retrieval.preprocessing import CLIP_S

Frames = NDArray[np.uint8]
Size = tuple[int, int] | int | None  # width and height, or the shorter of them; None: as they are
# Containers only: a playlist posing as a video could make ffmpeg open other files or addresses.
INPUT_LIMITS = {"format_whitelist": "mov,matroska,avi,mpegts,mpeg,flv,ogg,asf", "protocol_whitelist": "file"}
SLACK_S = 0.02  # a frame that ends so little after a clip begins no other


def clips(path: Path, *, rate: float, size: Size = None, offset_s: float = 0.0) -> Iterator[Frames]:
    """The frames of each clip of 1.5 s [f, height, width, 3], ``rate`` a second; f may differ, and is never 0.

    ``size``: width and height that the frames are brought to, or the shorter of the two; their own unless given.
    ``offset_s``: when the first frame of a second is due.

    Raises:
        UnreadableFile: there is no such file, or it shows no picture.
    """
    return (frames for _, frames in timed_clips(path, rate=rate, size=size, offset_s=offset_s))


def timed_clips(
    path: Path, *, rate: float, size: Size = None, offset_s: float = 0.0
) -> Iterator[tuple[NDArray[np.float64], Frames]]:
    """Yield the times [f] of the frames of each clip, in seconds from its beginning, with the frames."""
    gathered: list[tuple[float, Frames]] = []
    clip = 0
    for second, frame in _frames(path, rate, size, offset_s):
        while second >= (clip + 1) * CLIP_S - 1e-6:
            yield _stacked(gathered or [(second, frame)], clip)  # none yet: what comes next is the nearest
            gathered = gathered[-1:]  # where a clip shows nothing new, the last picture stays
            clip += 1
            if second < (clip + 1) * CLIP_S - 1e-6:
                gathered = []
        gathered.append((second, frame))
    yield _stacked(gathered, clip)


def _stacked(gathered: list[tuple[float, Frames]], clip: int) -> tuple[NDArray[np.float64], Frames]:
    times = np.array([second for second, _ in gathered]) - clip * CLIP_S
    return times, np.stack([frame for _, frame in gathered])


def frames_at(times: NDArray[np.float64], frames: Frames, instants: NDArray[np.float64]) -> Frames:
    """Return the frame shown at each instant: the last one before it, or the first of all."""
    return frames[np.maximum(np.searchsorted(times, instants + 1e-6, side="right") - 1, 0)]


def clip_count(duration_s: float) -> int:
    """How many clips a video of this length has."""
    return max(1, math.ceil((duration_s - SLACK_S) / CLIP_S))


def _frames(path: Path, rate: float, size: Size, offset_s: float) -> Iterator[tuple[float, Frames]]:
    """Frames with their times in seconds: the first at or after each instant."""
    with opened(path) as container:
        has_frames = False
        for second, frame in _wanted(container, rate, offset_s):
            has_frames = True
            yield second, _as_pixels(frame, size)
        if not has_frames:
            raise UnreadableFile("no frame of the video can be decoded")


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """Open a video file; whatever is wrong with it is an UnreadableFile."""
    import av

    if not path.is_file():
        raise UnreadableFile("the video file does not exist")
    try:
        with av.open(f"file:{path.absolute()}", options=INPUT_LIMITS) as container:
            yield container
    except (av.FFmpegError, OSError, ValueError) as error:
        raise UnreadableFile(f"the file is corrupt or not a video ({type(error).__name__})") from error


def video_stream(container: Any) -> Any:
    """Return the stream that shows the film; a cover picture is none. Raises UnreadableFile."""
    stream = next((s for s in container.streams.video if not s.disposition & s.disposition.attached_pic), None)
    if stream is None:
        raise UnreadableFile("the file has no video stream")
    return stream


def _wanted(container: Any, rate: float, offset_s: float) -> Iterator[tuple[float, Any]]:
    stream = video_stream(container)
    stream.codec_context.thread_count = 1
    first, due = None, offset_s
    last, clip = None, -1  # the last frame, and the clip of the last that was due
    for number, frame in enumerate(container.decode(stream)):
        time = frame.time if frame.time is not None else number / float(stream.average_rate or 25)
        first = time if first is None else first
        second = max(0.0, time - first)
        last = second, frame
        if second + 1e-6 >= due:
            yield last
            due = (math.floor((second - offset_s) * rate + 1e-6) + 1) / rate + offset_s
            clip = math.floor((second + 1e-6) / CLIP_S)
    if last and math.floor((last[0] + 1e-6) / CLIP_S) > clip:
        yield last  # a clip so short that no frame of it was due


def _as_pixels(frame: Any, size: Size) -> Frames:
    """The frame as it is shown: phones store it lying on its side."""
    turns = round(frame.rotation / 90) % 4
    if size is None:
        pixels = frame.to_ndarray(format="rgb24")
    elif isinstance(size, int):
        scale = size / min(frame.width, frame.height)
        width, height = round(frame.width * scale), round(frame.height * scale)
        pixels = frame.to_ndarray(format="rgb24", width=width, height=height, interpolation="BILINEAR")
    else:
        width, height = size if turns % 2 == 0 else size[::-1]
        pixels = frame.to_ndarray(format="rgb24", width=width, height=height, interpolation="AREA")
    return np.ascontiguousarray(np.rot90(pixels, turns))


IMAGE_RATE = 2.0  # frames a second: three of each clip
TOGETHER = 48  # frames that the model takes at a time


class FrameModel(ABC):
    """Features of films: a row for each frame, pooled over the frames of a clip."""

    batch = 1
    extractor: str  # its name, as the attributes of a file have it
    layer: str
    fps = IMAGE_RATE
    offset_s = 0.0  # when the first frame of a second is taken
    size: Size = None  # that frames are brought to when they are decoded
    pooling = "mean"

    @property
    @abstractmethod
    def model_name(self) -> str:
        """The model and its version."""

    @property
    @abstractmethod
    def width(self) -> int:
        """Numbers in a row."""

    @abstractmethod
    def embedded(self, frames: Frames) -> Rows:
        """Embed frames [f, h, w, 3]: one row for each [f, width]."""

    @property
    def attributes(self) -> Attributes:
        """How the features are made, for the file that keeps them."""
        pooling = f"{self.pooling} over the frames of a clip"
        values: Attributes = {"extractor": self.extractor, "model": self.model_name, "clip_s": CLIP_S, "fps": self.fps}
        return {**values, "layer": self.layer, "pooling": pooling, "normalisation": "none", "width": self.width}

    def rows(self, items: Sequence[Film]) -> Iterator[Rows]:
        """One row for each clip of each film."""
        for film in items:
            rows: list[Rows] = []
            waiting: list[Frames] = []
            for frames in clips(film.path, rate=self.fps, size=self.size, offset_s=self.offset_s):
                waiting.append(frames)
                if sum(map(len, waiting)) >= TOGETHER:
                    rows += self._pooled(waiting)
                    waiting = []
            yield np.stack(rows + self._pooled(waiting))

    def _pooled(self, waiting: Sequence[Frames]) -> list[Rows]:
        """A row for each clip."""
        if not waiting:
            return []
        embedded = self.embedded(np.concatenate(waiting))
        ends = np.cumsum([len(frames) for frames in waiting])[:-1]
        return [part.max(axis=0) if self.pooling == "max" else part.mean(axis=0) for part in np.split(embedded, ends)]


class Images(FrameModel):
    """Features of films by an image model of transformers (CLIP, ViT, DINOv2, ResNet and others): means over frames."""

    extractor = "image-model"
    layer = "image embedding, else first token, else mean over places"

    def __init__(self, model: str, *, setup: Setup = DEFAULT) -> None:
        from transformers import AutoImageProcessor, AutoModel

        source = source_of(model)
        self.device = setup.device_name()
        with loading(model):
            self._processor = AutoImageProcessor.from_pretrained(source, backend="pil")  # nosec B615 - no torchvision
            self._model = AutoModel.from_pretrained(source).eval().to(self.device)  # nosec B615 - as requested
            self._check(model)
            self._width = int(self.embedded(np.zeros((1, 64, 64, 3), np.uint8)).shape[1])
        self._model_name = f"{model} {version_of(source)}"
        self.name = f"image {self.pooling} {self._model_name}"

    @property
    def model_name(self) -> str:
        return self._model_name

    @property
    def width(self) -> int:
        return self._width

    def embedded(self, frames: Frames) -> Rows:
        import torch

        pixels = self._processor(images=list(frames), return_tensors="pt")["pixel_values"].to(self.device)
        with torch.inference_mode():
            return np.asarray(_rows(self._model, pixels).float().cpu().numpy())

    def _check(self, model: str) -> None:
        """Raise MissingModel where the model is of another kind than these features are made by."""


class ResNet(Images):
    """Features of films as published for TVR: of a ResNet's pooled layer the largest values over three frames a second.

    The frames are those of 0.1, 0.43 and 0.77 s of each second, as 3, 13 and 23 of 30 in the published file.
    """

    extractor = "resnet"
    layer = "mean over places of the last block"
    fps = 3.0
    offset_s = 0.1
    pooling = "max"

    def _check(self, model: str) -> None:
        kind = self._model.config.model_type
        if kind != "resnet":
            raise MissingModel(
                f"the model {model!r} is of the kind {kind!r}, not a ResNet. Take the extractor image-model for it."
            )


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


SIZE, PIXEL_RATE = (96, 54), 4.0  # pixels across and down; frames a second
ACROSS, DOWN = 16, 9  # places
LEVELS = 6  # of each colour
CHANGED = 0.06 * 255  # a pixel that differs by more has changed
FAINT = np.float32(0.1)
WIDTH = 512
CELLS, COLOURS = ACROSS * DOWN, LEVELS**3


class Pixels:
    """Features of films without a model."""

    name = "pixels 1"
    width = WIDTH
    batch = 1
    attributes: Attributes = {
        **{"extractor": "builtin-pixels", "model": "pixels 1", "clip_s": CLIP_S, "fps": PIXEL_RATE},
        **{"pooling": "sums over the frames of a clip", "normalisation": "none", "width": WIDTH},
    }

    def rows(self, items: Sequence[Film]) -> Iterator[Rows]:
        """One row for each clip of each film."""
        for film in items:
            features = np.stack([_seen(frames) for frames in clips(film.path, rate=PIXEL_RATE, size=SIZE)])
            special = features - features.mean(axis=0)
            features[:, CELLS + COLOURS :] *= FAINT
            yield np.concatenate([features, special], axis=1) @ _signs()


def _seen(frames: Frames) -> NDArray[np.float32]:
    """Describe frames [f, h, w, 3]: change of places, colours that change, colours."""
    values = frames.astype(np.int16)
    change = np.abs(np.diff(values, axis=0))  # [f - 1, h, w, 3]
    boxes = (values * LEVELS // 256) @ np.array([LEVELS * LEVELS, LEVELS, 1])  # [f, h, w]
    moved = np.bincount(boxes[1:][change.max(axis=-1) > CHANGED], minlength=COLOURS)
    parts = [_mean_changes(change), moved / boxes.size, np.bincount(boxes.ravel(), minlength=COLOURS) / boxes.size]
    return np.sqrt(np.concatenate(parts)).astype(np.float32)


def _mean_changes(change: NDArray[np.int16]) -> NDArray[np.float64]:
    """The mean change of each place, 0 to 1."""
    if not len(change):
        return np.zeros(CELLS)
    across, down = SIZE
    cells = change.mean(axis=(0, 3)).reshape(DOWN, down // DOWN, ACROSS, across // ACROSS)
    return cells.mean(axis=(1, 3)).ravel() / 255


@lru_cache
def _signs() -> NDArray[np.float32]:
    """A matrix [numbers, WIDTH] of signs, scaled so that lengths stay what they are on average."""
    numbers = 2 * (CELLS + 2 * COLOURS)
    bits = np.frombuffer(shake_256(Pixels.name.encode()).digest(numbers * WIDTH // 8), np.uint8)
    signs = np.unpackbits(bits).astype(np.float32) * 2 - 1
    return signs.reshape(numbers, WIDTH) / np.float32(np.sqrt(WIDTH))
