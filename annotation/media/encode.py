"""Makes one GIF of a moment's frames with Pillow."""

import math
from collections.abc import Sequence
from io import BytesIO

from PIL import Image

from annotation.media.plan import FRAMES_PER_S

PALETTE_SAMPLES = 6  # frames the colours are taken from


def encode_gif(frames: Sequence[Image.Image]) -> bytes:
    """The frames as one looping GIF with one palette; nothing for no frames.

    The octree palette without dithering is what Pillow does fastest, and beside ffmpeg's it looks the same but for
    faint bands in the sky; dithering by Floyd-Steinberg flickers between frames and makes the file half as large again.
    """
    if not frames:
        return b""
    palette = _mosaic(frames).quantize(255, method=Image.Quantize.FASTOCTREE)  # one left to mean "as before"
    first, *rest = (frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames)
    file = BytesIO()
    first.save(file, "GIF", save_all=True, append_images=rest, duration=round(1000 / FRAMES_PER_S), loop=0)
    return file.getvalue()


def _mosaic(frames: Sequence[Image.Image]) -> Image.Image:
    """A few of the frames at half size, one below the other: what a moment's palette is taken from."""
    picked = frames[:: math.ceil(len(frames) / PALETTE_SAMPLES)]
    width, height = (max(1, side // 2) for side in frames[0].size)
    mosaic = Image.new("RGB", (width, height * len(picked)))
    for row, frame in enumerate(picked):
        mosaic.paste(frame.resize((width, height)), (0, row * height))
    return mosaic
