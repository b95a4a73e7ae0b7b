"""How long a release and a backup with its restore take, on databases of their own.

    python -m benchmarks.archives release --file raw_annotation.csv --json
    python -m benchmarks.archives release --pairs 96480 --judgments 227808 --json
    python -m benchmarks.archives restore --file raw_annotation.csv --json

With ``--file`` the judgments of the file are imported; without, a project of that size is written. Every step runs in a
process of its own. ``release`` builds, downloads and builds again with another hash seed, locale and time zone.
``restore`` runs `manage.py backup` and `manage.py restore`; times are of whole commands.

Method and figures: docs/benchmarks/release.md and restore.md. Exit status 1: the release took more than 60 s or 500 MB,
the download more than 10 s, or the second release has other content; the restore took more than 120 s or differs.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.common import ROOT, arguments, load_now, machine, show
from core.embedded.holding import hold_database

BUILD_S, DOWNLOAD_S, MEMORY_MB = 60.0, 10.0, 500.0
RESTORE_S = 120.0
OTHERWISE = {"PYTHONHASHSEED": "7", "LC_ALL": "C", "TZ": "Pacific/Auckland"}


def main(argv: Sequence[str] | None = None) -> int:
    parser = arguments(__doc__, pairs=(96_480, "without --file"), judgments=(227_808, "without --file"))
    parser.add_argument("what", choices=MEASURED)
    parser.add_argument("--file", type=Path, help="judgments: pair_id,worker,relevance")
    parser.add_argument("--act", choices=ACTS, help=argparse.SUPPRESS)  # a process of the benchmark itself
    options = parser.parse_args(argv)
    if options.act:
        import django

        django.setup()
        print(json.dumps(ACTS[options.act](options)))
        return 0
    load = load_now()
    with TemporaryDirectory(prefix="momentjudge-benchmark-") as folder:
        result = MEASURED[options.what](Path(folder), options)
    show(result | {"load_before": load, "machine": machine()}, as_json=options.json)
    return 0 if IS_GOOD[options.what](result) else 1


def words_of(options: argparse.Namespace) -> list[str]:
    """Return the arguments of a process that fills a database with the requested rows."""
    words = ["--pairs", str(options.pairs), "--judgments", str(options.judgments)]
    return words + (["--file", str(options.file.resolve())] if options.file else [])


def release(var: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Return seconds on the clock, processor seconds and peak memory of each process."""
    words = words_of(options)
    with hold_database(var):
        rows = process(var, "fill", words)
        build, again = process(var, "build", words), process(var, "build", words, **OTHERWISE)
        download = process(var, "download", words)
    if download["rows"] != rows["judgments"]:
        raise RuntimeError(f"{download['rows']} rows were downloaded of {rows['judgments']} judgments")
    same = build["content_sha256"] == again["content_sha256"]
    return {**rows, "build": build, "build_again": again, "download": download, "same_content": same}


def restore(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Return seconds of the commands; ``database_s`` is without the start of the restore's process and database."""
    here, there, backups = (folder / name for name in ("here", "there", "backups"))
    here.mkdir()
    there.mkdir()
    with hold_database(here):
        rows = process(here, "fill", words_of(options))
    backup, backup_s = manage(here, "backup", str(backups))
    result, restore_s = manage(there, "restore", str(backups))
    return {
        **rows,
        "rows": backup["rows"],
        "tables": backup["tables"],
        "dump_mb": round(backup["dump"]["bytes"] / 1e6, 1),
        "backup_s": backup_s,
        "restore_s": restore_s,
        "database_s": result["database_s"],
        "same_content": (result["rows"], result["tables"]) == (backup["rows"], backup["tables"]),
    }


def is_good_release(result: Mapping[str, Any]) -> bool:
    build, download = result["build"], result["download"]
    in_time = build["seconds"] <= BUILD_S and download["seconds"] <= DOWNLOAD_S
    return bool(result["same_content"] and in_time and build["peak_mb"] <= MEMORY_MB)


def is_good_restore(result: Mapping[str, Any]) -> bool:
    return bool(result["same_content"] and result["restore_s"] <= RESTORE_S)


def process(var: Path, act: str, words: Sequence[str], **more: str) -> dict[str, Any]:
    """Return what one step prints that a process of its own does on the site in ``var``.

    Raises:
        subprocess.CalledProcessError: it failed, as stderr says.
    """
    return last_line(var, "-m", "benchmarks.archives", "release", "--act", act, *words, **more)


def manage(var: Path, *words: str) -> tuple[dict[str, Any], float]:
    """Return the last line of a command of ``manage.py``, which is JSON, and its seconds. Raises as ``process``."""
    began = time.perf_counter()
    result = last_line(var, "manage.py", *words)
    return result, round(time.perf_counter() - began, 1)


def last_line(var: Path, *words: str, **more: str) -> dict[str, Any]:
    environment = {**os.environ, "MOMENTJUDGE_VAR": str(var), "DJANGO_SETTINGS_MODULE": "config.settings.local", **more}
    done = subprocess.run(
        [sys.executable, *words], env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


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
    membership = Membership.objects.filter(project=project, role=Membership.Role.LEAD).first()
    client.force_login(membership.user if membership else lead(project))
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


ACTS: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {act.__name__: act for act in (fill, build, download)}
MEASURED: dict[str, Callable[[Path, argparse.Namespace], dict[str, Any]]] = {
    act.__name__: act for act in (release, restore)
}
IS_GOOD = {"release": is_good_release, "restore": is_good_restore}

if __name__ == "__main__":
    sys.exit(main())
