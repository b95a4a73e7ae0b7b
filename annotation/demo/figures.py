"""Drawn people: a pose in local coordinates (x forward, y up from the feet), and how it looks."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

from annotation.demo.catalogue import Character
from annotation.demo.painter import Painter, Point, shade
from annotation.demo.props import draw_item

UPPER_ARM, LOWER_ARM, THIGH, SHIN = 31.0, 31.0, 43.4, 43.4
SHOULDER = 57.0  # above the hips
HEAD = 33.0  # above the shoulders
FACE = 23.0  # radius of the head


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
    """A figure with its joints in stage coordinates, ready to be painted."""

    def __init__(self, painter: Painter, figure: Figure) -> None:
        self.p, self.figure, self.who, self.pose = painter, figure, figure.who, figure.pose
        self.hip = (self.pose.hip_x, self.pose.hip_y)
        self.neck = (
            self.pose.hip_x + self.pose.lean,
            self.pose.hip_y + math.sqrt(SHOULDER**2 - min(abs(self.pose.lean), 50) ** 2),
        )
        self.head = (
            self.neck[0] + 2 + self.pose.nod + self.pose.lean * 0.25,
            self.neck[1] + HEAD - abs(self.pose.nod) * 0.4,
        )
        self.sleeve = "#f4f6f7" if self.who.wear == "coat" else self.who.top

    def at(self, x: float, y: float) -> Point:
        """Local point -> stage point."""
        return self.figure.x + x * self.pose.facing, self.figure.y + y

    def leg(self, hip_dx: float, foot: Point, colour: str) -> None:
        hip = (self.hip[0] + hip_dx, self.hip[1])
        knee, ankle = two_bones(hip, (foot[0], foot[1] + 6), THIGH, SHIN, 1)
        trouser = self.who.skin if self.who.skirt else colour
        self.p.line([self.at(*hip), self.at(*knee), self.at(*ankle)], trouser, 15 if not self.who.skirt else 11)
        x, y = self.at(ankle[0] + 5, ankle[1] - 2)
        self.p.oval(x, y, 12, 5.5, "#2c2320")

    def arm(self, hand: Point, dx: float, colour: str, bend: int = -1) -> None:
        shoulder = (self.neck[0] + dx, self.neck[1] - 6)
        elbow, end = two_bones(shoulder, hand, UPPER_ARM, LOWER_ARM, bend)
        self.p.line([self.at(*shoulder), self.at(*elbow), self.at(*end)], colour, 12)
        x, y = self.at(*end)
        self.p.disc(x, y, 7, self.who.skin)

    def torso(self) -> None:
        hx, hy = self.hip
        nx, ny = self.neck
        outline = [(nx - 17, ny - 2), (nx + 17, ny - 2), (hx + 15, hy - 4), (hx - 15, hy - 4)]
        self.p.line([self.at(nx - 11, ny - 5), self.at(nx + 11, ny - 5)], self.who.top, 13)
        self.p.poly([self.at(*point) for point in outline], self.who.top)
        self.p.line([self.at(hx - 8, hy - 2), self.at(hx + 8, hy - 2)], self.who.bottom, 15)
        self.p.line([self.at(nx, ny - 4), self.at(nx + 1, ny + 10)], shade(self.who.skin, 0.9), 12)
        self.clothes()
        if self.who.skirt:
            self.skirt()

    def skirt(self) -> None:
        hx, hy = self.hip
        if hy > 70:
            hem = [(hx - 14, hy + 6), (hx + 14, hy + 6), (hx + 24, hy - 40), (hx - 24, hy - 40)]
        else:
            hem = [(hx - 14, hy + 6), (hx + 12, hy + 10), (hx + 46, hy + 10), (hx + 48, hy - 14), (hx - 14, hy - 12)]
        self.p.poly([self.at(*point) for point in hem], self.who.bottom)

    def band(self, low: float, high: float, left: float, right: float, colour: str) -> None:
        """Fill a part of the torso; heights as shares from hip (0) to neck (1), sides from -1 to 1."""
        points = []
        for share, side in ((low, left), (low, right), (high, right), (high, left)):
            x = self.hip[0] + (self.neck[0] - self.hip[0]) * share + side * (15 + 2 * share)
            points.append(self.at(x, self.hip[1] + (self.neck[1] - self.hip[1]) * share))
        self.p.poly(points, colour)

    def clothes(self) -> None:
        who, wear = self.who, self.who.wear
        if wear == "stripes":
            for low in (0.12, 0.4, 0.68):
                self.band(low, low + 0.13, -1, 1, shade(who.top, 0.62))
        elif wear == "coat":
            self.band(-0.42, 0.97, -1.1, -0.25, "#f4f6f7")
            self.band(-0.42, 0.97, 0.4, 1.1, "#e4e9ec")
        elif wear == "apron":
            self.band(-0.4, 0.7, -0.75, 0.85, "#a34a2e")
        elif wear == "vest":
            self.band(0.0, 0.97, -1, -0.2, "#3d332e")
            self.band(0.0, 0.97, 0.5, 1, "#3d332e")
        elif wear == "tie":
            self.band(0.25, 0.95, 0.02, 0.34, "#b3262e")
        elif wear == "dungarees":
            self.band(-0.05, 0.62, -0.8, 0.9, who.bottom)
            self.band(0.6, 0.97, -0.6, -0.3, who.bottom)
            self.band(0.6, 0.97, 0.4, 0.7, who.bottom)

    def hair_behind(self) -> None:
        x, y = self.head
        who, style = self.who, self.who.hair
        if style == "long":
            cx, cy = self.at(x - 5, y)
            self.p.rect(cx - 24, cy + 14, cx + 24, cy - 48, who.hair_colour, radius=16)
        elif style == "bob":
            cx, cy = self.at(x - 3, y)
            self.p.rect(cx - 26, cy + 16, cx + 26, cy - 21, who.hair_colour, radius=12)
        elif style == "ponytail":
            tail = [self.at(x - 18, y + 10), self.at(x - 34, y - 2), self.at(x - 33, y - 26)]
            self.p.line(tail, who.hair_colour, 13)
        elif style == "bun":
            self.p.disc(*self.at(x - 8, y + 28), 12, who.hair_colour)

    def hair_front(self) -> None:
        x, y = self.head
        style, colour = self.who.hair, self.who.hair_colour
        if style == "curly":
            for angle in range(20, 215, 27):
                dx, dy = math.cos(math.radians(angle)), math.sin(math.radians(angle))
                self.p.disc(*self.at(x - 3 + 21 * dx, y + 5 + 20 * dy), 10, colour)
            return
        if style == "bald":
            self.p.line([self.at(x - 21, y - 2), self.at(x - 21, y + 4)], colour, 6)
            return
        cx, cy = self.at(x - 2, y)
        self.p.dome(cx, cy + 1, FACE + 3, colour, rise=9)
        self.p.poly(
            [self.at(x - 25, y + 11), self.at(x - 12, y + 13), self.at(x - 15, y - 4), self.at(x - 23, y - 6)], colour
        )
        if style == "spiky":
            for dx in (-18, -8, 2, 12):
                tip = [self.at(x + dx - 8, y + 16), self.at(x + dx + 2, y + 34), self.at(x + dx + 11, y + 14)]
                self.p.poly(tip, colour)

    def face(self) -> None:
        x, y = self.head
        skin, dark = self.who.skin, "#2a1d1a"
        self.p.disc(*self.at(x, y), FACE, skin)
        self.p.disc(*self.at(x - 15, y - 2), 5.5, shade(skin, 0.88))
        if self.who.beard:
            self.beard()
        drop = -4 if self.pose.nod > 3 else 0
        for dx in (3.0, 15.0):
            if self.pose.blink:
                self.p.line([self.at(x + dx - 3, y + 3 + drop), self.at(x + dx + 3, y + 3 + drop)], dark, 1.6)
            else:
                self.p.oval(*self.at(x + dx, y + 3 + drop), 2.5, 3.4, dark)
            if self.who.gender == "woman":
                self.p.line([self.at(x + dx - 4, y + 4 + drop), self.at(x + dx - 1, y + 7 + drop)], dark, 1.6)
            self.p.line(
                [self.at(x + dx - 4, y + 10 + drop), self.at(x + dx + 4, y + 10 + drop)],
                shade(self.who.hair_colour, 0.8),
                1.8,
            )
        if self.who.glasses:
            for dx in (3.0, 15.0):
                px, py = self.at(x + dx, y + 3 + drop)
                self.p.arc(px, py, 6.2, 6.2, (0, 360), "#1b2a41", 1.5)
        self.p.line([self.at(x + 10, y - 1 + drop), self.at(x + 12, y - 5 + drop)], shade(skin, 0.75), 2)
        self.mouth(x + 8, y - 11 + drop * 0.5)

    def beard(self) -> None:
        x, y = self.head
        colour = self.who.hair_colour
        chin = [(x - 16, y - 3), (x - 6, y - 7), (x + 18, y - 7), (x + 16, y - 18), (x + 4, y - 27), (x - 9, y - 22)]
        self.p.poly([self.at(*point) for point in chin], colour)

    def mouth(self, x: float, y: float) -> None:
        px, py = self.at(x, y)
        if self.pose.mouth == "open":
            self.p.oval(px, py, 4.5, 5, "#8c2f39")
        elif self.pose.mouth == "flat":
            self.p.line([(px - 5, py), (px + 5, py)], "#8c2f39", 2)
        else:
            self.p.arc(px, py + 3, 7, 6, (20, 160), "#8c2f39", 2)

    def item(self) -> None:
        if self.pose.item:
            hand = self.pose.near_hand
            draw_item(self.p, self.pose.item, self.at(*hand), self.pose.facing, self.pose.item_state)

    def hat(self) -> None:
        x, y = self.head
        draw_item(self.p, "hat", self.at(x - 1, y + 13), self.pose.facing, 0)

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
            self.hat()
        self.item()
        self.near_arm()


def draw_figure(painter: Painter, figure: Figure) -> None:
    """Paint one person."""
    _Body(painter, figure).paint()


def draw_near_arm(painter: Painter, figure: Figure) -> None:
    """Paint only the near arm again, so that it lies over whoever stands in front."""
    _Body(painter, figure).near_arm()


def standing(facing: int = 1) -> Pose:
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
