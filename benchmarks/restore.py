"""How long a backup and its restore take, on databases of their own.

    python -m benchmarks.restore --file raw_annotation.csv --json

The judgments of the file are imported; then `manage.py backup` and `manage.py restore` run, in processes of their own.
Times are of whole commands. Method and figures: docs/benchmarks/restore.md. Exit status 1: the restore took more than
120 s, or what came back differs.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.common import ROOT, arguments, load_now, machine, show

RESTORE_S = 120.0


def main(argv: Sequence[str] | None = None) -> int:
    parser = arguments(__doc__)
    parser.add_argument("--file", type=Path, required=True, help="judgments: pair_id,worker,relevance")
    options = parser.parse_args(argv)
    load = load_now()
    with TemporaryDirectory(prefix="momentjudge-benchmark-") as folder:
        result = restore(Path(folder), options.file.resolve())
    show(result | {"load_before": load, "machine": machine()}, as_json=options.json)
    return 0 if is_good(result) else 1


def restore(folder: Path, judgments: Path) -> dict[str, Any]:
    """Return seconds of the commands; ``database_s`` is without the start of the restore's process and database."""
    here, there, backups = (folder / name for name in ("here", "there", "backups"))
    here.mkdir()
    there.mkdir()
    manage(here, "import_judgments", str(judgments), "--project", "Historic judgments")
    began = time.perf_counter()
    backup = json.loads(manage(here, "backup", str(backups)))
    backed_up = time.perf_counter()
    result = json.loads(manage(there, "restore", str(backups)))
    return {
        "rows": backup["rows"],
        "tables": backup["tables"],
        "dump_mb": round(backup["dump"]["bytes"] / 1e6, 1),
        "backup_s": round(backed_up - began, 1),
        "restore_s": round(time.perf_counter() - backed_up, 1),
        "database_s": result["database_s"],
        "same_content": (result["rows"], result["tables"]) == (backup["rows"], backup["tables"]),
    }


def is_good(result: Mapping[str, Any]) -> bool:
    return bool(result["same_content"] and result["restore_s"] <= RESTORE_S)


def manage(var: Path, *words: str) -> str:
    """Return the last line of a command of ``manage.py`` on the site in ``var``.

    Raises:
        subprocess.CalledProcessError: it failed, as stderr says.
    """
    environment = {**os.environ, "MOMENTJUDGE_VAR": str(var), "DJANGO_SETTINGS_MODULE": "config.settings.local"}
    command = [sys.executable, "manage.py", *words]
    process = subprocess.run(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return process.stdout.splitlines()[-1]


if __name__ == "__main__":
    sys.exit(main())
