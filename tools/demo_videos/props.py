"""Things: what people hold, and what moves or changes on the stage."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from tools.demo_videos.painter import Painter, Point

CARDBOARD, CARDBOARD_DARK = "#c98f4e", "#a06c33"


@dataclass(frozen=True)
class Prop:
    """A thing on the stage; ``state`` runs from 0 (closed, off, empty) to 1."""

    name: str
    x: float
    y: float = 0.0
    state: float = 0.0


def _cup(p: Painter, state: float) -> None:
    p.arc(11, 1, 7, 7, (0, 360), "#c8402f", 3)
    p.rect(-10, -11, 10, 12, "#e9573f", radius=3)
    p.rect(-10, 2, 10, 6, "#fff2d8")


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


def _newspaper(p: Painter, state: float) -> None:
    p.poly([(-16, -18), (16, -24), (18, 30), (-14, 32)], "#f4f1e6")
    p.poly([(16, -24), (46, -16), (46, 34), (18, 30)], "#ddd8c6")
    p.poly([(-12, 22), (15, 20), (15, 26), (-12, 28)], "#3a3a3a")
    p.poly([(20, 2), (42, 6), (43, 28), (21, 24)], "#8d8d85")
    for row in (14, 6, -2, -10):
        p.line([(-11, row), (13, row - 2)], "#8d8d85", 2)


def _phone(p: Painter, state: float) -> None:
    p.line([(-2, -10), (2, 22)], "#ff7a1a", 12)
    p.line([(-1, -6), (2, 18)], "#2a2f3a", 7)


def _box(p: Painter, state: float) -> None:
    p.rect(-28, -22, 28, 22, CARDBOARD)
    p.rect(-28, 12, 28, 22, CARDBOARD_DARK)
    p.rect(-6, -22, 6, 22, "#e8c98a")


def _bag(p: Painter, state: float) -> None:
    p.arc(0, 14, 13, 18, (180, 360), "#5b2167", 5)
    p.poly([(-22, 14), (22, 14), (27, -26), (-27, -26)], "#8e3aa0")
    p.rect(-22, -4, 22, 1, "#f0c2f5")


def _shoes(p: Painter, state: float) -> None:
    for shoe in (p.moved(8, 11), p.moved(-2, -6)):
        shoe.poly([(-13, -7), (-13, 9), (-3, 9), (6, 0), (16, -2), (17, -7)], "#d7263d")
        shoe.rect(-14, -10, 18, -6, "#fff7ee")
        shoe.line([(-3, 6), (5, 3)], "#fff7ee", 2)


def _hat(p: Painter, state: float) -> None:
    p.oval(0, 0, 33, 6, "#3b2a1e")
    p.rect(-19, 0, 19, 24, "#553d2b", radius=7)
    p.rect(-19, 1, 19, 8, "#e0b03a")


def _teddy(p: Painter, state: float) -> None:
    fur, light = "#b0713c", "#e7c08f"
    for dx, dy in ((-9, -18), (9, -18), (-14, 0), (14, 0)):
        p.disc(dx, dy, 7, fur)
    p.oval(0, -5, 14, 16, fur)
    p.oval(0, -6, 8, 10, light)
    for dx in (-10, 10):
        p.disc(dx, 30, 6, fur)
    p.disc(0, 20, 14, fur)
    p.oval(0, 16, 6, 5, light)
    for dx in (-5, 5):
        p.disc(dx, 24, 2, "#1d1410")


def _flowers(p: Painter, state: float) -> None:
    p.poly([(-4, -16), (4, -16), (16, 14), (-16, 14)], "#f2efe6")
    for dx, dy, colour in (
        (-13, 22, "#e84a6f"), (0, 28, "#f6c445"), (13, 22, "#e84a6f"), (-6, 15, "#f08a3c"), (7, 15, "#b85fd0"),
    ):  # fmt: skip
        x = dx * p.facing  # the bunch looks the same in everybody's hand
        p.line([(0, -4), (x, dy)], "#3b8f4a", 2)
        p.disc(x, dy, 8, colour)
        p.disc(x, dy, 3, "#fff3c4")


def _gift(p: Painter, state: float) -> None:
    p.rect(-19, -16, 19, 16, "#5a4fcf")
    p.rect(-5, -16, 5, 16, "#ffd447")
    p.rect(-19, -4, 19, 4, "#ffd447")
    for dx in (-8, 8):
        p.oval(dx, 20, 8, 5, "#ffd447")


def _can(p: Painter, state: float) -> None:
    drop = 14 * state
    p.line([(12, -10), (44, 14 - drop * 1.6)], "#2b7fa8", 6)
    p.disc(45, 15 - drop * 1.6, 6, "#22688a")
    p.rect(-18, -22 + drop * 0.3, 18, 8 + drop * 0.3, "#3a9cc9", radius=4)
    p.arc(-4, 6 + drop * 0.3, 16, 16, (180, 360), "#22688a", 4)


def _marker(p: Painter, state: float) -> None:
    p.line([(0, 0), (9, 7)], "#1f5fd1", 4)


def _door(p: Painter, state: float) -> None:
    """The doorway; its leaf is hinged on the left."""
    p.rect(-56, 0, 56, 232, "#f3ead9")
    p.rect(-48, 0, 48, 224, "#3a3140")
    p.rect(-48, 0, 48, 30, "#8d7a63")


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


THINGS: dict[str, Callable[[Painter, float], None]] = {
    "cup": _cup, "bottle": _bottle, "book": _book, "newspaper": _newspaper, "phone": _phone, "box": _box,
    "bag": _bag, "shoes": _shoes, "hat": _hat, "teddy": _teddy, "flowers": _flowers, "gift": _gift,
    "can": _can, "marker": _marker, "door": _door, "leaf": _leaf, "open_box": _open_box, "lamp": _lamp,
    "writing": _writing, "drops": _drops,
}  # fmt: skip


def draw_thing(painter: Painter, name: str, state: float = 0.0) -> None:
    """Paint a thing around the painter's origin: where a hand holds it, or where it stands."""
    THINGS[name](painter, state)


def draw_prop(painter: Painter, prop: Prop) -> None:
    """Paint one thing of the stage."""
    draw_thing(painter.moved(prop.x, prop.y), prop.name, prop.state)
