"""Posters, small JPEGs that stand for a moment or a video: the middle frame, or where that is dark one that is not."""

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import IO

from PIL import Image, ImageStat, UnidentifiedImageError

from annotation.previews import process
from annotation.previews.process import TICKS_PER_FRAME, TICKS_PER_S, Cut, Source

LARGEST = (480, 270)
DARK = 16  # mean of luminance, 0 to 255, below which a frame shows nothing
QUALITY = 80  # of the JPEG: 10 to 20 KB
SHARES = (1 / 2, 1 / 4, 3 / 4, 1 / 8, 7 / 8)  # of the length; where a frame is looked for, in this order


def poster_of_preview(gif: IO[bytes]) -> bytes | None:
    """Return the poster of a moment, or None where the preview cannot be read."""
    try:
        with Image.open(gif) as image:
            count = getattr(image, "n_frames", 1)
            return _poster(_frames_of(image, count))
    except (UnidentifiedImageError, OSError, EOFError):
        return None


def _frames_of(image: Image.Image, count: int) -> Iterator[Image.Image]:
    for share in SHARES:
        image.seek(int(share * count))
        yield image.convert("RGB")


def poster_of_video(path: Path) -> bytes | None:
    """Return the poster of a video file, or None where no frame of it can be read.

    It starts ffmpeg, up to ``len(SHARES)`` times: a task calls it, never the web process.

    Raises:
        VideoUnreadable: the file shows no picture.
    """
    source = process.open_source(path)
    frames = (_frame_at(source, share * source.duration_s) for share in SHARES)
    return _poster(frame for frame in frames if frame is not None)


def _frame_at(source: Source, second: float) -> Image.Image | None:
    tick = int(second * TICKS_PER_S)
    one = Cut(range(tick, tick + 1, TICKS_PER_FRAME), (0,))
    with process.running(process.frames_command(source, [one], 1, [])) as call:
        return next(process.read_frames(call, (source.width, source.height)), None)


def _poster(frames: Iterator[Image.Image]) -> bytes | None:
    """Return the first frame that is not dark, small, as JPEG; the brightest of them where all are dark."""
    brightest, most = None, -1.0
    for frame in frames:
        brightness = ImageStat.Stat(frame.convert("L")).mean[0]
        if brightness > most:
            brightest, most = frame, brightness
        if brightness >= DARK:
            break
    if brightest is None:
        return None
    brightest.thumbnail(LARGEST)
    file = BytesIO()
    brightest.save(file, "JPEG", quality=QUALITY, optimize=True)
    return file.getvalue()
