"""Drawn people: a pose in local coordinates (x forward, y up from the feet), and how it looks."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

from annotation.demo.catalogue import Character
from tools.demo_videos.painter import Painter, Point, shade
from tools.demo_videos.props import draw_thing

UPPER_ARM, LOWER_ARM, THIGH, SHIN = 31.0, 31.0, 43.4, 43.4
SHOULDER = 57.0  # above the hips
HEAD = 33.0  # above the shoulders
FACE = 23.0  # radius of the head
BANDS: dict[str, tuple[tuple[float, float, float, float, str], ...]] = {  # no colour: that of the trousers
    "coat": ((-0.42, 0.97, -1.1, -0.25, "#f4f6f7"), (-0.42, 0.97, 0.4, 1.1, "#e4e9ec")),
    "apron": ((-0.4, 0.7, -0.75, 0.85, "#a34a2e"),),
    "vest": ((0.0, 0.97, -1, -0.2, "#3d332e"), (0.0, 0.97, 0.5, 1, "#3d332e")),
    "tie": ((0.25, 0.95, 0.02, 0.34, "#b3262e"),),
    "dungarees": ((-0.05, 0.62, -0.8, 0.9, ""), (0.6, 0.97, -0.6, -0.3, ""), (0.6, 0.97, 0.4, 0.7, "")),
}


@dataclass(frozen=True)
class Pose:
    """Where the body is. Numbers are stage units; ``facing`` is 1 (right) or -1 (left)."""

    facing: int = 1
    hip_x: float = 0.0
    hip_y: float = 91.0
    lean: float = 0.0  # shoulders ahead of the hips
    near_hand: Point = (-15.0, 83.0)
    far_hand: Point = (18.0, 84.0)
    near_foot: Point = (-9.0, 0.0)
    far_foot: Point = (10.0, 0.0)
    near_bend: int = -1  # which way the near elbow points
    nod: float = 0.0  # head forward and down
    mouth: str = "smile"
    blink: bool = False
    item: str = ""  # in the near hand, or between the hands
    item_state: float = 0.0
    hat: bool = False


@dataclass(frozen=True)
class Figure:
    """One person on the stage."""

    who: Character
    x: float
    pose: Pose
    y: float = 0.0


def blend(a: Pose, b: Pose, k: float) -> Pose:
    """Return the pose between ``a`` (k = 0) and ``b`` (k = 1); what cannot be mixed comes from ``b``."""
    mixed: dict[str, float | Point] = {}
    for field in fields(Pose):
        u, v = getattr(a, field.name), getattr(b, field.name)
        if isinstance(u, tuple):
            mixed[field.name] = (u[0] + (v[0] - u[0]) * k, u[1] + (v[1] - u[1]) * k)
        elif isinstance(u, float):
            mixed[field.name] = u + (v - u) * k
    return replace(b, **mixed)  # type: ignore[arg-type]


def two_bones(a: Point, b: Point, first: float, second: float, bend: int) -> tuple[Point, Point]:
    """Return the joint and the reachable end of a limb from ``a`` towards ``b``; ``bend`` picks the side."""
    dx, dy = b[0] - a[0], b[1] - a[1]
    far = math.hypot(dx, dy) or 1e-6
    reach = min(far, first + second - 0.5)
    dx, dy = dx / far, dy / far
    along = (first**2 - second**2 + reach**2) / (2 * reach)
    off = math.sqrt(max(0.0, first**2 - along**2)) * bend
    return (a[0] + dx * along - dy * off, a[1] + dy * along + dx * off), (a[0] + dx * reach, a[1] + dy * reach)


class _Body:
    """A figure with its joints in its own coordinates, ready to be painted."""

    def __init__(self, painter: Painter, figure: Figure) -> None:
        self.who, self.pose = figure.who, figure.pose
        self.p = painter.moved(figure.x, figure.y, self.pose.facing)
        lean, nod = self.pose.lean, self.pose.nod
        self.hip = (self.pose.hip_x, self.pose.hip_y)
        self.neck = (self.hip[0] + lean, self.hip[1] + math.sqrt(SHOULDER**2 - min(abs(lean), 50) ** 2))
        self.head = (self.neck[0] + 2 + nod + lean * 0.25, self.neck[1] + HEAD - abs(nod) * 0.4)
        self.sleeve = "#f4f6f7" if self.who.wear == "coat" else self.who.top

    def leg(self, hip_dx: float, foot: Point, colour: str) -> None:
        hip = (self.hip[0] + hip_dx, self.hip[1])
        knee, ankle = two_bones(hip, (foot[0], foot[1] + 6), THIGH, SHIN, 1)
        trouser = self.who.skin if self.who.skirt else colour
        self.p.line([hip, knee, ankle], trouser, 15 if not self.who.skirt else 11)
        self.p.oval(ankle[0] + 5, ankle[1] - 2, 12, 5.5, "#2c2320")

    def arm(self, hand: Point, dx: float, colour: str, bend: int = -1) -> None:
        shoulder = (self.neck[0] + dx, self.neck[1] - 6)
        elbow, end = two_bones(shoulder, hand, UPPER_ARM, LOWER_ARM, bend)
        self.p.line([shoulder, elbow, end], colour, 12)
        self.p.disc(*end, 7, self.who.skin)

    def torso(self) -> None:
        hx, hy = self.hip
        nx, ny = self.neck
        self.p.line([(nx - 11, ny - 5), (nx + 11, ny - 5)], self.who.top, 13)
        self.p.poly([(nx - 17, ny - 2), (nx + 17, ny - 2), (hx + 15, hy - 4), (hx - 15, hy - 4)], self.who.top)
        self.p.line([(hx - 8, hy - 2), (hx + 8, hy - 2)], self.who.bottom, 15)
        self.p.line([(nx, ny - 4), (nx + 1, ny + 10)], shade(self.who.skin, 0.9), 12)
        self.clothes()
        if self.who.skirt and hy > 70:
            hem = [(hx - 14, hy + 6), (hx + 14, hy + 6), (hx + 24, hy - 40), (hx - 24, hy - 40)]
            self.p.poly(hem, self.who.bottom)
        elif self.who.skirt:
            lap = [(hx - 14, hy + 6), (hx + 12, hy + 10), (hx + 46, hy + 10), (hx + 48, hy - 14), (hx - 14, hy - 12)]
            self.p.poly(lap, self.who.bottom)

    def clothes(self) -> None:
        """Lay bands over the torso, from share to share of the way from hip (0) to neck (1), from side to side."""
        if self.who.wear == "stripes":
            dark = shade(self.who.top, 0.62)
            bands = [(low, low + 0.13, -1.0, 1.0, dark) for low in (0.12, 0.4, 0.68)]
        else:
            bands = [(*band[:4], band[4] or self.who.bottom) for band in BANDS.get(self.who.wear, ())]
        for low, high, x_left, right, colour in bands:
            corners = []
            for share, side in ((low, x_left), (low, right), (high, right), (high, x_left)):
                x = self.hip[0] + (self.neck[0] - self.hip[0]) * share + side * (15 + 2 * share)
                corners.append((x, self.hip[1] + (self.neck[1] - self.hip[1]) * share))
            self.p.poly(corners, colour)

    def hair_behind(self) -> None:
        x, y = self.head
        style, colour = self.who.hair, self.who.hair_colour
        if style == "long":
            self.p.rect(x - 29, y + 14, x + 19, y - 48, colour, radius=16)
        elif style == "bob":
            self.p.rect(x - 29, y + 16, x + 23, y - 21, colour, radius=12)
        elif style == "ponytail":
            self.p.line([(x - 18, y + 10), (x - 34, y - 2), (x - 33, y - 26)], colour, 13)
        elif style == "bun":
            self.p.disc(x - 8, y + 28, 12, colour)

    def hair_front(self) -> None:
        x, y = self.head
        style, colour = self.who.hair, self.who.hair_colour
        if style == "curly":
            for angle in range(20, 215, 27):
                dx, dy = math.cos(math.radians(angle)), math.sin(math.radians(angle))
                self.p.disc(x - 3 + 21 * dx, y + 5 + 20 * dy, 10, colour)
            return
        if style == "bald":
            self.p.line([(x - 21, y - 2), (x - 21, y + 4)], colour, 6)
            return
        self.p.dome(x - 2, y + 1, FACE + 3, colour, rise=9)
        self.p.poly([(x - 25, y + 11), (x - 12, y + 13), (x - 15, y - 4), (x - 23, y - 6)], colour)
        if style == "spiky":
            for dx in (-18, -8, 2, 12):
                self.p.poly([(x + dx - 8, y + 16), (x + dx + 2, y + 34), (x + dx + 11, y + 14)], colour)

    def face(self) -> None:
        x, y = self.head
        skin, hair, dark = self.who.skin, self.who.hair_colour, "#2a1d1a"
        self.p.disc(x, y, FACE, skin)
        self.p.disc(x - 15, y - 2, 5.5, shade(skin, 0.88))
        if self.who.beard:
            chin = [(-16, -3), (-6, -7), (18, -7), (16, -18), (4, -27), (-9, -22)]
            self.p.poly([(x + dx, y + dy) for dx, dy in chin], hair)
        drop = -4 if self.pose.nod > 3 else 0
        eyes = (x + 3.0, x + 15.0)
        for eye in eyes:
            if self.pose.blink:
                self.p.line([(eye - 3, y + 3 + drop), (eye + 3, y + 3 + drop)], dark, 1.6)
            else:
                self.p.oval(eye, y + 3 + drop, 2.5, 3.4, dark)
            if self.who.gender == "woman":
                self.p.line([(eye - 4, y + 4 + drop), (eye - 1, y + 7 + drop)], dark, 1.6)
            self.p.line([(eye - 4, y + 10 + drop), (eye + 4, y + 10 + drop)], shade(hair, 0.8), 1.8)
        if self.who.glasses:
            for eye in eyes:
                self.p.arc(eye, y + 3 + drop, 6.2, 6.2, (0, 360), "#1b2a41", 1.5)
        self.p.line([(x + 10, y - 1 + drop), (x + 12, y - 5 + drop)], shade(skin, 0.75), 2)
        self.mouth(x + 8, y - 11 + drop * 0.5)

    def mouth(self, x: float, y: float) -> None:
        if self.pose.mouth == "open":
            self.p.oval(x, y, 4.5, 5, "#8c2f39")
        elif self.pose.mouth == "flat":
            self.p.line([(x - 5, y), (x + 5, y)], "#8c2f39", 2)
        else:
            self.p.arc(x, y + 3, 7, 6, (20, 160), "#8c2f39", 2)

    def near_arm(self) -> None:
        self.arm(self.pose.near_hand, -12, shade(self.sleeve, 0.94), self.pose.near_bend)

    def paint(self) -> None:
        pose = self.pose
        self.arm(pose.far_hand, 13, shade(self.sleeve, 0.82))
        self.leg(6, pose.far_foot, shade(self.who.bottom, 0.8))
        self.leg(-6, pose.near_foot, self.who.bottom)
        self.hair_behind()
        self.torso()
        self.face()
        self.hair_front()
        if pose.hat:
            draw_thing(self.p.moved(self.head[0] - 1, self.head[1] + 13), "hat")
        if pose.item:
            draw_thing(self.p.moved(*pose.near_hand), pose.item, pose.item_state)
        self.near_arm()


def draw_figure(painter: Painter, figure: Figure) -> None:
    """Paint one person."""
    _Body(painter, figure).paint()


def draw_near_arm(painter: Painter, figure: Figure) -> None:
    """Paint only the near arm again, so that it lies over whoever stands in front."""
    _Body(painter, figure).near_arm()


def upright(facing: int = 1) -> Pose:
    """A person who stands and waits."""
    return Pose(facing=facing)


def walking(phase: float, facing: int = 1) -> Pose:
    """One moment of a walk; ``phase`` in radians, one full turn is two steps."""
    swing, lift = math.sin(phase), math.cos(phase)
    return Pose(
        facing=facing, hip_y=90.0 + 2.5 * abs(lift), lean=5.0,
        near_foot=(-2 + 26 * swing, 11 * max(0.0, lift)), far_foot=(2 - 26 * swing, 11 * max(0.0, -lift)),
        near_hand=(-4 - 26 * swing, 94 + 3 * abs(swing)), far_hand=(8 + 26 * swing, 94 + 3 * abs(swing)),
    )  # fmt: skip


def seated(facing: int = 1) -> Pose:
    """A person who sits; the hips are over the figure's x."""
    return Pose(
        facing=facing, hip_x=-6.0, hip_y=56.0, lean=1.0,
        near_foot=(34.0, 0.0), far_foot=(44.0, 0.0), near_hand=(24.0, 70.0), far_hand=(34.0, 71.0),
    )  # fmt: skip
