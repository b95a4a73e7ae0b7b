"""Videos with planted cuts, made by ffmpeg."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from imageio_ffmpeg import get_ffmpeg_exe  # type: ignore[import-untyped]

PICTURES = ("testsrc2", "smptebars", "testsrc", "pal75bars")


def video_with_cuts(path: Path, frames: Sequence[int], *, fps: int = 10, size: str = "160x120") -> Path:
    """Make a video of shots of so many frames, one after the other, each of another picture than the one before."""
    inputs, labels = [], []
    for number, count in enumerate(frames):
        source = f"{PICTURES[number % len(PICTURES)]}=size={size}:rate={fps}"
        inputs += ["-f", "lavfi", "-t", str(count / fps), "-i", source]
        labels.append(f"[{number}:v]setsar=1,format=yuv420p[v{number}]")
    shots = "".join(f"[v{number}]" for number in range(len(frames)))
    graph = ";".join([*labels, f"{shots}concat=n={len(frames)}:v=1[out]"])
    command = [get_ffmpeg_exe(), "-nostdin", "-loglevel", "error", *inputs, "-filter_complex", graph, "-map", "[out]"]
    subprocess.run([*command, "-c:v", "libx264", f"file:{path}"], check=True, timeout=600)
    return path
