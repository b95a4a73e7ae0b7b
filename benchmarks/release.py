"""How long a release and a download of all judgments take, and how much memory, on a database of its own.

    python benchmarks/release.py --file raw_annotation.csv --json
    python benchmarks/release.py --pairs 96480 --judgments 227808 --json

With ``--file`` the judgments of the file are imported; without, the database is filled with a project of that size that
has queries and moments. Building, downloading and building again run in processes of their own, the second build with
another hash seed, locale and time zone. Method and figures: docs/benchmarks/release.md. Exit status 1: the release took
more than 60 s or 500 MB, the download more than 10 s, or the second release has other content.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # started as a script

from benchmarks.machine import machine  # noqa: E402

BUILD_S, DOWNLOAD_S, MEMORY_MB = 60.0, 10.0, 500.0
OTHERWISE = {"PYTHONHASHSEED": "7", "LC_ALL": "C", "TZ": "Pacific/Auckland"}


@dataclass
class Result:
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


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", type=Path, help="judgments: pair_id,worker,relevance")
    parser.add_argument("--pairs", type=int, default=96_480, help="without --file (96480)")
    parser.add_argument("--judgments", type=int, default=227_808, help="without --file (227808)")
    parser.add_argument("--json", action="store_true", help="one JSON line")
    parser.add_argument("--act", choices=ACTS, help=argparse.SUPPRESS)  # a process of the benchmark itself
    options = parser.parse_args(argv)
    if options.act:
        print(json.dumps(act(options.act, options)))
        return 0
    load = os.getloadavg()[0]
    with TemporaryDirectory(prefix="momentjudge-benchmark-") as var:
        result = measured(Path(var), options, load)
    print(json.dumps(asdict(result), indent=None if options.json else 2))
    return 0 if result.good else 1


def measured(var: Path, options: argparse.Namespace, load: float) -> Result:
    from core.embedded import hold_database

    words = ["--pairs", str(options.pairs), "--judgments", str(options.judgments)]
    words += ["--file", str(options.file.resolve())] if options.file else []
    with hold_database(var):
        filled = process(var, "fill", words)
        build, again = process(var, "build", words), process(var, "build", words, **OTHERWISE)
        download = process(var, "download", words)
    if download["rows"] != filled["judgments"]:
        raise RuntimeError(f"{download['rows']} rows were downloaded of {filled['judgments']} judgments")
    same = build["content_sha256"] == again["content_sha256"]
    return Result(filled["pairs"], filled["judgments"], build, again, download, same, round(load, 2), machine())


def process(var: Path, name: str, words: Sequence[str], **more: str) -> dict[str, Any]:
    """What one step, in a process of its own, printed.

    Raises:
        subprocess.CalledProcessError: it failed; what it said is on stderr.
    """
    environment = {
        **os.environ,
        "MOMENTJUDGE_VAR": str(var),
        "DJANGO_SETTINGS_MODULE": "config.settings.local",
        **more,
    }
    command = [sys.executable, __file__, "--act", name, *words]
    done = subprocess.run(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


def act(name: str, options: argparse.Namespace) -> dict[str, Any]:
    import django

    django.setup()
    return ACTS[name](options)


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


ACTS = {"fill": fill, "build": build, "download": download}

if __name__ == "__main__":
    sys.exit(main())
