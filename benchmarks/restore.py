"""How long a backup and a restore of the published judgments take, from one embedded database into another.

    python benchmarks/restore.py --file raw_annotation.csv --json
    python benchmarks/restore.py --pairs 96480 --judgments 227808 --json

With ``--file`` the judgments of the file are imported; without, the database is filled with a project of that size that
has queries and moments. Then `manage.py backup` and, into the empty folder of another site, `manage.py restore`, which
compares every table with the snapshot before it ends. Times are of whole commands, the start and the stop of the
embedded PostgreSQL among them. Method and figures: docs/benchmarks/restore.md. Exit status 1: the restore took more
than 120 s, or what came back differs.
"""

import argparse
import json
import os
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
from benchmarks.release import process  # noqa: E402

RESTORE_S = 120.0


@dataclass
class Result:
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


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", type=Path, help="judgments: pair_id,worker,relevance")
    parser.add_argument("--pairs", type=int, default=96_480, help="without --file (96480)")
    parser.add_argument("--judgments", type=int, default=227_808, help="without --file (227808)")
    parser.add_argument("--json", action="store_true", help="one JSON line")
    options = parser.parse_args(argv)
    load = os.getloadavg()[0]
    with TemporaryDirectory(prefix="momentjudge-benchmark-") as folder:
        result = measured(Path(folder), options, load)
    print(json.dumps(asdict(result), indent=None if options.json else 2))
    return 0 if result.good else 1


def measured(folder: Path, options: argparse.Namespace, load: float) -> Result:
    from core.embedded import hold_database

    words = ["--pairs", str(options.pairs), "--judgments", str(options.judgments)]
    words += ["--file", str(options.file.resolve())] if options.file else []
    here, there, backups = (folder / name for name in ("here", "there", "backups"))
    here.mkdir(), there.mkdir()  # type: ignore[func-returns-value]
    with hold_database(here):
        filled = process(here, "fill", words)
    made, backup_s = manage(here, "backup", str(backups))
    told, restore_s = manage(there, "restore", str(backups))
    return Result(
        pairs=filled["pairs"],
        judgments=filled["judgments"],
        rows=made["rows"],
        tables=made["tables"],
        dump_mb=round(made["dump"]["bytes"] / 1e6, 1),
        backup_s=backup_s,
        restore_s=restore_s,
        database_s=told["database_s"],
        same_content=(told["rows"], told["tables"]) == (made["rows"], made["tables"]),
        load_before=round(load, 2),
        machine=machine(),
    )


def manage(var: Path, *words: str) -> tuple[dict[str, Any], float]:
    """What the command says at its end, and its seconds.

    Raises:
        subprocess.CalledProcessError: it failed; what it said is on stderr.
    """
    environment = {**os.environ, "MOMENTJUDGE_VAR": str(var), "DJANGO_SETTINGS_MODULE": "config.settings.local"}
    began = time.perf_counter()
    command = [sys.executable, "manage.py", *words]
    done = subprocess.run(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    seconds = round(time.perf_counter() - began, 1)
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said, seconds


if __name__ == "__main__":
    sys.exit(main())
