"""From a scripted episode to its video: H.264, 640x360, 12 frames a second."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import av
import numpy as np
from av.video.reformatter import Interpolation, VideoReformatter
from PIL import Image, ImageDraw, ImageFont

from annotation.demo.catalogue import Camera
from annotation.demo.script import FPS, Beat, Episode
from tools.demo_videos.actions import Part, Tableau, play
from tools.demo_videos.figures import Figure, draw_figure, draw_near_arm, upright
from tools.demo_videos.painter import HEIGHT, SUPERSAMPLE, WIDTH, Painter
from tools.demo_videos.props import draw_prop, draw_stage

ENCODER = {"preset": "slow", "crf": "28"}  # 10 MB for the 40 videos that are shipped
KEYFRAME_EVERY = 96  # frames
REACH = (95.0, 90.0, -22.0, 245.0)  # a person's room: left, right, below and above the feet, stage units
PROP_REACH = {
    "door": (64.0, 64.0, -40.0, 242.0), "leaf": (64.0, 64.0, -40.0, 242.0), "lamp": (155.0, 155.0, -10.0, 335.0),
}  # fmt: skip
SMALL_REACH = (80.0, 80.0, -60.0, 95.0)
TALK_RATE = 6.0  # poses per second of people who only talk


class _Shot:
    """One camera on one place: the empty stage is drawn once, then only what people and things cover."""

    def __init__(self, stage_name: str, camera: Camera) -> None:
        self.camera = camera
        self.stage = draw_stage(stage_name, camera)
        self.empty = self.stage.reduce(SUPERSAMPLE)

    def picture(self, tableau: Tableau) -> Image.Image:
        """Return the frame with the tableau on the stage."""
        frame = self.empty.copy()
        area = self._area(tableau)
        if area is None:
            return frame
        x_left, top, right, bottom = (edge * SUPERSAMPLE for edge in area)
        patch = self.stage.crop((x_left, top, right, bottom))
        painter = Painter(patch, self.camera, corner=(x_left, top))
        for prop in tableau.behind:
            draw_prop(painter, prop)
        for figure in tableau.people:
            draw_figure(painter, figure)
        for prop in tableau.before:
            draw_prop(painter, prop)
        for figure in tableau.arms:
            draw_near_arm(painter, figure)
        frame.paste(patch.reduce(SUPERSAMPLE), area[:2])
        return frame

    def _area(self, tableau: Tableau) -> tuple[int, int, int, int] | None:
        """Return the part of the frame that the tableau can touch, in pixels; None when it is out of sight."""
        rooms = [(figure.x, figure.y, REACH) for figure in tableau.people]
        for prop in (*tableau.behind, *tableau.before):
            rooms.append((prop.x, prop.y, PROP_REACH.get(prop.name, SMALL_REACH)))
        boxes = [box for room in rooms if (box := self._pixels(*room))[0] < box[2] and box[1] < box[3]]
        if not boxes:
            return None
        lefts, tops, rights, bottoms = zip(*boxes, strict=True)
        return min(lefts), min(tops), max(rights), max(bottoms)

    def _pixels(self, x: float, y: float, reach: tuple[float, float, float, float]) -> tuple[int, int, int, int]:
        painter, (left_of, right_of, below, above) = Painter(self.empty, self.camera), reach
        (ax, ay), (bx, by) = painter.at((x - left_of, y + below)), painter.at((x + right_of, y + above))
        x_left, right = sorted((int(ax) // SUPERSAMPLE, int(bx) // SUPERSAMPLE + 1))
        top, bottom = sorted((int(ay) // SUPERSAMPLE, int(by) // SUPERSAMPLE + 1))
        return max(x_left, 0), max(top, 0), min(right, WIDTH), min(bottom, HEIGHT)


def _tableau(episode: Episode, beat: Beat, now: float, speaking: bool) -> Tableau:
    """Return what is on the stage at second ``now`` of the episode."""
    if beat.action == "talk":
        now = beat.start_s + int((now - beat.start_s) * TALK_RATE) / TALK_RATE
    t = min((now - beat.start_s) / (beat.end_s - beat.start_s), 1.0)
    tableau = play(beat.action, Part(t, episode.cast[beat.actor], episode.cast[beat.partner], beat.item))
    people = tableau.people
    if speaking:
        actor, mouth = episode.cast[beat.actor], "open" if int(now * 6) % 2 == 0 else "smile"
        people = tuple(
            replace(figure, pose=replace(figure.pose, mouth=mouth)) if figure.who == actor else figure
            for figure in tableau.people
        )
    # bystanders are in the middle of the picture while the action is at its side
    positions = zip(beat.bystanders, ((beat.camera.x - 50, 1), (beat.camera.x + 62, -1)), strict=False)
    bystanders = [Figure(episode.cast[index], x, upright(facing)) for index, (x, facing) in positions]
    return replace(tableau, people=(*bystanders, *people))


@cache
def _subtitle(text: str) -> Image.Image:
    """Return white words with a dark rim on a transparent strip as wide as the video."""
    strip = Image.new("RGBA", (WIDTH, 34), (0, 0, 0, 0))
    font = ImageFont.load_default(21)
    ImageDraw.Draw(strip).text(
        (WIDTH / 2, 17), text, fill="#ffffff", font=font, anchor="mm", stroke_width=2, stroke_fill="#101010"
    )
    return strip


def _frames(episode: Episode) -> Iterator[av.VideoFrame]:
    """Yield the frames as YUV; the stage is drawn once for each shot, and a picture that comes again in it, too."""
    to_yuv = VideoReformatter()  # kept: a new one for every frame costs more than the drawing
    shot_beat: Beat | None = None
    for number in range(round(episode.duration_s * FPS)):
        now = number / FPS
        beat = next(beat for beat in reversed(episode.beats) if beat.start_s <= now + 1e-6)
        if beat is not shot_beat:
            shot_beat, shot = beat, _Shot(episode.location, beat.camera)
            frames: dict[tuple[Tableau, str], av.VideoFrame] = {}
        subtitle = next((line.text for line in episode.subtitles if line.start_s <= now < line.end_s), "")
        tableau = _tableau(episode, beat, now, bool(subtitle))
        if (tableau, subtitle) not in frames:
            picture = shot.picture(tableau)
            if subtitle:
                picture.paste(_subtitle(subtitle), (0, HEIGHT - 38), _subtitle(subtitle))
            frame = av.VideoFrame.from_ndarray(np.asarray(picture), format="rgb24")
            frames[tableau, subtitle] = to_yuv.reformat(
                frame, format="yuv420p", interpolation=Interpolation.FAST_BILINEAR, threads=1
            )
        yield frames[tableau, subtitle]


def render_episode(episode: Episode, path: Path) -> None:
    """Write the episode's video to ``path``, in a folder that exists; nothing is left there when it fails."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        _encode(episode, unfinished)
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def _encode(episode: Episode, path: Path) -> None:
    with av.open(str(path), "w", format="mp4", options={"movflags": "faststart"}) as container:
        stream = container.add_stream("libx264", rate=FPS, options=ENCODER)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        stream.gop_size, stream.thread_count = KEYFRAME_EVERY, 1
        for number, frame in enumerate(_frames(episode)):
            frame.pts = number
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
