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
from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import shake_256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moment_retrieval.errors import UnreadableFile
from moment_retrieval.features.extractors.base import DEFAULT, Film, Setup
from moment_retrieval.features.stores import Rows
from moment_retrieval.hub import loading, source_of, version_of
from moment_retrieval.preprocessing import CLIP_S

Frames = NDArray[np.uint8]
# Containers only: a playlist posing as a video could make ffmpeg open other files or addresses.
INPUT_LIMITS = {"format_whitelist": "mov,matroska,avi,mpegts,mpeg,flv,ogg,asf", "protocol_whitelist": "file"}
SLACK_S = 0.02  # a frame that ends so little after a clip begins no other


def clips(path: Path, *, rate: float, size: tuple[int, int] | None = None) -> Iterator[Frames]:
    """The frames of each clip of 1.5 s [f, height, width, 3], ``rate`` a second; f may differ, and is never 0.

    ``size``: width and height that the frames are brought to; their own unless given.

    Raises:
        UnreadableFile: there is no such file, or it shows no picture.
    """
    gathered: list[Frames] = []
    clip = 0
    for second, frame in _frames(path, rate, size):
        while second >= (clip + 1) * CLIP_S - 1e-6:
            yield np.stack(gathered)
            gathered = gathered[-1:]  # where a clip shows nothing new, the last picture stays
            clip += 1
            if second < (clip + 1) * CLIP_S - 1e-6:
                gathered = []
        gathered.append(frame)
    yield np.stack(gathered)


def clip_count(duration_s: float) -> int:
    """How many clips a video of this length has."""
    return max(1, math.ceil((duration_s - SLACK_S) / CLIP_S))


def _frames(path: Path, rate: float, size: tuple[int, int] | None) -> Iterator[tuple[float, Frames]]:
    """Frames with their times in seconds: the first at or after each instant."""
    import av

    if not path.is_file():
        raise UnreadableFile("the video file does not exist")
    try:
        with av.open(f"file:{path.absolute()}", options=INPUT_LIMITS) as container:
            has_frames = False
            for second, frame in _wanted(container, rate):
                has_frames = True
                yield second, _as_pixels(frame, size)
            if not has_frames:
                raise UnreadableFile("no frame of the video can be decoded")
    except (av.FFmpegError, OSError, ValueError) as error:
        raise UnreadableFile(f"the file is corrupt or not a video ({type(error).__name__})") from error


def _wanted(container: Any, rate: float) -> Iterator[tuple[float, Any]]:
    stream = next((s for s in container.streams.video if not s.disposition & s.disposition.attached_pic), None)
    if stream is None:
        raise UnreadableFile("the file has no video stream")
    stream.codec_context.thread_count = 1
    first, due = None, 0.0
    for number, frame in enumerate(container.decode(stream)):
        time = frame.time if frame.time is not None else number / float(stream.average_rate or 25)
        first = time if first is None else first
        second = max(0.0, time - first)
        if second + 1e-6 >= due:
            yield second, frame
            due = (math.floor(second * rate + 1e-6) + 1) / rate


def _as_pixels(frame: Any, size: tuple[int, int] | None) -> Frames:
    """The frame as it is shown: phones store it lying on its side."""
    turns = round(frame.rotation / 90) % 4
    if size is None:
        pixels = frame.to_ndarray(format="rgb24")
    else:
        width, height = size if turns % 2 == 0 else size[::-1]
        pixels = frame.to_ndarray(format="rgb24", width=width, height=height, interpolation="AREA")
    return np.ascontiguousarray(np.rot90(pixels, turns))


IMAGE_RATE = 2.0  # frames a second: three of each clip
TOGETHER = 48  # frames that the model takes at a time


class Images:
    """Features of films by an image model of transformers (CLIP, ViT, DINOv2, ResNet and others): means over frames."""

    batch = 1

    def __init__(self, model: str, *, setup: Setup = DEFAULT) -> None:
        from transformers import AutoImageProcessor, AutoModel

        source = source_of(model)
        self.device = setup.device_name()
        with loading(model):
            self._processor = AutoImageProcessor.from_pretrained(source, backend="pil")  # nosec B615 - no torchvision
            self._model = AutoModel.from_pretrained(source).eval().to(self.device)  # nosec B615 - as asked for
            self.width = int(self._embedded(np.zeros((1, 64, 64, 3), np.uint8)).shape[1])
        self.name = f"image mean {model} {version_of(source)}"

    def rows(self, items: Sequence[Film]) -> Iterator[Rows]:
        """One row for each clip of each film."""
        for film in items:
            rows: list[Rows] = []
            waiting: list[Frames] = []
            for frames in clips(film.path, rate=IMAGE_RATE):
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
        return [part.mean(axis=0) for part in np.split(embedded, ends)]

    def _embedded(self, frames: Frames) -> Rows:
        """Embed frames [f, h, w, 3] by the model: one row for each [f, D]."""
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
