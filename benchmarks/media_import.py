"""What an import of very many videos costs besides their bytes, and that one which is killed goes on.

    python benchmarks/media_import.py --json
    python benchmarks/media_import.py --videos 2000 --json

A database of its own holds that many videos with a moment each; a folder holds a file of some bytes for each, so that
what is measured is bookkeeping: listing, storing, a row. One process stores them and is killed (kill -9) half-way, the
next goes on. Figures: docs/benchmarks/restore.md. Exit status 1: a video has no file, or more were stored than one for
each and one for the kill.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # started as a script

from benchmarks.machine import machine  # noqa: E402

AT_ONCE = 5000
LOOK_S = 0.2


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--videos", type=int, default=100_000)
    parser.add_argument("--json", action="store_true", help="one JSON line")
    parser.add_argument("--act", choices=ACTS, help=argparse.SUPPRESS)  # a process of the benchmark itself
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.act:
        print(json.dumps(act(options)))
        return 0
    load = os.getloadavg()[0]
    with TemporaryDirectory(prefix="momentjudge-benchmark-") as place:
        result = {**measured(Path(place), options.videos), "load_before": round(load, 2), "machine": machine()}
    print(json.dumps(result, indent=None if options.json else 2))
    return 0 if result["with_file"] == options.videos and result["stored"] <= options.videos + 1 else 1


def measured(place: Path, count: int) -> dict[str, Any]:
    from core.embedded import hold_database

    var, folder = place / "var", place / "videos"
    var.mkdir(), folder.mkdir()  # type: ignore[func-returns-value]
    with hold_database(var):
        finish(start(var, folder, "fill", count))
        killed_s = killed_at(start(var, folder, "store", count), var / "media" / "videos", count // 2)
        began = time.perf_counter()
        told = finish(start(var, folder, "store", count))
        went_on_s = time.perf_counter() - began
        stored = len(list((var / "media" / "videos").iterdir()))
        looked = finish(start(var, folder, "store", count))
    return {
        "videos": count,
        "killed_s": round(killed_s, 1),
        "went_on_s": round(went_on_s, 1),
        "added_then": told["added"],
        "looked_again_s": looked["seconds"],
        "with_file": looked["with_file"],
        "stored": stored,
        "ms_each": round(1000 * told["seconds"] / max(1, told["added"]), 2),
        "peak_mb": told["peak_mb"],
    }


def start(var: Path, folder: Path, name: str, count: int) -> "subprocess.Popen[str]":
    known = {"MOMENTJUDGE_VAR": str(var), "DJANGO_SETTINGS_MODULE": "config.settings.local"}
    command = [sys.executable, __file__, "--act", name, "--videos", str(count), "--folder", str(folder)]
    return subprocess.Popen(command, env={**os.environ, **known}, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def finish(process: "subprocess.Popen[str]") -> dict[str, Any]:
    said, _ = process.communicate()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, process.args)
    told: dict[str, Any] = json.loads(said.splitlines()[-1])
    return told


def killed_at(process: "subprocess.Popen[str]", folder: Path, count: int) -> float:
    """Kill it once so many files are stored; its seconds."""
    began = time.perf_counter()
    while process.poll() is None and (not folder.exists() or sum(1 for _ in os.scandir(folder)) < count):
        time.sleep(LOOK_S)
    process.kill()
    process.communicate()
    return time.perf_counter() - began


def act(options: argparse.Namespace) -> dict[str, Any]:
    import django

    django.setup()
    return ACTS[options.act](options)


def fill(options: argparse.Namespace) -> dict[str, Any]:
    from django.core.management import call_command

    from annotation.models import Corpus, Moment, Video

    call_command("migrate", verbosity=0)
    corpus = Corpus.objects.create(name="many")
    for first in range(0, options.videos, AT_ONCE):
        numbers = range(first, min(first + AT_ONCE, options.videos))
        made = [Video(corpus=corpus, name=f"v{n:06}", duration_s=60, index=n) for n in numbers]
        Video.objects.bulk_create(made)
        Moment.objects.bulk_create([Moment(video=video, start_s=1, end_s=2) for video in made])
        for video in made:
            (options.folder / f"{video.name}.mp4").write_bytes(video.name.encode())
    return {}


def store(options: argparse.Namespace) -> dict[str, Any]:
    from annotation.corpora.services import video_files
    from annotation.models import Video
    from benchmarks.release import spent

    video_files.send_on_commit = lambda *args: None  # nobody cuts here
    began = time.perf_counter()
    videos = {video.name: video for video in Video.objects.order_by("name")}
    added = video_files.video_files_add(videos=videos, folder=options.folder)
    return {"added": added, **spent(began), "with_file": Video.objects.exclude(file="").count()}


ACTS = {"fill": fill, "store": store}

if __name__ == "__main__":
    sys.exit(main())
