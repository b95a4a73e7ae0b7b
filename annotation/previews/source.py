"""Looks into a video file: what it is, and whether it shows a picture at all."""

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av

from core.exceptions import MomentJudgeError

logger = logging.getLogger(__name__)

MAX_HEIGHT = 480  # lines of a preview

# Containers only: a playlist posing as a video could make ffmpeg open other files or addresses.
INPUT_LIMITS = {"format_whitelist": "mov,matroska,avi,mpegts,mpeg,flv,ogg,asf", "protocol_whitelist": "file"}


class VideoUnreadable(MomentJudgeError):
    """The file is missing, corrupt, or shows no picture; the message says which in plain words."""


@dataclass(frozen=True)
class VideoInfo:
    """What a video is: its length in seconds, its size as shown (turned, square pixels), frames a second, codec."""

    duration_s: float
    width: int
    height: int
    fps: float
    codec: str


@dataclass(frozen=True)
class Source:
    """One readable video: where it lies, which of its streams is the picture, and the size of its previews."""

    path: Path
    stream: int
    info: VideoInfo
    width: int
    height: int


def probe(path: str | Path) -> VideoInfo:
    """Say what the video at ``path`` is, after decoding its first frame.

    Raises:
        VideoUnreadable: the file is missing, corrupt, or has no video stream.
    """
    return open_source(Path(path)).info


def open_source(path: Path) -> Source:
    if not path.is_file():
        raise VideoUnreadable("The video file does not exist.")
    try:
        with av.open(url(path), options=INPUT_LIMITS) as container:
            return _inspect(path, container)
    except (av.FFmpegError, OSError, ValueError) as error:
        logger.info("cannot read video %s: %s", path.name, error)
        raise VideoUnreadable("The file is corrupt or not a video.") from error


def _inspect(path: Path, container: Any) -> Source:
    """Read the facts of the first picture stream and prove that a frame can be decoded."""
    stream = next((s for s in container.streams.video if not s.disposition & s.disposition.attached_pic), None)
    if stream is None:
        raise VideoUnreadable("The file has no video stream.")
    stream.codec_context.thread_count = 1
    frame = next(container.decode(stream), None)
    if frame is None:
        raise VideoUnreadable("No frame of the video can be decoded.")
    width, height = round(frame.width * float(stream.sample_aspect_ratio or 1)), frame.height
    if frame.rotation % 180:
        width, height = height, width
    fps, codec = float(stream.average_rate or stream.guessed_rate or 0), stream.codec_context.name
    info = VideoInfo(_duration_s(container, stream), width, height, fps, codec)
    return Source(path, stream.index, info, *_preview_size(width, height))


def _duration_s(container: Any, stream: Any) -> float:
    """The length of the picture in seconds: as stated, or else (a recording never closed) by its last packet."""
    if stream.duration is not None:
        return float(stream.duration * stream.time_base)
    if container.duration is not None:
        return float(container.duration / av.time_base)
    ends = (p.pts + (p.duration or 0) for p in container.demux(stream) if p.pts is not None)
    return float(max(ends, default=0) * stream.time_base)


def _preview_size(width: int, height: int) -> tuple[int, int]:
    """Even width and height of at most ``MAX_HEIGHT`` lines, never larger than the video, aspect kept."""
    lines = max(2, min(MAX_HEIGHT, height) // 2 * 2)
    across = min(width // 2, round(width * lines / height / 2)) * 2
    return max(2, across), lines


def url(path: Path) -> str:
    """The file as ffmpeg must be told it: absolute and marked, so that no name reads as an option or address."""
    return f"file:{path.absolute()}"
