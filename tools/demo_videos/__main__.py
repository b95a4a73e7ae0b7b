"""``python -m tools.demo_videos``: draw the videos of the demo and put them where it looks for them."""

import argparse
from concurrent.futures import ProcessPoolExecutor

from annotation.demo import Episode, video_path, write_script
from tools.demo_videos.render import render_episode


def draw(episode: Episode) -> str:
    """Draw the episode's video in place of the one that is there; return where it is and its bytes."""
    path = video_path(episode)
    path.parent.mkdir(parents=True, exist_ok=True)
    render_episode(episode, path)
    return f"{path}: {path.stat().st_size:,} bytes"


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw the videos of the demo.")
    parser.add_argument("--seed", type=int, default=20260101, help="of the demo (default: the shipped one)")
    parser.add_argument("--videos", type=int, default=40, help="how many (default: 40)")
    options = parser.parse_args()
    with ProcessPoolExecutor() as processes:
        for line in processes.map(draw, write_script(seed=options.seed, videos=options.videos)):
            print(line, flush=True)


if __name__ == "__main__":
    main()
