"""Frames of a video file, clip by clip."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moment_retrieval.errors import UnreadableFile
from moment_retrieval.preprocessing import CLIP_S

Frames = NDArray[np.uint8]
# Containers only: a playlist posing as a video could make ffmpeg open other files or addresses.
INPUT_LIMITS = {"format_whitelist": "mov,matroska,avi,mpegts,mpeg,flv,ogg,asf", "protocol_whitelist": "file"}
SLACK_S = 0.02  # a frame that ends so little after a clip begins no other


def clips(path: Path, *, rate: float, size: tuple[int, int] | None = None) -> Iterator[Frames]:
    """The frames of each clip of 1.5 s [f, height, width, 3], ``rate`` a second; f may differ, and is never 0.

    Args:
        path: the video.
        rate: frames a second.
        size: width and height that the frames are brought to; their own unless given.

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
            shown = False
            for second, frame in _wanted(container, rate):
                shown = True
                yield second, _as_pixels(frame, size)
            if not shown:
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
