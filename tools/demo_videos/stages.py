"""Six places, each drawn once per camera: wall, floor, furniture and what hangs about."""

from __future__ import annotations

from PIL import Image

from annotation.demo.catalogue import PIECES, Camera
from tools.demo_videos.painter import HEIGHT, SUPERSAMPLE, WIDTH, Painter, shade
from tools.demo_videos.props import DRAWINGS, Prop, draw_prop, draw_shapes

WALL = 34.0  # height at which the floor meets the wall, behind the people
LEFT, RIGHT = -700.0, 1760.0  # further than any camera looks
TABLE_TOP = 78.0
STAGES = DRAWINGS["places"]


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
