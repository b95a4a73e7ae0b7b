"""Builds ffmpeg's commands and runs them; the only user of ffmpeg-python and of the binary."""

import logging
import os
import select
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ffmpeg
from imageio_ffmpeg import get_ffmpeg_exe
from PIL import Image

from annotation.media.plan import FRAMES_PER_S, LONG_FRAMES, TICKS_PER_FRAME, TICKS_PER_S, Cut
from annotation.media.source import INPUT_LIMITS, Source, url

logger = logging.getLogger(__name__)

STALL_S = 120.0  # ffmpeg silent for this long is taken for hung


def gif_command(source: Source, cut: Cut) -> list[str]:
    """ffmpeg writes one moment to standard output as a GIF."""
    count = len(cut.ticks)
    # One frame more than wanted: the palette is done when the frame after its last arrives.
    longer = range(cut.ticks[0], cut.ticks[-1] + TICKS_PER_FRAME + 1, TICKS_PER_FRAME)
    timed = _wanted(source, [longer]).filter("setpts", f"N/({FRAMES_PER_S}*TB)").split()
    palette = timed[0].filter("trim", end_frame=min(count, LONG_FRAMES)).filter("palettegen")
    picture = ffmpeg.filter([timed[1], palette], "paletteuse", dither="bayer", bayer_scale=5, diff_mode="rectangle")
    return _command(picture, count, format="gif", loop=0, final_delay=round(100 / FRAMES_PER_S))


def frames_command(source: Source, group: list[Cut], count: int) -> list[str]:
    """ffmpeg writes the ``count`` wanted frames to standard output, one after the other, 3 bytes a pixel."""
    return _command(_wanted(source, [cut.ticks for cut in group]), count, format="rawvideo", pix_fmt="rgb24")


def _wanted(source: Source, wanted: list[range]) -> Any:
    """The frames on screen at the ticks of ``wanted`` (the earliest first), in order of time, at preview size."""
    begin_s = max(0, wanted[0][0] // TICKS_PER_S - 1)
    offset = begin_s * TICKS_PER_S
    spans = ((ticks[0] - offset, ticks[-1] - offset) for ticks in wanted)
    chosen = "+".join(f"between(n,{first},{last})*not(mod(n-{first},{TICKS_PER_FRAME}))" for first, last in spans)
    # Not accurate: the key frame before is kept too, so that a frame already on screen at the start is known.
    picture = ffmpeg.input(url(source.path), ss=begin_s, noaccurate_seek=None, threads=1, **INPUT_LIMITS)
    return (
        picture[str(source.stream)]
        .filter("fps", fps=TICKS_PER_S, round="up", start_time=0)  # up: a tick never shows a frame that is yet to come
        .filter("select", chosen)
        .filter("scale", source.width, source.height)
        .filter("setsar", 1)
    )


def _command(picture: Any, count: int, **output: object) -> list[str]:
    """The words of the call; ffmpeg stops reading the video after ``count`` frames of ``picture``."""
    flags = ("-nostdin", "-hide_banner", "-loglevel", "quiet", "-filter_complex_threads", "1")
    made = picture.output("pipe:", vframes=count, fps_mode="passthrough", threads=1, **output).global_args(*flags)
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
    logger.error("ffmpeg fell silent for %.0f s and was stopped", STALL_S)
