"""python -m benchmarks.shots: how fast cuts are found, and how many of those that were planted; prints JSON.

A video of 25 frames a second and 480 lines is rendered by ffmpeg from its own test pictures, one shot after the other,
each from 1 to 6 s long by a seed. It is decoded in one thread and looked through as the site does.
"""

import argparse
import json
import random
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

from imageio_ffmpeg import get_ffmpeg_exe

from annotation.proposals.detecting import DETECTOR, THRESHOLD, cuts_of, detector_version

FPS, SIZE, TOLERANCE = 25, "854x480", 1  # frames that a cut may be away from where it was planted
SECONDS = (1.0, 6.0)  # of a shot
PICTURES = (
    *("testsrc2=s={size}:r={fps}", "mandelbrot=s={size}:r={fps}", "smptebars=s={size}:r={fps}"),
    *("testsrc=s={size}:r={fps}", "gradients=s={size}:r={fps}:speed=0.02:seed=1"),
)


def shots_drawn(count: int, seed: int) -> list[int]:
    """Return the frames of each shot."""
    generator = random.Random(seed)
    return [generator.randint(int(SECONDS[0] * FPS), int(SECONDS[1] * FPS)) for _ in range(count)]


def video_render(path: Path, shots: Sequence[int]) -> None:
    """Render shots of so many frames, each of another picture and hue than the one before."""
    inputs, parts = [], []
    for number, frames in enumerate(shots):
        source = PICTURES[number % len(PICTURES)].format(size=SIZE, fps=FPS)
        inputs += ["-f", "lavfi", "-t", f"{frames / FPS:.2f}", "-i", source]
        parts.append(f"[{number}:v]hue=h={47 * number % 360},format=yuv420p,setsar=1[v{number}]")
    labels = "".join(f"[v{number}]" for number in range(len(shots)))
    graph = ";".join([*parts, f"{labels}concat=n={len(shots)}:v=1[out]"])
    output = ["-filter_complex", graph, "-map", "[out]", "-c:v", "libx264", "-preset", "medium", "-crf", "23"]
    command = [get_ffmpeg_exe(), "-nostdin", "-loglevel", "error", *inputs, *output, f"file:{path}"]
    subprocess.run(command, check=True)


def measure(path: Path, shots: Sequence[int]) -> dict[str, object]:
    """Return speed in seconds of video for a second, recall and precision."""
    planted = [sum(shots[:number]) for number in range(1, len(shots))]
    began, began_cpu = perf_counter(), process_time()
    frames = [one.frame for one in cuts_of(path)]
    wall_s, cpu_s = perf_counter() - began, process_time() - began_cpu
    video_s = sum(shots) / FPS
    hits = sum(any(abs(frame - at) <= TOLERANCE for frame in frames) for at in planted)
    right = sum(any(abs(frame - at) <= TOLERANCE for at in planted) for frame in frames)
    return {
        **{"video_s": video_s, "megabytes": round(path.stat().st_size / 1e6, 1), "planted_cuts": len(planted)},
        **{"cuts": len(frames), "recall": hits / len(planted), "precision": right / len(frames) if frames else None},
        **{"wall_s": round(wall_s, 2), "times_real_time": round(video_s / wall_s, 1)},
        **{"processor_s": round(cpu_s, 2), "times_real_time_of_processor": round(video_s / cpu_s, 1)},
        **{"detector": DETECTOR, "threshold": THRESHOLD, "scenedetect": detector_version()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shots", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    shots = shots_drawn(options.shots, options.seed)
    with TemporaryDirectory(prefix="momentjudge-") as folder:
        path = Path(folder) / "planted.mp4"
        video_render(path, shots)
        print(json.dumps(measure(path, shots), indent=1))


if __name__ == "__main__":
    main()
