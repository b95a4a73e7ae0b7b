"""Features of clips from pixels alone, without a model: which colours there are, which of them move, and where.

Made for drawn videos such as the demo's, where a still camera shows what people do with coloured things. Of each clip,
brought to 96 x 54 pixels and four frames a second:

- how much each of 16 x 9 places changes from frame to frame,
- the colours of what changes, in 6 x 6 x 6 boxes,
- faintly, for they say where rather than what, the colours of the whole picture,
- all three less their mean over the video: what is special to this clip.

Square roots keep small things visible beside large ones. A fixed matrix of signs brings the 1,152 numbers to 512; it
comes from a hash function, so that features made anywhere are the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import shake_256

import numpy as np
from numpy.typing import NDArray

from moment_retrieval.features.extractors.base import Film
from moment_retrieval.features.extractors.frames import Frames, clips
from moment_retrieval.features.stores import Rows

SIZE, RATE = (96, 54), 4.0  # pixels across and down; frames a second
ACROSS, DOWN = 16, 9  # places
LEVELS = 6  # of each colour
CHANGED = 0.06 * 255  # a pixel that differs by more has changed
FAINT = np.float32(0.1)
WIDTH = 512
PLACES, COLOURS = ACROSS * DOWN, LEVELS**3


class Pixels:
    """Features of films without a model."""

    name = "pixels 1"
    width = WIDTH
    batch = 1

    def rows(self, items: Sequence[Film]) -> Iterator[Rows]:
        """One row for each clip of each film."""
        for film in items:
            seen = np.stack([_seen(frames) for frames in clips(film.path, rate=RATE, size=SIZE)])
            special = seen - seen.mean(axis=0)
            seen[:, PLACES + COLOURS :] *= FAINT
            yield np.concatenate([seen, special], axis=1) @ _signs()


def _seen(frames: Frames) -> NDArray[np.float32]:
    """What is to be seen in frames [f, h, w, 3]: change of places, colours that change, colours."""
    values = frames.astype(np.int16)
    change = np.abs(np.diff(values, axis=0))  # [f - 1, h, w, 3]
    boxes = (values * LEVELS // 256) @ np.array([LEVELS * LEVELS, LEVELS, 1])  # [f, h, w]
    moved = np.bincount(boxes[1:][change.max(axis=-1) > CHANGED], minlength=COLOURS)
    seen = [_places(change), moved / boxes.size, np.bincount(boxes.ravel(), minlength=COLOURS) / boxes.size]
    return np.sqrt(np.concatenate(seen)).astype(np.float32)


def _places(change: NDArray[np.int16]) -> NDArray[np.float64]:
    """The mean change of each place, 0 to 1."""
    if not len(change):
        return np.zeros(PLACES)
    across, down = SIZE
    cells = change.mean(axis=(0, 3)).reshape(DOWN, down // DOWN, ACROSS, across // ACROSS)
    return cells.mean(axis=(1, 3)).ravel() / 255


@lru_cache
def _signs() -> NDArray[np.float32]:
    """A matrix [numbers, WIDTH] of signs, scaled so that lengths stay what they are on average."""
    numbers = 2 * (PLACES + 2 * COLOURS)
    bits = np.frombuffer(shake_256(Pixels.name.encode()).digest(numbers * WIDTH // 8), np.uint8)
    signs = np.unpackbits(bits).astype(np.float32) * 2 - 1
    return signs.reshape(numbers, WIDTH) / np.float32(np.sqrt(WIDTH))
