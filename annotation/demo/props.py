"""Things: what people hold, and what moves or changes on the stage."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from annotation.demo.painter import Painter, Point

CARD, CARD_DARK = "#c98f4e", "#a06c33"


@dataclass(frozen=True)
class Prop:
    """A thing on the stage; ``state`` runs from 0 (closed, off, empty) to 1."""

    name: str
    x: float
    y: float = 0.0
    state: float = 0.0
    facing: int = 1


def _cup(p: Painter, x: float, y: float, f: int, state: float) -> None:
    p.arc(x + 11 * f, y + 1, 7, 7, (0, 360), "#c8402f", 3)
    p.rect(x - 10, y - 11, x + 10, y + 12, "#e9573f", radius=3)
    p.rect(x - 10, y + 2, x + 10, y + 6, "#fff2d8")


def _bottle(p: Painter, x: float, y: float, f: int, state: float) -> None:
    tilt = math.radians(90 - 75 * state) if state else math.radians(90)
    ux, uy = math.cos(tilt) * -f, math.sin(tilt)
    p.line([(x - ux * 14, y - uy * 14), (x + ux * 12, y + uy * 12)], "#2f9e6b", 17)
    p.line([(x + ux * 12, y + uy * 12), (x + ux * 28, y + uy * 28)], "#2f9e6b", 8)
    p.line([(x - ux * 4, y - uy * 4), (x + ux * 6, y + uy * 6)], "#f5f0dc", 17)


def _book(p: Painter, x: float, y: float, f: int, state: float) -> None:
    p.poly([(x - 6 * f, y - 12), (x + 14 * f, y - 20), (x + 18 * f, y + 18), (x - 2 * f, y + 24)], "#274690")
    p.poly([(x + 14 * f, y - 20), (x + 36 * f, y - 12), (x + 40 * f, y + 24), (x + 18 * f, y + 18)], "#3559b5")
    p.poly([(x - 4 * f, y - 8), (x + 14 * f, y - 15), (x + 17 * f, y + 19), (x, y + 24)], "#fffaf0")
    p.poly([(x + 14 * f, y - 15), (x + 33 * f, y - 8), (x + 36 * f, y + 24), (x + 17 * f, y + 19)], "#f3ead6")
    if state:
        lift = 30 * math.sin(math.pi * state)
        tip = x + (30 - 34 * state) * f
        p.poly(
            [
                (x + 14 * f, y - 15),
                (tip, y - 10 + lift * 0.4),
                (tip + 2 * f, y + 20 + lift * 0.4),
                (x + 17 * f, y + 19),
            ],
            "#e6dcc2",
        )


def _newspaper(p: Painter, x: float, y: float, f: int, state: float) -> None:
    p.poly([(x - 16 * f, y - 18), (x + 16 * f, y - 24), (x + 18 * f, y + 30), (x - 14 * f, y + 32)], "#f4f1e6")
    p.poly([(x + 16 * f, y - 24), (x + 46 * f, y - 16), (x + 46 * f, y + 34), (x + 18 * f, y + 30)], "#ddd8c6")
    p.poly([(x - 12 * f, y + 22), (x + 15 * f, y + 20), (x + 15 * f, y + 26), (x - 12 * f, y + 28)], "#3a3a3a")
    p.poly([(x + 20 * f, y + 2), (x + 42 * f, y + 6), (x + 43 * f, y + 28), (x + 21 * f, y + 24)], "#8d8d85")
    for row in (14, 6, -2, -10):
        p.line([(x - 11 * f, y + row), (x + 13 * f, y + row - 2)], "#8d8d85", 2)


def _phone(p: Painter, x: float, y: float, f: int, state: float) -> None:
    p.line([(x - 2 * f, y - 10), (x + 2 * f, y + 22)], "#ff7a1a", 12)
    p.line([(x - 1 * f, y - 6), (x + 2 * f, y + 18)], "#2a2f3a", 7)


def _box(p: Painter, x: float, y: float, f: int, state: float) -> None:
    p.rect(x - 28, y - 22, x + 28, y + 22, CARD)
    p.rect(x - 28, y + 12, x + 28, y + 22, CARD_DARK)
    p.rect(x - 6, y - 22, x + 6, y + 22, "#e8c98a")


def _bag(p: Painter, x: float, y: float, f: int, state: float) -> None:
    p.arc(x, y + 14, 13, 18, (180, 360), "#5b2167", 5)
    p.poly([(x - 22, y + 14), (x + 22, y + 14), (x + 27, y - 26), (x - 27, y - 26)], "#8e3aa0")
    p.rect(x - 22, y - 4, x + 22, y + 1, "#f0c2f5")


def _shoe(p: Painter, x: float, y: float, f: int) -> None:
    p.poly(
        [
            (x - 13 * f, y - 7),
            (x - 13 * f, y + 9),
            (x - 3 * f, y + 9),
            (x + 6 * f, y),
            (x + 16 * f, y - 2),
            (x + 17 * f, y - 7),
        ],
        "#d7263d",
    )
    p.rect(x - 14, y - 10, x + 18 if f > 0 else x + 14, y - 6, "#fff7ee")
    p.line([(x - 3 * f, y + 6), (x + 5 * f, y + 3)], "#fff7ee", 2)


def _shoes(p: Painter, x: float, y: float, f: int, state: float) -> None:
    _shoe(p, x + 8 * f, y + 11, f)
    _shoe(p, x - 2 * f, y - 6, f)


def _hat(p: Painter, x: float, y: float, f: int, state: float) -> None:
    p.oval(x, y, 33, 6, "#3b2a1e")
    p.rect(x - 19, y, x + 19, y + 24, "#553d2b", radius=7)
    p.rect(x - 19, y + 1, x + 19, y + 8, "#e0b03a")


def _teddy(p: Painter, x: float, y: float, f: int, state: float) -> None:
    fur, light = "#b0713c", "#e7c08f"
    for dx, dy in ((-9, -18), (9, -18), (-14, 0), (14, 0)):
        p.disc(x + dx, y + dy, 7, fur)
    p.oval(x, y - 5, 14, 16, fur)
    p.oval(x, y - 6, 8, 10, light)
    for dx in (-10, 10):
        p.disc(x + dx, y + 30, 6, fur)
    p.disc(x, y + 20, 14, fur)
    p.oval(x, y + 16, 6, 5, light)
    for dx in (-5, 5):
        p.disc(x + dx, y + 24, 2, "#1d1410")


def _flowers(p: Painter, x: float, y: float, f: int, state: float) -> None:
    p.poly([(x - 4, y - 16), (x + 4, y - 16), (x + 16, y + 14), (x - 16, y + 14)], "#f2efe6")
    for dx, dy, colour in (
        (-13, 22, "#e84a6f"),
        (0, 28, "#f6c445"),
        (13, 22, "#e84a6f"),
        (-6, 15, "#f08a3c"),
        (7, 15, "#b85fd0"),
    ):
        p.line([(x, y - 4), (x + dx, y + dy)], "#3b8f4a", 2)
        p.disc(x + dx, y + dy, 8, colour)
        p.disc(x + dx, y + dy, 3, "#fff3c4")


def _gift(p: Painter, x: float, y: float, f: int, state: float) -> None:
    p.rect(x - 19, y - 16, x + 19, y + 16, "#5a4fcf")
    p.rect(x - 5, y - 16, x + 5, y + 16, "#ffd447")
    p.rect(x - 19, y - 4, x + 19, y + 4, "#ffd447")
    for dx in (-8, 8):
        p.oval(x + dx, y + 20, 8, 5, "#ffd447")


def _can(p: Painter, x: float, y: float, f: int, state: float) -> None:
    drop = 14 * state
    p.line([(x + 12 * f, y - 10), (x + 44 * f, y + 14 - drop * 1.6)], "#2b7fa8", 6)
    p.disc(x + 45 * f, y + 15 - drop * 1.6, 6, "#22688a")
    p.rect(x - 18, y - 22 + drop * 0.3, x + 18, y + 8 + drop * 0.3, "#3a9cc9", radius=4)
    p.arc(x - 4 * f, y + 6 + drop * 0.3, 16, 16, (180, 360), "#22688a", 4)


def _marker(p: Painter, x: float, y: float, f: int, state: float) -> None:
    p.line([(x, y), (x + 9 * f, y + 7)], "#1f5fd1", 4)


ITEMS: dict[str, Callable[[Painter, float, float, int, float], None]] = {
    "cup": _cup, "bottle": _bottle, "book": _book, "newspaper": _newspaper, "phone": _phone, "box": _box,
    "bag": _bag, "shoes": _shoes, "hat": _hat, "teddy": _teddy, "flowers": _flowers, "gift": _gift,
    "can": _can, "marker": _marker,
}  # fmt: skip


def draw_item(painter: Painter, name: str, at: Point, facing: int, state: float) -> None:
    """Paint a thing around the point where a hand holds it."""
    ITEMS[name](painter, at[0], at[1], facing, state)


def _door(p: Painter, prop: Prop) -> None:
    """The doorway and, hinged on its left, the leaf; state 1 is wide open."""
    x, y = prop.x, prop.y
    p.rect(x - 56, y, x + 56, y + 232, "#f3ead9")
    p.rect(x - 48, y, x + 48, y + 224, "#3a3140")
    p.rect(x - 48, y, x + 48, y + 30, "#8d7a63")


def _leaf(p: Painter, prop: Prop) -> None:
    x, y = prop.x - 48, prop.y
    width, slant = 96 * math.cos(prop.state * 1.35), 26 * math.sin(prop.state * 1.35)
    p.poly([(x, y), (x + width, y - slant), (x + width, y + 224 + slant * 0.4), (x, y + 224)], "#9b5a32")
    for low, high in ((26, 100), (122, 204)):
        a, b = x + width * 0.18, x + width * 0.82
        p.poly([(a, y + low - slant * 0.18), (b, y + low - slant * 0.8), (b, y + high), (a, y + high)], "#7d4424")
    p.disc(x + width * 0.9, y + 104 - slant * 0.5, 5, "#f2c94c")


def _open_box(p: Painter, prop: Prop) -> None:
    """A box on a table; state 0 closed, 1 with both flaps folded out."""
    x, y, flap = prop.x, prop.y, prop.state
    angle = math.radians(180 * flap * 0.72)
    if flap > 0.05:
        p.poly([(x - 36, y + 48), (x + 36, y + 48), (x + 30, y + 56), (x - 30, y + 56)], "#5f3f1c")
    p.rect(x - 36, y, x + 36, y + 48, CARD)
    p.rect(x - 36, y + 40, x + 36, y + 48, CARD_DARK)
    p.rect(x - 7, y, x + 7, y + 40, "#e8c98a")
    for side in (-1, 1):
        tip = (x + side * (36 - 36 * math.cos(angle)), y + 50 + 36 * math.sin(angle))
        p.line([(x + side * 36, y + 49), tip], "#b57c3e", 6)


def _lamp(p: Painter, prop: Prop) -> None:
    x, y, on = prop.x, prop.y, prop.state > 0.5
    if on:
        for r in (150, 125, 100, 78, 58):
            p.glow(x, y + 178, r, (255, 236, 150, 42))
    p.oval(x, y + 3, 24, 6, "#4a4542")
    p.line([(x, y + 4), (x, y + 160)], "#4a4542", 5)
    p.poly([(x - 20, y + 205), (x + 20, y + 205), (x + 34, y + 152), (x - 34, y + 152)], "#fff0a8" if on else "#8e7f77")
    p.line([(x - 14, y + 152), (x - 14, y + 132)], "#4a4542", 2)


def writing_tip(done: float) -> Point:
    """Return where the pen is, from the start of the text, when ``done`` (0 to 1) of it is written."""
    row, share = divmod(min(done, 0.999) * 3, 1.0)
    return share * 40, -row * 24 + 6 * math.sin(share * 26)


def _writing(p: Painter, prop: Prop) -> None:
    """Three short lines of handwriting on a board; state is the share written."""
    for row in range(3):
        steps = int(max(0.0, min(1.0, prop.state * 3 - row)) * 24)
        tips = [writing_tip((row + min(step / 24, 0.99)) / 3) for step in range(steps + 1)]
        if steps:
            p.line([(prop.x + x, prop.y + y) for x, y in tips], "#e8503a", 3)


def _drops(p: Painter, prop: Prop) -> None:
    for row in range(5):
        fall = (row * 11 + prop.state * 55) % 55
        for dx in (0, 7):
            p.oval(prop.x + dx, prop.y - fall, 2, 4, "#5ec4f2")


def _item(p: Painter, prop: Prop) -> None:
    draw_item(p, prop.name, (prop.x, prop.y), prop.facing, prop.state)


PIECES: dict[str, Callable[[Painter, Prop], None]] = {
    "door": _door, "leaf": _leaf, "open_box": _open_box, "lamp": _lamp, "writing": _writing, "drops": _drops,
}  # fmt: skip


def draw_prop(painter: Painter, prop: Prop) -> None:
    """Paint one thing of the stage."""
    PIECES.get(prop.name, _item)(painter, prop)
