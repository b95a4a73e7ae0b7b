"""How long a release, a backup with its restore, and an import of very many videos take, on databases of their own.

    python -m benchmarks.archives release --file raw_annotation.csv --json
    python -m benchmarks.archives release --pairs 96480 --judgments 227808 --json
    python -m benchmarks.archives restore --file raw_annotation.csv --json
    python -m benchmarks.archives media --videos 2000 --json

With ``--file`` the judgments of the file are imported; without, the database is filled with a project of that size that
has queries and moments. Every step runs in a process of its own.

``release`` builds, downloads and builds again with another hash seed, locale and time zone. Exit status 1: the release
took more than 60 s or 500 MB, the download more than 10 s, or the second release has other content.

``restore`` runs `manage.py backup` and, into the empty folder of another site, `manage.py restore`, which compares
every table with the snapshot before it ends. Times are of whole commands, the start and the stop of the embedded
PostgreSQL among them. Exit status 1: the restore took more than 120 s, or what came back differs.

``media`` gives many videos a file of some bytes each, so that what is measured is bookkeeping: listing, storing, a row.
One process stores them and is killed (kill -9) half-way, the next goes on. Exit status 1: a video has no file, or more
were stored than one for each and one for the kill.

Method and figures: docs/benchmarks/release.md and restore.md.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.common import ROOT, arguments, machine, show

BUILD_S, DOWNLOAD_S, MEMORY_MB = 60.0, 10.0, 500.0
RESTORE_S = 120.0
OTHERWISE = {"PYTHONHASHSEED": "7", "LC_ALL": "C", "TZ": "Pacific/Auckland"}
AT_ONCE = 5000  # videos stored by one statement
LOOK_S = 0.2


@dataclass
class Release:
    """Seconds on the clock, processor seconds and peak memory of each process."""

    pairs: int
    judgments: int
    build: dict[str, Any]
    build_again: dict[str, Any]
    download: dict[str, Any]
    same_content: bool
    load_before: float
    machine: dict[str, str | int | float]

    @property
    def good(self) -> bool:
        return (
            self.same_content
            and self.build["seconds"] <= BUILD_S
            and self.build["peak_mb"] <= MEMORY_MB
            and self.download["seconds"] <= DOWNLOAD_S
        )


@dataclass
class Restore:
    """Seconds of the commands; ``database_s`` is the restore without the start of its process and its database."""

    pairs: int
    judgments: int
    rows: int
    tables: int
    dump_mb: float
    backup_s: float
    restore_s: float
    database_s: float
    same_content: bool
    load_before: float
    machine: dict[str, str | int | float]

    @property
    def good(self) -> bool:
        return self.same_content and self.restore_s <= RESTORE_S


@dataclass
class MediaImport:
    """Seconds until the kill, of going on, and of looking again at what is there."""

    videos: int
    killed_s: float
    went_on_s: float
    added_then: int
    looked_again_s: float
    with_file: int
    stored: int
    ms_each: float
    peak_mb: float
    load_before: float
    machine: dict[str, str | int | float]

    @property
    def good(self) -> bool:
        return self.with_file == self.videos and self.stored <= self.videos + 1


def main(argv: Sequence[str] | None = None) -> int:
    parser = arguments(__doc__)
    parser.add_argument("what", choices=MEASURED)
    parser.add_argument("--file", type=Path, help="judgments: pair_id,worker,relevance")
    parser.add_argument("--pairs", type=int, default=96_480, help="without --file (96480)")
    parser.add_argument("--judgments", type=int, default=227_808, help="without --file (227808)")
    parser.add_argument("--videos", type=int, default=100_000, help="of media (100000)")
    parser.add_argument("--act", choices=ACTS, help=argparse.SUPPRESS)  # a process of the benchmark itself
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.act:
        import django

        django.setup()
        print(json.dumps(ACTS[options.act](options)))
        return 0
    load = round(os.getloadavg()[0], 2)
    with TemporaryDirectory(prefix="momentjudge-benchmark-") as folder:
        result = MEASURED[options.what](Path(folder), options, load)
    show(result, as_json=options.json)
    return 0 if result.good else 1


def words_of(options: argparse.Namespace) -> list[str]:
    """The arguments of a process that fills a database as was asked for."""
    words = ["--pairs", str(options.pairs), "--judgments", str(options.judgments)]
    return words + (["--file", str(options.file.resolve())] if options.file else [])


def release(var: Path, options: argparse.Namespace, load: float) -> Release:
    from core.embedded import hold_database

    words = words_of(options)
    with hold_database(var):
        filled = process(var, "fill", words)
        build, again = process(var, "build", words), process(var, "build", words, **OTHERWISE)
        download = process(var, "download", words)
    if download["rows"] != filled["judgments"]:
        raise RuntimeError(f"{download['rows']} rows were downloaded of {filled['judgments']} judgments")
    same = build["content_sha256"] == again["content_sha256"]
    return Release(filled["pairs"], filled["judgments"], build, again, download, same, load, machine())


def restore(folder: Path, options: argparse.Namespace, load: float) -> Restore:
    from core.embedded import hold_database

    here, there, backups = (folder / name for name in ("here", "there", "backups"))
    here.mkdir(), there.mkdir()  # type: ignore[func-returns-value]
    with hold_database(here):
        filled = process(here, "fill", words_of(options))
    made, backup_s = manage(here, "backup", str(backups))
    told, restore_s = manage(there, "restore", str(backups))
    return Restore(
        pairs=filled["pairs"],
        judgments=filled["judgments"],
        rows=made["rows"],
        tables=made["tables"],
        dump_mb=round(made["dump"]["bytes"] / 1e6, 1),
        backup_s=backup_s,
        restore_s=restore_s,
        database_s=told["database_s"],
        same_content=(told["rows"], told["tables"]) == (made["rows"], made["tables"]),
        load_before=load,
        machine=machine(),
    )


def media(place: Path, options: argparse.Namespace, load: float) -> MediaImport:
    from core.embedded import hold_database

    var, folder, count = place / "var", place / "videos", options.videos
    words = ["--videos", str(count), "--folder", str(folder)]
    var.mkdir(), folder.mkdir()  # type: ignore[func-returns-value]
    with hold_database(var):
        process(var, "fill_videos", words)
        killed_s = killed_at(started(var, "store_videos", words), var / "media" / "videos", count // 2)
        began = time.perf_counter()
        told = process(var, "store_videos", words)
        went_on_s = time.perf_counter() - began
        stored = len(list((var / "media" / "videos").iterdir()))
        looked = process(var, "store_videos", words)
    return MediaImport(
        videos=count,
        killed_s=round(killed_s, 1),
        went_on_s=round(went_on_s, 1),
        added_then=told["added"],
        looked_again_s=looked["seconds"],
        with_file=looked["with_file"],
        stored=stored,
        ms_each=round(1000 * told["seconds"] / max(1, told["added"]), 2),
        peak_mb=told["peak_mb"],
        load_before=load,
        machine=machine(),
    )


def started(var: Path, act: str, words: Sequence[str], **more: str) -> "subprocess.Popen[str]":
    """A process of this benchmark that does one step on the site in ``var``."""
    return _started(var, "-m", "benchmarks.archives", "release", "--act", act, *words, **more)


def process(var: Path, act: str, words: Sequence[str], **more: str) -> dict[str, Any]:
    """What one step printed. Raises ``subprocess.CalledProcessError``: it failed; what it said is on stderr."""
    return finished(started(var, act, words, **more))


def manage(var: Path, *words: str) -> tuple[dict[str, Any], float]:
    """What a command of ``manage.py`` says at its end, and its seconds. Raises as ``process``."""
    began = time.perf_counter()
    said = finished(_started(var, "manage.py", *words))
    return said, round(time.perf_counter() - began, 1)


def _started(var: Path, *words: str, **more: str) -> "subprocess.Popen[str]":
    environment = {"MOMENTJUDGE_VAR": str(var), "DJANGO_SETTINGS_MODULE": "config.settings.local", **more}
    return subprocess.Popen(
        [sys.executable, *words], env={**os.environ, **environment}, cwd=ROOT, stdout=subprocess.PIPE, text=True
    )


def finished(process: "subprocess.Popen[str]") -> dict[str, Any]:
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


# What a process of the benchmark does


def fill(options: argparse.Namespace) -> dict[str, Any]:
    from django.core.management import call_command
    from django.db import connection

    from judging.models import Judgment, Pair

    call_command("migrate", verbosity=0)
    if options.file:
        from judging.imports.historic import judgments_import

        judgments_import(path=options.file, project_name="Historic judgments")
        with connection.cursor() as cursor:
            cursor.execute("VACUUM (ANALYZE)")
    else:
        from benchmarks.populate import populate

        populate(options.pairs, options.judgments, 200)
    final = Judgment.objects.exclude(assignment__state="open")  # others may still change: no file has them
    return {"pairs": Pair.objects.count(), "judgments": final.count()}


def build(options: argparse.Namespace) -> dict[str, Any]:
    from accounts.models import Project
    from judging.releases.services import release_build, release_create

    release = release_create(project=Project.objects.get(), actor=None, wake=False)
    began = time.perf_counter()
    release = release_build(release_id=release.pk)
    return {
        **spent(began),
        "archive_bytes": release.archive_bytes,
        "unpacked_bytes": sum(file["bytes"] for file in release.manifest["files"].values()),
        "queries": release.manifest["counts"]["queries"],
        "judgments": release.manifest["counts"]["judgments"],
        "content_sha256": release.content_sha256,
    }


def download(options: argparse.Namespace) -> dict[str, Any]:
    """Through the page, as a browser gets it."""
    from django.conf import settings
    from django.test import Client
    from django.urls import reverse

    from accounts.models import Membership, Project
    from tests.factories import lead

    settings.ALLOWED_HOSTS = [*settings.ALLOWED_HOSTS, "testserver"]
    project, client = Project.objects.get(), Client()
    held = Membership.objects.filter(project=project, role=Membership.Role.LEAD).first()
    client.force_login(held.user if held else lead(project))
    began, size, lines = time.perf_counter(), 0, 0
    answer = client.get(reverse("judging:judgments-csv", args=[project.uuid]))
    for piece in answer.streaming_content:  # type: ignore[attr-defined]
        size += len(piece)
        lines += piece.count(b"\n")
    return {**spent(began), "rows": lines - 1, "bytes": size}


def spent(began: float) -> dict[str, Any]:
    """Since ``began`` on the clock; the processor and the memory are of the whole process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "seconds": round(time.perf_counter() - began, 1),
        "processor_seconds": round(used.ru_utime + used.ru_stime, 1),
        "peak_mb": round(used.ru_maxrss * 1024 / 1e6, 1),
    }


def fill_videos(options: argparse.Namespace) -> dict[str, Any]:
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


def store_videos(options: argparse.Namespace) -> dict[str, Any]:
    from annotation.corpora.services import corpora
    from annotation.models import Video

    corpora.send_on_commit = lambda *args: None  # nobody cuts here
    began = time.perf_counter()
    videos = {video.name: video for video in Video.objects.order_by("name")}
    added = corpora.video_files_add(videos=videos, folder=options.folder)
    return {"added": added, **spent(began), "with_file": Video.objects.exclude(file="").count()}


ACTS: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
    "fill": fill,
    "build": build,
    "download": download,
    "fill_videos": fill_videos,
    "store_videos": store_videos,
}
MEASURED: dict[str, Callable[[Path, argparse.Namespace, float], Release | Restore | MediaImport]] = {
    "release": release,
    "restore": restore,
    "media": media,
}

if __name__ == "__main__":
    sys.exit(main())
