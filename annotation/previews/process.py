"""Plans which instants are shown, looks into video files, runs ffmpeg; the only user of ffmpeg-python and the binary.

Times are counted in ticks.
"""

import logging
import math
import os
import re
import select
import subprocess
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import ffmpeg
from imageio_ffmpeg import get_ffmpeg_exe
from PIL import Image

from core.exceptions import MomentJudgeError

MICROSECONDS = 1_000_000  # a second, as containers count
FRAMES_PER_S = 3
END_SLACK_S = 1.0  # a moment may end this much after its video: annotations round
TICKS_PER_S = 300  # holds hundredths of a second and thirds exactly
TICKS_PER_FRAME = TICKS_PER_S // FRAMES_PER_S

PASS_MAX = 20  # moments in one pass: each MP4 takes ffmpeg about 12 MB at 854x480
PASS_GAP_S = 20.0  # unwanted video that is cheaper to decode than a new process
OPEN_FRAMES_MAX = 400  # frames of open moments a pass may hold: 490 MB at 854x480
LONG_FRAMES = 90  # 30 s; a longer moment is cut by itself
PALETTE_SAMPLES = 6  # frames the colours are taken from


@dataclass(frozen=True)
class Cut:
    """One distinct stretch of video, the ticks it shows, and the spans that asked for it."""

    ticks: range
    indexes: tuple[int, ...]


def fault_of(start_s: float, end_s: float, duration_s: float) -> str | None:
    """Why this span cannot be cut from a video of ``duration_s`` seconds, or None."""
    if not (math.isfinite(start_s) and math.isfinite(end_s)):
        return "Its start or end is not a number of seconds."
    if start_s >= end_s:
        return f"It starts at {start_s:g} s and ends at {end_s:g} s: its end must come after its start."
    if start_s < 0:
        return f"It starts at {start_s:g} s, before the video does."
    if start_s >= duration_s:
        return f"It starts at {start_s:g} s, but the video is only {duration_s:.2f} s long."
    if end_s > duration_s + END_SLACK_S:
        return f"It ends at {end_s:g} s, but the video is only {duration_s:.2f} s long."
    return None


def ticks_of(start_s: float, end_s: float) -> range:
    """The ticks of a moment's frames; at least one."""
    first = math.floor(start_s * TICKS_PER_S + 1e-6)  # down: the tick must lie inside the video
    return range(first, max(first + 1, round(end_s * TICKS_PER_S)), TICKS_PER_FRAME)


def groups_of(cuts: Iterable[Cut]) -> Iterator[list[Cut]]:
    """Gather cuts, given by start, that one pass can serve without holding too much or decoding for nothing."""
    group: list[Cut] = []
    for segment in cuts:
        if len(segment.ticks) > LONG_FRAMES:
            yield [segment]  # a long moment is cheaper on memory by itself
            continue
        if group:
            n_open_frames = sum(len(other.ticks) for other in group if other.ticks[-1] >= segment.ticks[0])
            gap = segment.ticks[0] - max(other.ticks[-1] for other in group)
            fits = (
                len(group) < PASS_MAX
                and n_open_frames + len(segment.ticks) <= OPEN_FRAMES_MAX
                and gap <= PASS_GAP_S * TICKS_PER_S
            )
            if not fits:
                yield group
                group = []
        group.append(segment)
    if group:
        yield group


def encode_gif(frames: Sequence[Image.Image]) -> bytes:
    """The frames as one looping GIF with one palette; nothing for no frames.

    The octree palette without dithering is what Pillow does fastest, and beside ffmpeg's it looks the same but for
    faint bands in the sky; dithering by Floyd-Steinberg flickers between frames and makes the file half as large again.
    """
    if not frames:
        return b""
    # the palette is that of a few frames at half size, one below the other
    samples = frames[:: math.ceil(len(frames) / PALETTE_SAMPLES)]
    width, height = (max(1, side // 2) for side in frames[0].size)
    mosaic = Image.new("RGB", (width, height * len(samples)))
    for row, frame in enumerate(samples):
        mosaic.paste(frame.resize((width, height)), (0, row * height))
    palette = mosaic.quantize(255, method=Image.Quantize.FASTOCTREE)  # one left to mean "as before"
    first, *rest = (frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames)
    file = BytesIO()
    first.save(file, "GIF", save_all=True, append_images=rest, duration=round(1000 / FRAMES_PER_S), loop=0)
    return file.getvalue()


MAX_HEIGHT = 480  # lines of a preview

# Containers only: a playlist posing as a video could make ffmpeg open other files or addresses.
INPUT_LIMITS = {"format_whitelist": "mov,matroska,avi,mpegts,mpeg,flv,ogg,asf", "protocol_whitelist": "file"}
PIXELS = ("yuv420p", "yuvj420p")
PLAYABLE: tuple[tuple[Collection[str], ...], ...] = (  # endings, codecs of the picture, of the sound
    ({".mp4", ".m4v", ".mov"}, {"h264"}, {"aac", "mp3", "mp3float"}),
    ({".webm"}, {"vp8", "vp9", "av1", "libdav1d"}, {"opus", "vorbis"}),
)
TEXT_CODECS = {"ass", "mov_text", "srt", "ssa", "subrip", "text", "webvtt"}  # of subtitles
CLOCK = re.compile(r"(\d+):(\d+):(\d+(?:\.\d+)?)")
SUBTITLE_BYTES = 32 << 20  # of a file's subtitles; more is no speech


class VideoUnreadable(MomentJudgeError):
    """The file is missing, corrupt, or shows no picture; the message says which in plain words."""


@dataclass(frozen=True)
class Source:
    """One readable video: where it lies, which of its streams is the picture, its length, the size of its previews.

    ``fps`` is None where the file does not say it, ``subtitles`` where no stream of it holds speech as text.
    """

    path: Path
    stream: int
    duration_s: float
    width: int
    height: int
    fps: float | None = None
    subtitles: int | None = None
    codec: str = ""
    pixels: str = ""
    sound_codec: str = ""  # empty: no sound

    def plays_in_browsers(self, suffix: str) -> bool:
        """Whether each large browser plays it from a file of this ending."""
        return any(
            suffix.lower() in suffixes
            and self.codec in codecs
            and self.pixels in PIXELS
            and (not self.sound_codec or self.sound_codec in sounds)
            for suffixes, codecs, sounds in PLAYABLE
        )


def open_source(path: Path) -> Source:
    """Say what the video at ``path`` is, after decoding its first frame. Raises VideoUnreadable where the file is
    missing, corrupt, or has no video stream."""
    if not path.is_file():
        raise VideoUnreadable("The video file does not exist.")
    import av  # 18 MB, which the web process does without

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
    lines = max(2, min(MAX_HEIGHT, height) // 2 * 2)  # even, as is the width; never larger than the video, aspect kept
    across = min(width // 2, round(width * lines / height / 2)) * 2
    rate = stream.average_rate or stream.guessed_rate
    fps = float(rate) if rate else None
    duration_s = _duration_s(container, stream)
    sounds = [one.name for one in container.streams.audio]
    codecs = {"codec": stream.name, "pixels": str(stream.codec_context.pix_fmt), "sound_codec": "".join(sounds[:1])}
    size = (max(2, across), lines)
    return Source(path, stream.index, duration_s, *size, fps, _subtitle_stream(container), **codecs)


def _subtitle_stream(container: Any) -> int | None:
    """The stream of subtitles that players show by themselves, or else the first; pictures of text do not count."""
    streams = [stream for stream in container.streams.subtitles if stream.name in TEXT_CODECS]
    shown_first = sorted(streams, key=lambda stream: not stream.disposition & stream.disposition.default)
    return shown_first[0].index if shown_first else None


def _duration_s(container: Any, stream: Any) -> float:
    """The length of the picture in seconds: as stated, or else (a recording never closed) by its last packet.

    Matroska states that of its longest stream, which may be the subtitles, and that of each stream as text.
    """
    if stream.duration is not None:
        return float(stream.duration * stream.time_base)
    if match := CLOCK.fullmatch(stream.metadata.get("DURATION", "")):
        hours, minutes, seconds = map(float, match.groups())
        return 3600 * hours + 60 * minutes + seconds
    if container.duration is not None:
        return float(container.duration / MICROSECONDS)
    ends = (p.pts + (p.duration or 0) for p in container.demux(stream) if p.pts is not None)
    return float(max(ends, default=0) * stream.time_base)


def url(path: Path) -> str:
    """The file as ffmpeg must get it: absolute and marked, so that no name reads as an option or address."""
    return f"file:{path.absolute()}"


logger = logging.getLogger(__name__)

STALL_S = 120.0  # ffmpeg silent for this long is taken for hung
PASSED = {"fps_mode": "passthrough", "threads": 1}  # every frame is written as it comes

# The MP4: a key frame every second, and no frame that depends on a later one, so that seeking is quick and exact.
MP4_OPTIONS = {
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

# The copy for players: a key frame every second, its index first, so that it begins at once and seeks exactly.
PLAYBACK_OPTIONS = {
    "format": "mp4",
    "vcodec": "libx264",
    "preset": "veryfast",
    "crf": 23,
    "force_key_frames": "expr:gte(t,n_forced)",
    "acodec": "aac",
    "audio_bitrate": "96k",
    "ac": 2,
    "threads": 1,
    "movflags": "+faststart",
    "map_metadata": -1,
    "map_chapters": -1,
}


def gif_command(source: Source, segment: Cut, mp4_paths: Sequence[Path]) -> list[str]:
    """ffmpeg writes one moment to standard output as a GIF, and to the one file of ``mp4_paths`` as an MP4."""
    count = len(segment.ticks)
    # One frame more than wanted: the palette is done when the frame after its last arrives.
    longer = range(segment.ticks[0], segment.ticks[-1] + TICKS_PER_FRAME + 1, TICKS_PER_FRAME)
    timed = _timed(_wanted(source, [longer])).split()
    palette = timed[0].filter("trim", end_frame=min(count, LONG_FRAMES)).filter("palettegen")
    picture = ffmpeg.filter([timed[1], palette], "paletteuse", dither="bayer", bayer_scale=5, diff_mode="rectangle")
    delay = round(100 / FRAMES_PER_S)
    gif = picture.output("pipe:", vframes=count, format="gif", loop=0, final_delay=delay, **PASSED)
    return _command(gif, *(_mp4_output(timed[2], count, mp4_path) for mp4_path in mp4_paths))


def frames_command(source: Source, group: list[Cut], count: int, mp4_paths: Sequence[Path]) -> list[str]:
    """ffmpeg writes the ``count`` wanted frames to standard output, one after the other, 3 bytes a pixel.

    It writes each moment to its file of ``mp4_paths`` too (none: to no file), an MP4 that is whole when it has ended.
    """
    branches = _wanted(source, [segment.ticks for segment in group]).split()
    frames = branches[0].output("pipe:", vframes=count, format="rawvideo", pix_fmt="rgb24", **PASSED)
    offset = _begin_s(group[0].ticks) * TICKS_PER_S
    parts = [
        _mp4_output(
            _timed(branches[number].filter("select", _chosen("pts", segment.ticks, offset))),
            len(segment.ticks),
            mp4_path,
        )
        for number, (segment, mp4_path) in enumerate(zip(group, mp4_paths, strict=False), start=1)
    ]
    return _command(frames, *parts)


def playback_write(source: Source, path: Path) -> bool:
    """Write a copy of the video that browsers play, at most 480 lines, and say whether ffmpeg wrote it to the end."""
    whole = ffmpeg.input(url(source.path), threads=1, **INPUT_LIMITS)
    picture = whole[str(source.stream)].filter("scale", source.width, source.height).filter("setsar", 1)
    streams = [picture.filter("format", "yuv420p"), *([whole["a:0"]] if source.sound_codec else [])]
    copy = ffmpeg.output(*streams, url(path), **PLAYBACK_OPTIONS).global_args("-progress", "pipe:1")
    with running(_command(copy)) as call:
        for _ in read_chunks(call):
            pass  # how far it is: only its silence matters
        return ends_well(call)


def subtitles_of(source: Source) -> str:
    """The subtitles of the video as the text of an .srt file; empty where it has none."""
    if source.subtitles is None:
        return ""
    stream = ffmpeg.input(url(source.path), **INPUT_LIMITS)[str(source.subtitles)]
    text = bytearray()
    with running(_command(stream.output("pipe:", format="srt"))) as call:
        for chunk in read_chunks(call):
            text += chunk
            if len(text) > SUBTITLE_BYTES:
                break
    return text.decode("utf-8", "replace")


def _wanted(source: Source, spans: list[range]) -> Any:
    """The frames on screen at the ticks of ``spans`` (the earliest first), in order of time, at preview size."""
    begin_s = _begin_s(spans[0])
    condition = "+".join(_chosen("n", ticks, begin_s * TICKS_PER_S) for ticks in spans)
    # Not accurate: the key frame before is kept too, so that a frame already on screen at the start is known.
    picture = ffmpeg.input(url(source.path), ss=begin_s, noaccurate_seek=None, threads=1, **INPUT_LIMITS)
    return (
        picture[str(source.stream)]
        .filter("fps", fps=TICKS_PER_S, round="up", start_time=0)  # up: a tick never shows a frame that is yet to come
        .filter("select", condition)
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


def _mp4_output(picture: Any, count: int, path: Path) -> Any:
    """``count`` frames of ``picture`` as an MP4 in colours that browsers show alike."""
    coloured = picture.filter("scale", out_color_matrix="bt709", out_range="tv").filter("format", "yuv420p")
    return coloured.output(url(path), vframes=count, **MP4_OPTIONS)


def _command(*outputs: Any) -> list[str]:
    """The words of the call; ffmpeg stops reading when every output has its frames."""
    flags = ("-nostdin", "-hide_banner", "-loglevel", "quiet", "-filter_complex_threads", "1")
    graph = ffmpeg.merge_outputs(*outputs).global_args(*flags)
    return [str(word) for word in graph.compile(cmd=get_ffmpeg_exe())]


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
    """Yield the output of the process until it ends or falls silent; the time its reader takes is not counted."""
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
