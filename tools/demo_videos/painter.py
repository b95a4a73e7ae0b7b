"""Drawing in stage units: x to the right, y upwards from the floor the people stand on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy

from PIL import Image, ImageColor, ImageDraw, ImageFont

from annotation.demo.catalogue import Camera

WIDTH, HEIGHT = 640, 360  # pixels of the video
FLOOR_Y = 336  # pixel row of stage y = 0
SUPERSAMPLE = 2  # everything is drawn this much larger, then reduced: cheap antialiasing
STAGE_WIDTH = 1060.0

Point = tuple[float, float]


def shade(colour: str, factor: float) -> str:
    """Return ``colour`` darker (factor below 1) or lighter (above 1)."""
    red, green, blue = ImageColor.getrgb(colour)[:3]
    return "#" + "".join(f"{min(255, int(part * factor)):02x}" for part in (red, green, blue))


class Painter:
    """Draws onto a supersampled picture, or onto the part of one that begins at ``corner`` (its pixels).

    Points count from the stage point (``x``, ``y``); ``facing`` -1 turns x around.
    """

    x, y, facing = 0.0, 0.0, 1

    def __init__(self, image: Image.Image, camera: Camera, *, corner: tuple[int, int] = (0, 0)) -> None:
        self.image = image
        self.draw = ImageDraw.Draw(image)
        self.camera = camera
        self.scale = SUPERSAMPLE * camera.zoom
        self.corner = corner

    def moved(self, x: float, y: float, facing: int = 1) -> Painter:
        """Return a painter whose units begin at (x, y) of this one, for a person or thing that looks ``facing``."""
        other = copy(self)
        other.x, other.y, other.facing = self.x + x * self.facing, self.y + y, self.facing * facing
        return other

    def at(self, point: Point) -> Point:
        x, middle = self.x + point[0] * self.facing, self.camera.x
        if self.camera.mirrored:
            x, middle = STAGE_WIDTH - x, STAGE_WIDTH - middle
        x_left = SUPERSAMPLE * WIDTH / 2 + (x - middle) * self.scale - self.corner[0]
        return x_left, SUPERSAMPLE * FLOOR_Y - (self.y + point[1]) * self.scale - self.corner[1]

    def poly(self, points: Sequence[Point], fill: str) -> None:
        self.draw.polygon([self.at(point) for point in points], fill=fill)

    def rect(self, x0: float, y0: float, x1: float, y1: float, fill: str, radius: float = 0.0) -> None:
        """Fill a rectangle given by two opposite corners, with rounded corners if asked."""
        (ax, ay), (bx, by) = self.at((x0, y0)), self.at((x1, y1))
        area = (min(ax, bx), min(ay, by), max(ax, bx), max(ay, by))
        if radius:
            self.draw.rounded_rectangle(area, radius * self.scale, fill=fill)
        else:
            self.draw.rectangle(area, fill=fill)

    def oval(self, x: float, y: float, rx: float, ry: float, fill: str) -> None:
        """Fill an ellipse around (x, y)."""
        px, py = self.at((x, y))
        rx, ry = rx * self.scale, ry * self.scale
        self.draw.ellipse((px - rx, py - ry, px + rx, py + ry), fill=fill)

    def disc(self, x: float, y: float, r: float, fill: str) -> None:
        """Fill a circle around (x, y)."""
        self.oval(x, y, r, r, fill)

    def line(self, points: Sequence[Point], fill: str, width: float) -> None:
        """Draw a line with round joints and ends, ``width`` stage units thick."""
        pixels = [self.at(point) for point in points]
        thick = max(1, round(width * self.scale))
        self.draw.line(pixels, fill=fill, width=thick)
        if thick > 3:
            r = thick / 2
            for px, py in pixels:
                self.draw.ellipse((px - r, py - r, px + r, py + r), fill=fill)

    def dome(self, x: float, y: float, r: float, fill: str, *, rise: float = 0.0) -> None:
        """Fill the part of a circle that lies above ``y + rise``."""
        half = math.degrees(math.acos(max(-1.0, min(1.0, rise / r))))
        px, py = self.at((x, y))
        r *= self.scale
        self.draw.chord((px - r, py - r, px + r, py + r), 270 - half, 270 + half, fill=fill)

    def arc(self, x: float, y: float, rx: float, ry: float, span: tuple[float, float], fill: str, width: float) -> None:
        """Draw part of an ellipse's outline; ``span`` in degrees, clockwise from the right."""
        px, py = self.at((x, y))
        rx, ry = rx * self.scale, ry * self.scale
        thick = max(1, round(width * self.scale))
        self.draw.arc((px - rx, py - ry, px + rx, py + ry), span[0], span[1], fill=fill, width=thick)

    def glow(self, x: float, y: float, r: float, fill: tuple[int, int, int, int]) -> None:
        """Lay a translucent circle over the picture."""
        px, py = self.at((x, y))
        r *= self.scale
        ImageDraw.Draw(self.image, "RGBA").ellipse((px - r, py - r, px + r, py + r), fill=fill)

    def text(self, x: float, y: float, words: str, fill: str, size: float) -> None:
        """Write ``words`` centred on (x, y); never mirrored. ``size`` in stage units."""
        font = ImageFont.load_default(size * self.scale)
        self.draw.text(self.at((x, y)), words, fill=fill, font=font, anchor="mm")
