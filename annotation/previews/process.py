"""Builds ffmpeg's commands and runs them; the only user of ffmpeg-python and of the binary."""

import logging
import os
import select
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ffmpeg
from imageio_ffmpeg import get_ffmpeg_exe
from PIL import Image

from annotation.previews.plan import FRAMES_PER_S, LONG_FRAMES, TICKS_PER_FRAME, TICKS_PER_S, Cut
from annotation.previews.source import INPUT_LIMITS, Source, url

logger = logging.getLogger(__name__)

STALL_S = 120.0  # ffmpeg silent for this long is taken for hung
PASSED = {"fps_mode": "passthrough", "threads": 1}  # every frame is written as it comes

# The twin: a key frame every second, and no frame that leans on a later one, so that seeking is quick and exact.
TWIN = {
    "format": "mp4",
    "vcodec": "libx264",
    "preset": "superfast",
    "crf": 28,
    "g": FRAMES_PER_S,
    "bf": 0,
    "r": FRAMES_PER_S,
    "fps_mode": "cfr",
    "threads": 1,
    "movflags": "+faststart",
    "map_metadata": -1,  # a video's title or chapters would tell annotators what they see
    "map_chapters": -1,
}


def gif_command(source: Source, cut: Cut, twins: Sequence[Path]) -> list[str]:
    """ffmpeg writes one moment to standard output as a GIF, and to the one file of ``twins`` as an MP4."""
    count = len(cut.ticks)
    # One frame more than wanted: the palette is done when the frame after its last arrives.
    longer = range(cut.ticks[0], cut.ticks[-1] + TICKS_PER_FRAME + 1, TICKS_PER_FRAME)
    timed = _timed(_wanted(source, [longer])).split()
    palette = timed[0].filter("trim", end_frame=min(count, LONG_FRAMES)).filter("palettegen")
    picture = ffmpeg.filter([timed[1], palette], "paletteuse", dither="bayer", bayer_scale=5, diff_mode="rectangle")
    delay = round(100 / FRAMES_PER_S)
    gif = picture.output("pipe:", vframes=count, format="gif", loop=0, final_delay=delay, **PASSED)
    return _command(gif, *(_twin(timed[2], count, twin) for twin in twins))


def frames_command(source: Source, group: list[Cut], count: int, twins: Sequence[Path]) -> list[str]:
    """ffmpeg writes the ``count`` wanted frames to standard output, one after the other, 3 bytes a pixel.

    It writes each moment to its file of ``twins`` too (none: to no file), as an MP4 that is whole when it has ended.
    """
    branches = _wanted(source, [cut.ticks for cut in group]).split()
    frames = branches[0].output("pipe:", vframes=count, format="rawvideo", pix_fmt="rgb24", **PASSED)
    offset = _begin_s(group[0].ticks) * TICKS_PER_S
    parts = [
        _twin(_timed(branches[number].filter("select", _chosen("pts", cut.ticks, offset))), len(cut.ticks), twin)
        for number, (cut, twin) in enumerate(zip(group, twins, strict=False), start=1)
    ]
    return _command(frames, *parts)


def _wanted(source: Source, wanted: list[range]) -> Any:
    """The frames on screen at the ticks of ``wanted`` (the earliest first), in order of time, at preview size."""
    begin_s = _begin_s(wanted[0])
    chosen = "+".join(_chosen("n", ticks, begin_s * TICKS_PER_S) for ticks in wanted)
    # Not accurate: the key frame before is kept too, so that a frame already on screen at the start is known.
    picture = ffmpeg.input(url(source.path), ss=begin_s, noaccurate_seek=None, threads=1, **INPUT_LIMITS)
    return (
        picture[str(source.stream)]
        .filter("fps", fps=TICKS_PER_S, round="up", start_time=0)  # up: a tick never shows a frame that is yet to come
        .filter("select", chosen)
        .filter("scale", source.width, source.height)
        .filter("setsar", 1)
    )


def _begin_s(earliest: range) -> int:
    """The second of the video at which ffmpeg begins, a little before these ticks."""
    return max(0, earliest[0] // TICKS_PER_S - 1)


def _chosen(counter: str, ticks: range, offset: int) -> str:
    """Whether ffmpeg's ``counter`` of ticks since ``offset`` is at one of ``ticks``."""
    first, last = ticks[0] - offset, ticks[-1] - offset
    return f"between({counter},{first},{last})*not(mod({counter}-{first},{TICKS_PER_FRAME}))"


def _timed(picture: Any) -> Any:
    """The frames of ``picture`` one after the other, whatever lay between them."""
    return picture.filter("setpts", f"N/({FRAMES_PER_S}*TB)")


def _twin(picture: Any, count: int, path: Path) -> Any:
    """``count`` frames of ``picture`` as an MP4 in colours that browsers show alike."""
    coloured = picture.filter("scale", out_color_matrix="bt709", out_range="tv").filter("format", "yuv420p")
    return coloured.output(url(path), vframes=count, **TWIN)


def _command(*outputs: Any) -> list[str]:
    """The words of the call; ffmpeg stops reading when every output has its frames."""
    flags = ("-nostdin", "-hide_banner", "-loglevel", "quiet", "-filter_complex_threads", "1")
    made = ffmpeg.merge_outputs(*outputs).global_args(*flags)
    return [str(word) for word in made.compile(cmd=get_ffmpeg_exe())]


@contextmanager
def running(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """The process while its output is read; it is gone when the block is left, however that happens."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    with process:
        try:
            yield process
        finally:
            process.kill()


def read_frames(process: subprocess.Popen[bytes], size: tuple[int, int]) -> Iterator[Image.Image]:
    """The whole RGB frames of ``size`` that the process writes; a last broken one is left out."""
    length, buffer = size[0] * size[1] * 3, bytearray()
    for chunk in read_chunks(process):
        buffer += chunk
        while len(buffer) >= length:
            yield Image.frombytes("RGB", size, bytes(buffer[:length]))
            del buffer[:length]


def read_chunks(process: subprocess.Popen[bytes]) -> Iterator[bytes]:
    """What the process writes until it ends or falls silent; the time its reader takes is not counted."""
    assert process.stdout is not None
    while select.select([process.stdout], [], [], STALL_S)[0]:
        chunk = os.read(process.stdout.fileno(), 1 << 18)
        if not chunk:
            return
        yield chunk
    process.kill()
    logger.error("ffmpeg fell silent for %.0f s and was stopped", STALL_S)


def ends_well(process: subprocess.Popen[bytes]) -> bool:
    """Wait until the process has written its files; False when it failed or hung."""
    try:
        return process.wait(STALL_S) == 0
    except subprocess.TimeoutExpired:
        logger.error("ffmpeg did not end within %.0f s and was stopped", STALL_S)
        return False
