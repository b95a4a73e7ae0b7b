"""Write the numbers of the figures of semantic similarity: relevant captions by threshold, correlations, bounds."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path

from moment_retrieval.errors import MalformedFile, at
from moment_retrieval.formats.matrices import Relevance, read_relevance, read_similarity
from moment_retrieval.relevance.figures import (
    EQUIVALENT,
    THRESHOLDS,
    proxy_correlation,
    recall_bounds,
    relevant_captions,
)

HELP = "Write the numbers of the figures of semantic similarity from matrices of relevance."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``relevance-figures`` on ``parser``."""
    parser.add_argument(
        "relevance", metavar="FILE", type=Path, nargs="+", help="of a proxy each, as relevance writes them; named by it"
    )
    parser.add_argument("--to", metavar="FOLDER", type=Path, required=True, help="for the CSV files")
    parser.add_argument(
        "--similarity",
        metavar="FILE",
        type=Path,
        help=f"of a system: bounds of its recall where captions of relevance above {EQUIVALENT} are equivalent",
    )


def output(options: argparse.Namespace) -> tuple[str, list[str]]:
    """Write the files; return what they hold. Raises ScoringError."""
    names = [path.stem for path in options.relevance]
    if len(set(names)) < len(names):
        raise MalformedFile("two files have the same name; rename one, as a proxy is named by its file")
    proxies = {path.stem: read_relevance(path) for path in options.relevance}
    counts = {name: relevant_captions(proxy.matrix) for name, proxy in proxies.items()}
    options.to.mkdir(parents=True, exist_ok=True)
    rows, lines = list[Sequence[object]](), []
    for name, captions in counts.items():
        rows += [(name, f"{least:g}", n) for least, n in zip(THRESHOLDS, captions.tolist(), strict=True)]
        least_words = f"{captions[0]:.2f} captions of relevance {THRESHOLDS[0]:g} or more"
        lines.append(f"{name}: {least_words}, {captions[-1]:.2f} of 1")
    _write(options.to / "relevant_captions.csv", ("proxy", "threshold", "captions"), rows)
    correlations = []
    for one, other in combinations(proxies, 2):
        with at(f"{one} and {other}"):
            value, videos = proxy_correlation(proxies[one].matrix, proxies[other].matrix)
        correlations.append((one, other, value, videos))
        lines.append(f"{one} and {other}: correlation {value:.4f} over {videos} videos")
    if correlations:
        _write(options.to / "correlations.csv", ("proxy", "other", "correlation", "videos"), correlations)
    if options.similarity:
        lines += _bounds(options.similarity, proxies, options.to)
    return "\n".join(lines), []


def _bounds(path: Path, proxies: dict[str, Relevance], folder: Path) -> list[str]:
    similarity, rows, lines = read_similarity(path), [], []
    for name, proxy in proxies.items():
        with at(name):
            bounds = recall_bounds(similarity, proxy.matrix, proxy.owners)
        for direction, (least, most) in bounds.items():
            rows.append((name, direction, least, most))
            lines.append(f"{name}, {direction}: geometric mean of recall between {least:.4f} and {most:.4f}")
    _write(folder / "bounds.csv", ("proxy", "direction", "smallest", "largest"), rows)
    return lines


def _write(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([round(cell, 6) if isinstance(cell, float) else cell for cell in row] for row in rows)
