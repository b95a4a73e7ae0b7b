"""Things: what people hold, what moves or changes on the stage, and the stages themselves."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from annotation.demo.catalogue import PIECES, Camera
from tools.demo_videos.painter import HEIGHT, SUPERSAMPLE, WIDTH, Painter, Point, shade

DRAWINGS = tomllib.loads(Path(__file__).with_name("drawings.toml").read_text(encoding="utf-8"))
CARDBOARD, CARDBOARD_DARK = "#c98f4e", "#a06c33"


@dataclass(frozen=True)
class Prop:
    """A thing on the stage; ``state`` runs from 0 (closed, off, empty) to 1."""

    name: str
    x: float
    y: float = 0.0
    state: float = 0.0


def _bottle(p: Painter, state: float) -> None:
    tilt = math.radians(90 - 75 * state)
    ux, uy = -math.cos(tilt), math.sin(tilt)
    p.line([(-ux * 14, -uy * 14), (ux * 12, uy * 12)], "#2f9e6b", 17)
    p.line([(ux * 12, uy * 12), (ux * 28, uy * 28)], "#2f9e6b", 8)
    p.line([(-ux * 4, -uy * 4), (ux * 6, uy * 6)], "#f5f0dc", 17)


def _book(p: Painter, state: float) -> None:
    p.poly([(-6, -12), (14, -20), (18, 18), (-2, 24)], "#274690")
    p.poly([(14, -20), (36, -12), (40, 24), (18, 18)], "#3559b5")
    p.poly([(-4, -8), (14, -15), (17, 19), (0, 24)], "#fffaf0")
    p.poly([(14, -15), (33, -8), (36, 24), (17, 19)], "#f3ead6")
    if state:
        lift, tip = 30 * math.sin(math.pi * state), 30 - 34 * state
        p.poly([(14, -15), (tip, -10 + lift * 0.4), (tip + 2, 20 + lift * 0.4), (17, 19)], "#e6dcc2")


def _flowers(p: Painter, state: float) -> None:
    p.poly([(-4, -16), (4, -16), (16, 14), (-16, 14)], "#f2efe6")
    for dx, dy, colour in (
        (-13, 22, "#e84a6f"), (0, 28, "#f6c445"), (13, 22, "#e84a6f"), (-6, 15, "#f08a3c"), (7, 15, "#b85fd0"),
    ):  # fmt: skip
        x = dx * p.facing  # the bunch looks the same in everybody's hand
        p.line([(0, -4), (x, dy)], "#3b8f4a", 2)
        p.disc(x, dy, 8, colour)
        p.disc(x, dy, 3, "#fff3c4")


def _can(p: Painter, state: float) -> None:
    drop = 14 * state
    p.line([(12, -10), (44, 14 - drop * 1.6)], "#2b7fa8", 6)
    p.disc(45, 15 - drop * 1.6, 6, "#22688a")
    p.rect(-18, -22 + drop * 0.3, 18, 8 + drop * 0.3, "#3a9cc9", radius=4)
    p.arc(-4, 6 + drop * 0.3, 16, 16, (180, 360), "#22688a", 4)


def _leaf(p: Painter, state: float) -> None:
    """The leaf of a door; state 1 is wide open."""
    width, slant = 96 * math.cos(state * 1.35), 26 * math.sin(state * 1.35)
    p = p.moved(-48, 0)
    p.poly([(0, 0), (width, -slant), (width, 224 + slant * 0.4), (0, 224)], "#9b5a32")
    a, b = width * 0.18, width * 0.82
    for low, high in ((26, 100), (122, 204)):
        p.poly([(a, low - slant * 0.18), (b, low - slant * 0.8), (b, high), (a, high)], "#7d4424")
    p.disc(width * 0.9, 104 - slant * 0.5, 5, "#f2c94c")


def _open_box(p: Painter, state: float) -> None:
    """A box on a table; state 0 closed, 1 with both flaps folded out."""
    angle = math.radians(180 * state * 0.72)
    if state > 0.05:
        p.poly([(-36, 48), (36, 48), (30, 56), (-30, 56)], "#5f3f1c")
    p.rect(-36, 0, 36, 48, CARDBOARD)
    p.rect(-36, 40, 36, 48, CARDBOARD_DARK)
    p.rect(-7, 0, 7, 40, "#e8c98a")
    for side in (-1, 1):
        tip = (side * (36 - 36 * math.cos(angle)), 50 + 36 * math.sin(angle))
        p.line([(side * 36, 49), tip], "#b57c3e", 6)


def _lamp(p: Painter, state: float) -> None:
    on = state > 0.5
    if on:
        for r in (150, 125, 100, 78, 58):
            p.glow(0, 178, r, (255, 236, 150, 42))
    p.oval(0, 3, 24, 6, "#4a4542")
    p.line([(0, 4), (0, 160)], "#4a4542", 5)
    p.poly([(-20, 205), (20, 205), (34, 152), (-34, 152)], "#fff0a8" if on else "#8e7f77")
    p.line([(-14, 152), (-14, 132)], "#4a4542", 2)


def writing_tip(progress: float) -> Point:
    """Return where the pen is, from the start of the text, when ``progress`` (0 to 1) of it is written."""
    row, share = divmod(min(progress, 0.999) * 3, 1.0)
    return share * 40, -row * 24 + 6 * math.sin(share * 26)


def _writing(p: Painter, state: float) -> None:
    """Three short lines of handwriting on a board; state is the share written."""
    for row in range(3):
        steps = int(max(0.0, min(1.0, state * 3 - row)) * 24)
        if steps:
            p.line([writing_tip((row + min(step / 24, 0.99)) / 3) for step in range(steps + 1)], "#e8503a", 3)


def _drops(p: Painter, state: float) -> None:
    for row in range(5):
        fall = (row * 11 + state * 55) % 55
        for dx in (0, 7):
            p.oval(dx, -fall, 2, 4, "#5ec4f2")


CHANGING: dict[str, Callable[[Painter, float], None]] = {  # things that look otherwise in another state or hand
    "bottle": _bottle, "book": _book, "flowers": _flowers, "can": _can, "leaf": _leaf, "open_box": _open_box,
    "lamp": _lamp, "writing": _writing, "drops": _drops,
}  # fmt: skip


def draw_shapes(painter: Painter, shapes: Iterable[list[Any]], colours: Mapping[str, str] | None = None) -> None:
    """Paint shapes of ``drawings.toml``, with these colours for the names that stand in the place of one."""
    for kind, *values in shapes:
        if kind == "use":
            name, x, y, *own_colours = values
            draw_shapes(painter.moved(x, y), DRAWINGS["shapes"][name], *own_colours)
        else:
            colour_of = (colours or {}).get
            getattr(painter, kind)(*(colour_of(one, one) if isinstance(one, str) else one for one in values))


def draw_thing(painter: Painter, name: str, state: float = 0.0) -> None:
    """Paint a thing around the painter's origin: where a hand holds it, or where it stands."""
    if name in CHANGING:
        CHANGING[name](painter, state)
    else:
        draw_shapes(painter, DRAWINGS["shapes"][name])


def draw_prop(painter: Painter, prop: Prop) -> None:
    """Paint one thing of the stage."""
    draw_thing(painter.moved(prop.x, prop.y), prop.name, prop.state)


WALL = 34.0  # height at which the floor meets the wall, behind the people
LEFT, RIGHT = -700.0, 1760.0  # further than any camera looks
TABLE_TOP = 78.0
STAGES = DRAWINGS["places"]  # each drawn once per camera: wall, floor, furniture and what hangs about


def draw_stage(stage_name: str, camera: Camera) -> Image.Image:
    """Return the empty place as a supersampled RGB picture."""
    stage = STAGES[stage_name]
    wall, low, floor = stage["wall"], stage["low"], stage["floor"]
    image = Image.new("RGB", (WIDTH * SUPERSAMPLE, HEIGHT * SUPERSAMPLE), wall)
    p = Painter(image, camera)
    p.rect(LEFT, WALL, RIGHT, 120, low)
    p.rect(LEFT, 118, RIGHT, 124, shade(low, 0.86))
    p.rect(LEFT, -80, RIGHT, WALL, floor)
    p.rect(LEFT, WALL, RIGHT, WALL + 8, shade(wall, 0.7))
    for x in range(int(LEFT), int(RIGHT), 90):
        p.line([(x - 30, -60), (x, WALL - 1)], shade(floor, 0.93), 2)
    for name, y in (("door", WALL - 4), ("leaf", WALL - 4), ("lamp", 0.0), ("plant", 0.0)):
        draw_prop(p, Prop(name, PIECES["door" if name == "leaf" else name], y))
    draw_shapes(p, stage["shapes"])
    return image
