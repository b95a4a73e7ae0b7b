"""Six places, each drawn once per camera: wall, floor, furniture and what hangs about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PIL import Image

from annotation.demo.catalogue import PIECES, Camera
from tools.demo_videos.painter import HEIGHT, SUPERSAMPLE, WIDTH, Painter, shade
from tools.demo_videos.props import Prop, draw_prop

WALL = 34.0  # height at which the floor meets the wall, behind the people
LEFT, RIGHT = -700.0, 1760.0  # further than any camera looks
BOARD = PIECES["board"]
CHAIR_X = PIECES["seat"]
TABLE = 520.0
TABLE_TOP = 78.0


@dataclass(frozen=True)
class Decor:
    """The colours of a place and the painter of its furniture."""

    wall: str
    low: str  # the lower part of the wall
    floor: str
    furnish: Callable[[Painter], None]


def draw_stage(stage_name: str, camera: Camera) -> Image.Image:
    """Return the empty place as a supersampled RGB picture."""
    decor = STAGES[stage_name]
    image = Image.new("RGB", (WIDTH * SUPERSAMPLE, HEIGHT * SUPERSAMPLE), decor.wall)
    p = Painter(image, camera)
    p.rect(LEFT, WALL, RIGHT, 120, decor.low)
    p.rect(LEFT, 118, RIGHT, 124, shade(decor.low, 0.86))
    p.rect(LEFT, -80, RIGHT, WALL, decor.floor)
    p.rect(LEFT, WALL, RIGHT, WALL + 8, shade(decor.wall, 0.7))
    for x in range(int(LEFT), int(RIGHT), 90):
        p.line([(x - 30, -60), (x, WALL - 1)], shade(decor.floor, 0.93), 2)
    decor.furnish(p)
    return image


def _picture(p: Painter, x: float, y: float, colours: tuple[str, str]) -> None:
    p.rect(x - 34, y - 26, x + 34, y + 26, "#5c4433")
    p.rect(x - 29, y - 21, x + 29, y + 21, colours[0])
    p.disc(x + 12, y + 8, 7, "#ffe08a")
    p.poly([(x - 29, y - 21), (x - 8, y + 8), (x + 10, y - 12), (x + 18, y - 4), (x + 29, y - 21)], colours[1])


def _plant(p: Painter) -> None:
    x = PIECES["plant"]
    for dx, dy in ((-30, 92), (-16, 118), (0, 128), (17, 116), (31, 90), (-36, 66), (36, 64)):
        p.line([(x, 44), (x + dx * 0.6, 40 + dy * 0.55), (x + dx, dy)], "#3c8d4b", 9)
        p.oval(x + dx, dy, 11, 13, "#52ab5e")
    p.poly([(x - 24, 46), (x + 24, 46), (x + 17, 2), (x - 17, 2)], "#c8643c")
    p.rect(x - 27, 40, x + 27, 50, "#b25530")


def _table(p: Painter, top: str, leg: str) -> None:
    for x in (TABLE - 72, TABLE + 66):
        p.rect(x, 6, x + 8, TABLE_TOP, leg)
    p.rect(TABLE - 88, TABLE_TOP - 10, TABLE + 88, TABLE_TOP, top, radius=3)
    p.rect(TABLE - 82, TABLE_TOP - 20, TABLE + 82, TABLE_TOP - 9, shade(top, 0.8))


def _panel(p: Painter, frame: str, face: str) -> None:
    p.rect(BOARD - 106, 108, BOARD + 106, 238, frame, radius=4)
    p.rect(BOARD - 97, 117, BOARD + 97, 229, face)
    p.rect(BOARD - 90, 102, BOARD + 90, 110, shade(frame, 0.85))


def _window(p: Painter, curtain: str, view: str) -> None:
    p.rect(BOARD - 92, 104, BOARD + 92, 256, "#ffffff")
    p.rect(BOARD - 84, 112, BOARD + 84, 248, "#a9dcf5")
    p.disc(BOARD + 44, 220, 15, "#fff2a6")
    p.oval(BOARD - 40, 212, 26, 9, "#ffffff")
    hills = ((-84, 112), (-84, 140), (-30, 158), (30, 136), (84, 150), (84, 112))
    p.poly([(BOARD + x, y) for x, y in hills], view)
    p.rect(BOARD - 4, 104, BOARD + 4, 256, "#ffffff")
    p.rect(BOARD - 92, 178, BOARD + 92, 184, "#ffffff")
    p.rect(BOARD - 104, 98, BOARD + 104, 108, "#e9e4da")
    for side in (-1, 1):
        p.poly([(BOARD + side * x, y) for x, y in ((124, 268), (66, 268), (88, 78), (124, 78))], curtain)
    p.rect(BOARD - 132, 264, BOARD + 132, 272, "#6b4a33")


def _chair(p: Painter, cushion: str, leg: str) -> None:
    for x in (CHAIR_X - 26, CHAIR_X + 18):
        p.rect(x, 0, x + 6, 42, leg)
    p.rect(CHAIR_X - 32, 38, CHAIR_X + 28, 48, cushion, radius=4)
    p.rect(CHAIR_X - 34, 44, CHAIR_X - 25, 118, leg, radius=3)
    p.rect(CHAIR_X - 38, 78, CHAIR_X - 24, 122, cushion, radius=5)


def _swivel(p: Painter) -> None:
    p.line([(CHAIR_X - 28, 5), (CHAIR_X, 14), (CHAIR_X + 26, 5)], "#33373d", 6)
    p.rect(CHAIR_X - 4, 12, CHAIR_X + 4, 40, "#33373d")
    p.rect(CHAIR_X - 34, 36, CHAIR_X + 30, 48, "#e2622f", radius=5)
    p.line([(CHAIR_X - 30, 42), (CHAIR_X - 40, 70)], "#33373d", 6)
    p.rect(CHAIR_X - 48, 62, CHAIR_X - 32, 132, "#e2622f", radius=7)


def _sofa(p: Painter) -> None:
    p.rect(CHAIR_X - 112, 40, CHAIR_X + 112, 118, "#b0463c", radius=16)
    p.rect(CHAIR_X - 112, 8, CHAIR_X + 112, 52, "#cf5a4c", radius=8)
    p.rect(CHAIR_X - 3, 14, CHAIR_X + 1, 50, "#b0463c")
    for side in (-1, 1):
        p.rect(CHAIR_X + side * 128, 6, CHAIR_X + side * 96, 78, "#a23d34", radius=12)


def _bed(p: Painter) -> None:
    p.rect(CHAIR_X - 134, 0, CHAIR_X - 124, 118, "#c4ccd3", radius=3)
    p.rect(CHAIR_X + 74, 0, CHAIR_X + 82, 74, "#c4ccd3", radius=3)
    p.rect(CHAIR_X - 128, 22, CHAIR_X + 78, 34, "#aeb8c1")
    p.rect(CHAIR_X - 124, 32, CHAIR_X + 76, 54, "#ffffff", radius=6)
    p.rect(CHAIR_X - 60, 28, CHAIR_X + 78, 56, "#8cc4e8", radius=6)
    p.rect(CHAIR_X - 120, 52, CHAIR_X - 70, 72, "#f2f6f9", radius=9)


def _stool(p: Painter) -> None:
    for dx in (-22, 16):
        p.line([(CHAIR_X + dx * 0.6, 42), (CHAIR_X + dx * 1.2, 3)], "#7b4f2a", 7)
    p.rect(CHAIR_X - 18, 16, CHAIR_X + 16, 21, "#7b4f2a")
    p.rect(CHAIR_X - 34, 38, CHAIR_X + 30, 49, "#b9783f", radius=5)


def _bookcase(p: Painter, x: float, frame: str) -> None:
    p.rect(x - 62, WALL, x + 62, 236, frame)
    for row, y in enumerate((44, 108, 172)):
        p.rect(x - 55, y, x + 55, y + 56, shade(frame, 0.72))
        for column in range(7):
            tall = 32 + (column * 7 + row * 11) % 18
            colour = ("#d1495b", "#edae49", "#66a182", "#2e6f95", "#8d6cab")[(column * 2 + row) % 5]
            p.rect(x - 52 + column * 15, y, x - 40 + column * 15, y + tall, colour)


def _common(p: Painter) -> None:
    draw_prop(p, Prop("door", PIECES["door"], WALL - 4))
    draw_prop(p, Prop("leaf", PIECES["door"], WALL - 4))
    draw_prop(p, Prop("lamp", PIECES["lamp"]))
    _plant(p)


def _office(p: Painter) -> None:
    _common(p)
    _panel(p, "#b9c1c9", "#fbfdff")
    p.line([(BOARD + 20, 206), (BOARD + 80, 206)], "#2f8f5b", 4)
    p.line([(BOARD + 20, 192), (BOARD + 64, 192)], "#9aa5b1", 3)
    for x in (-190, 1290):
        _bookcase(p, x, "#9aa7b3")
    p.rect(330, 150, 470, 246, "#dfe9f0")
    for row in range(4):
        p.rect(334, 154 + row * 23, 466, 173 + row * 23, "#b9d3e3")
    _swivel(p)
    _table(p, "#d9b98a", "#6d7680")
    p.rect(TABLE + 24, TABLE_TOP + 12, TABLE + 80, TABLE_TOP + 52, "#2b3138", radius=3)
    p.rect(TABLE + 29, TABLE_TOP + 17, TABLE + 75, TABLE_TOP + 47, "#67b7dc")
    p.rect(TABLE + 48, TABLE_TOP, TABLE + 56, TABLE_TOP + 12, "#2b3138")


def _living_room(p: Painter) -> None:
    _common(p)
    _window(p, "#d98a3d", "#7fb069")
    _picture(p, 250, 190, ("#f3d9b1", "#c3663f"))
    _picture(p, 370, 200, ("#cfe3ea", "#47708a"))
    for x in (-190, 1290):
        _bookcase(p, x, "#7a5236")
    p.oval(TABLE - 60, -8, 260, 18, "#9c5b6b")
    _sofa(p)
    _table(p, "#8a5a38", "#6d4428")


def _hospital(p: Painter) -> None:
    _common(p)
    _window(p, "#9fd3c7", "#9ccf9a")
    p.rect(372, 130, 440, 236, "#e9f1f5", radius=4)
    p.rect(380, 176, 432, 226, "#143642", radius=3)
    p.line([(383, 200), (396, 200), (402, 216), (408, 186), (414, 200), (430, 200)], "#5df28a", 3)
    for dx in (0, 18, 36):
        p.disc(388 + dx, 154, 6, ("#e2504c", "#f2c94c", "#58a4d6")[dx // 18])
    for x in (-190, 1290):
        p.rect(x - 60, WALL, x + 60, 230, "#e3edf2")
        p.rect(x - 8, 140, x + 8, 190, "#d6423b")
        p.rect(x - 25, 157, x + 25, 173, "#d6423b")
    _bed(p)
    _table(p, "#e8eef1", "#9fb0ba")


def _cafe(p: Painter) -> None:
    _common(p)
    _panel(p, "#6b4226", "#26332d")
    p.text(BOARD, 214, "MENU", "#f6e7c1", 20)
    p.line([(BOARD - 70, 200), (BOARD + 70, 200)], "#a9b8a6", 2)
    p.rect(300, 196, 470, 204, "#7a4b2b")
    for column in range(6):
        p.rect(308 + column * 27, 204, 324 + column * 27, 226, ("#c76b3f", "#e8d5b0", "#7aa095")[column % 3], radius=3)
    for x in (430, 620, 250, 820):
        p.line([(x, 330), (x, 262)], "#4a342a", 3)
        p.poly([(x - 20, 250), (x + 20, 250), (x + 8, 270), (x - 8, 270)], "#c8703a")
        p.disc(x, 248, 8, "#fff1b5")
    for x in (-190, 1290):
        p.rect(x - 90, WALL, x + 90, 112, "#7a4b2b")
        p.rect(x - 96, 108, x + 96, 118, "#b98252")
    _chair(p, "#3f6f5f", "#5a3b26")
    _table(p, "#c89b63", "#5a3b26")


def _workshop(p: Painter) -> None:
    _common(p)
    _panel(p, "#8a6a45", "#d8c29c")
    p.rect(BOARD + 40, 176, BOARD + 88, 222, "#fdfbf2")
    p.line([(BOARD + 46, 212), (BOARD + 80, 212)], "#8795a1", 3)
    p.rect(300, 142, 470, 240, "#b08b5a")
    p.line([(322, 226), (322, 176)], "#8c3b2e", 8)
    p.rect(308, 218, 338, 232, "#59626b")
    p.poly([(356, 226), (372, 226), (420, 170), (412, 164)], "#b8c0c7")
    p.rect(350, 218, 378, 236, "#8c3b2e", radius=4)
    p.line([(440, 228), (440, 168)], "#59626b", 7)
    p.arc(440, 166, 11, 11, (200, 520), "#59626b", 6)
    for x in (-190, 1290):
        for row in range(4):
            p.rect(x - 110, 40 + row * 26, x + 110, 58 + row * 26, ("#d9a765", "#c08a4a")[row % 2])
    _stool(p)
    _table(p, "#a9713d", "#7b4f2a")
    p.rect(TABLE + 40, TABLE_TOP, TABLE + 80, TABLE_TOP + 22, "#c4372f", radius=3)


def _classroom(p: Painter) -> None:
    _common(p)
    _panel(p, "#8b5a33", "#2f5d4b")
    p.text(BOARD + 46, 208, "a + b", "#dcebe3", 19)
    p.rect(310, 150, 460, 238, "#f3efe0")
    p.poly([(322, 200), (350, 228), (384, 214), (372, 176), (338, 170)], "#7fb77e")
    p.poly([(396, 222), (444, 226), (448, 186), (414, 164), (400, 190)], "#d9a441")
    for x in (-190, 1290):
        _bookcase(p, x, "#c79a5b")
    p.disc(235, 236, 19, "#ffffff")
    p.arc(235, 236, 20, 20, (0, 360), "#3c3c3c", 3)
    p.line([(235, 248), (235, 236), (244, 232)], "#3c3c3c", 2)
    _chair(p, "#3d84c6", "#7c868f")
    _table(p, "#e0b36d", "#7c868f")


STAGES: dict[str, Decor] = {
    "office": Decor("#cfdde8", "#bccddb", "#8d97a3", _office),
    "living room": Decor("#f2dfc0", "#e6cda4", "#b07c50", _living_room),
    "hospital ward": Decor("#dff0ee", "#bfe0dc", "#9db7bd", _hospital),
    "cafe": Decor("#e9b98f", "#a8603c", "#6d4a3a", _cafe),
    "workshop": Decor("#b9c2a5", "#a1ab8a", "#8c8478", _workshop),
    "classroom": Decor("#f7e9b0", "#e8cf85", "#b98d5d", _classroom),
}
