"""Measure the code outside tests: how many modules, how long. ``python tools/size.py [--json]``."""

import argparse
import json
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = (
    *("config", "core", "accounts", "annotation", "judging", "models_runner", "moment_retrieval"),
    *("benchmarks", "tools"),
)
SHORT = 60  # lines; a shorter module usually belongs to its neighbour
MAY_BE_SHORT = {"__init__.py", "urls.py", "api_urls.py", "apps.py"}


def measured(root: Path = ROOT) -> dict[str, Any]:
    """Return counts of modules and of lines.

    Modules are those that hold code: no tests, migrations, or empty ``__init__.py``. Lines count migrations, too.
    """
    files = {path: len(path.read_text().splitlines()) for name in PACKAGES for path in (root / name).rglob("*.py")}
    modules = {path: lines for path, lines in files.items() if lines and "migrations" not in path.parts}
    longest = max(modules, key=lambda path: modules[path])
    return {
        "modules": len(modules),
        "median": median(modules.values()),
        "short": sum(lines < SHORT and path.name not in MAY_BE_SHORT for path, lines in modules.items()),
        "longest": {"path": longest.relative_to(root).as_posix(), "lines": modules[longest]},
        "lines": sum(files.values()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the code outside tests.")
    parser.add_argument("--json", action="store_true", help="one line of JSON")
    size = measured()
    if parser.parse_args().json:
        print(json.dumps(size))
        return
    print(f"{size['modules']} modules, {size['median']:g} lines in the median, {size['short']} under {SHORT}")
    print(f"longest: {size['longest']['path']}, {size['longest']['lines']} lines; {size['lines']} lines in all")


if __name__ == "__main__":
    main()
