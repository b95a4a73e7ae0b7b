"""Draw which package imports which, from the code itself: ``python tools/packages.py > docs/packages.svg``."""

import ast
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LAYERS = ("config", "models_runner", "judging", "annotation", "accounts", "core")  # each imports those below it
LIBRARY = "moment_retrieval"  # beside them: imports none
ROOMS = {"management", "migrations", "models", "services", "settings"}  # of the apps: about no one thing
WIDTH, HEIGHT, GAP, TOP = 540, 92, 30, 20
BESIDE = 660  # where the library stands


def imports(root: Path = ROOT) -> Counter[tuple[str, str]]:
    """Return how many modules of a package import another package, by (importer, imported)."""
    counts: Counter[tuple[str, str]] = Counter()
    for package in (*LAYERS, LIBRARY):
        for path in (root / package).rglob("*.py"):
            if "migrations" not in path.parts:
                counts.update((package, other) for other in _imported(path) - {package})
    return counts


def _imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
    return names & {*LAYERS, LIBRARY}


def concepts(package: str, root: Path = ROOT) -> list[str]:
    """Return the folders of a package that are about something."""
    folders = (path.parent for path in (root / package).glob("*/__init__.py"))
    return sorted(folder.name for folder in folders if folder.name not in ROOMS or package == LIBRARY)


def drawing(root: Path = ROOT) -> str:
    """Return the picture as SVG: layers from top to bottom, the library beside them, and the imports as counted.

    Arrows lead to the next layer and to the library; a box says how many of its modules import each package below.
    """
    top = {package: TOP + index * (HEIGHT + GAP) for index, package in enumerate(LAYERS)}
    height = TOP + len(LAYERS) * (HEIGHT + GAP)
    import_counts = imports(root)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {BESIDE + 240} {height}" font-family="sans-serif">',
        "<title>Packages and what they import</title>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#777"/></marker></defs>',
        f'<rect width="{BESIDE + 240}" height="{height}" fill="#fff"/>',
    ]
    for package, y in top.items():
        below = [(other, count) for other in top if (count := import_counts[package, other])]
        caption = f"imports {' · '.join(f'{other} {count}' for other, count in below)}" if below else ""
        parts.extend(_box((20, y, WIDTH, HEIGHT), package, [*_wrapped(concepts(package, root), 84), caption]))
        parts.extend(
            _arrow(20 + WIDTH // 2, y + HEIGHT, 20 + WIDTH // 2, top[other])
            for other, _ in below
            if top[other] == y + HEIGHT + GAP
        )
    tall = height - TOP - GAP
    parts.extend(_box((BESIDE, TOP, 220, tall), LIBRARY, _wrapped(concepts(LIBRARY, root), 26)))
    for package, y in top.items():
        if count := import_counts[package, LIBRARY]:
            middle = y + HEIGHT // 2
            parts.append(_arrow(20 + WIDTH, middle, BESIDE, middle))
            parts.append(f'<text x="{30 + WIDTH}" y="{middle - 6}" font-size="12" fill="#555">{count} modules</text>')
    return "\n".join([*parts, "</svg>", ""])


def _box(bounds: tuple[int, int, int, int], name: str, lines: list[str]) -> list[str]:
    x, y, width, height = bounds
    text = [
        f'<text x="{x + 14}" y="{y + 42 + 17 * index}" font-size="12" fill="#444">{line}</text>'
        for index, line in enumerate(lines)
    ]
    return [
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" fill="#eef3f8" stroke="#7a93ad"/>',
        f'<text x="{x + 14}" y="{y + 22}" font-size="15" font-weight="bold" fill="#123">{name}</text>',
        *text,
    ]


def _arrow(x1: int, y1: int, x2: int, y2: int) -> str:
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="#777" stroke-width="1.5" marker-end="url(#tip)"/>'


def _wrapped(words: list[str], width: int) -> list[str]:
    lines = [""]
    for word in words:
        line = f"{lines[-1]} · {word}" if lines[-1] else word
        if len(line) > width:
            lines.append(word)
        else:
            lines[-1] = line
    return lines


if __name__ == "__main__":
    print(drawing(), end="")
