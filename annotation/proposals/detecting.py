"""Finds the cuts of a video file with PySceneDetect: frames are decoded by PyAV in one thread, at a small size."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from annotation.previews.process import INPUT_LIMITS, MICROSECONDS, VideoUnreadable, open_source, url

logger = logging.getLogger(__name__)
DETECTOR = "adaptive"
PACKAGE = "scenedetect-headless"
THRESHOLD = 3.0  # the detector's own: a frame differs so many times as much as its neighbours do on average
SHORTEST_S = 0.5  # a shot lasts so long at least: a flash of light is no shot
WIDTH = 256  # pixels that frames are brought to, as PySceneDetect does by itself
USUAL_FPS = 25.0  # where the file does not say
REPORT_EVERY = 50  # frames
BROKEN_MAX = 8  # errors of decoding in a row, after which the rest of a file counts as broken
OnFrame = Callable[[float], None]  # seconds of the video that have been looked at


@dataclass(frozen=True)
class DetectedCut:
    """A cut: the number of the first frame of the next shot, counted from 0, and when it is shown, in seconds."""

    frame: int
    at_s: float


def detector_version() -> str:
    return version(PACKAGE)


def cuts_of(path: Path, *, threshold: float = THRESHOLD, on_frame: OnFrame = lambda second: None) -> list[DetectedCut]:
    """Return the cuts of the video file at ``path`` in the order of time; none where it is one shot.

    Args:
        threshold: how many times as much as its neighbours a frame must differ from the one before, above 0.
        on_frame: gets the second of the video that has been looked at, every 50 frames; what it raises ends the work.

    Raises:
        VideoUnreadable: the file is missing, corrupt, or has no video stream.

    Source: PySceneDetect, ``AdaptiveDetector``: mean differences of hue, saturation and brightness between frames,
    divided by their mean over two frames on either side.
    """
    from scenedetect import AdaptiveDetector, FrameTimecode  # with OpenCV 60 MB, which the web process does without

    source = open_source(path)
    fps = source.fps or USUAL_FPS
    detector = AdaptiveDetector(threshold, max(1, round(SHORTEST_S * fps)))  # frames that a shot has at least
    seconds: list[float] = []
    cuts: list[Any] = []
    try:
        for number, (second, picture) in enumerate(_small_frames(path, source.stream)):
            seconds.append(second)
            cuts += detector.process_frame(FrameTimecode(number, fps), picture)
            if number % REPORT_EVERY == 0:
                on_frame(second)
    except ValueError as error:  # of PyAV, too
        logger.info("cannot decode video %s: %s", path.name, error)
        raise VideoUnreadable("The frames of the video cannot be decoded.") from error
    frames = sorted({timecode.frame_num for timecode in cuts})
    return [DetectedCut(frame, round(seconds[frame], 3)) for frame in frames if 0 < frame < len(seconds)]


def _small_frames(path: Path, stream_index: int) -> Iterator[tuple[float, Any]]:
    """Yield the frames with the second each is shown at, as arrays [height, width, 3] of blue, green and red.

    Frames that cannot be decoded are left out; where there are many in a row, what follows them is.
    """
    import av
    from av.video.reformatter import VideoReformatter

    scaler = VideoReformatter()  # one for all frames: to set one up takes longer than to use it
    with av.open(url(path), options=INPUT_LIMITS) as container:
        stream = container.streams[stream_index]
        stream.codec_context.thread_count = 1
        stream.codec_context.options = {"skip_loop_filter": "all"}  # smooths edges: a tenth of the time, and no cut
        start_s = (container.start_time or 0) / MICROSECONDS
        shape: dict[str, Any] = {}
        for number, frame in enumerate(_frames(container, stream)):
            if not shape:
                width = min(WIDTH, frame.width)
                shape = {"width": width, "height": max(1, round(frame.height * width / frame.width))}
            second = number / USUAL_FPS if frame.time is None else frame.time - start_s
            picture = scaler.reformat(frame, **shape, format="bgr24", interpolation="FAST_BILINEAR")
            yield max(0.0, second), picture.to_ndarray()


def _frames(container: Any, stream: Any) -> Iterator[Any]:
    import av

    n_broken, frames = 0, container.decode(stream)
    while n_broken < BROKEN_MAX:
        try:
            frame = next(frames, None)
        except av.FFmpegError as error:
            n_broken, frames = n_broken + 1, container.decode(stream)
            logger.info("a frame of %s cannot be decoded: %s", container.name, error)
            continue
        if frame is None:
            return
        n_broken = 0
        yield frame
