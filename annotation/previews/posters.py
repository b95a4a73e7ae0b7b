"""Posters, small JPEGs that stand for a moment or a video: the middle frame, or where that is dark one that is not."""

from collections.abc import Iterable, Iterator
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


def brightest(posters: Iterable[bytes | None]) -> bytes | None:
    """Return the first of these posters that is not dark, the brightest where all are; None where there is none.

    They are made one after another, as far as is necessary.
    """
    best, most = None, -1.0
    for poster in posters:
        brightness = brightness_of(poster) if poster else -1.0
        if brightness > most:
            best, most = poster, brightness
        if brightness >= DARK:
            break
    return best


def brightness_of(poster: bytes) -> float:
    """Return the mean luminance of a poster, 0 to 255."""
    with Image.open(BytesIO(poster)) as image:
        return _mean(image)


def _mean(image: Image.Image) -> float:
    return ImageStat.Stat(image.convert("L")).mean[0]


def _poster(frames: Iterator[Image.Image]) -> bytes | None:
    """Return the first frame that is not dark, small, as JPEG; the brightest of them where all are dark."""
    best, most = None, -1.0
    for frame in frames:
        brightness = _mean(frame)
        if brightness > most:
            best, most = frame, brightness
        if brightness >= DARK:
            break
    if best is None:
        return None
    best.thumbnail(LARGEST)
    file = BytesIO()
    best.save(file, "JPEG", quality=QUALITY, optimize=True)
    return file.getvalue()
