"""Write a release as a folder that Hugging Face datasets and ir_datasets load."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from moment_retrieval.errors import MalformedFile
from moment_retrieval.formats.releases import read_release, write_definition, write_tables

HELP = "Write a release for Hugging Face datasets and for ir_datasets."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``convert-release`` on ``parser``."""
    parser.add_argument("release", metavar="RELEASE", type=Path, help="the zip archive of a release, or its folder")
    parser.add_argument("--to", metavar="FOLDER", type=Path, required=True, help="to write, new or empty")
    parser.add_argument(
        "--name", default="", help="under which ir_datasets knows it; without one, from the project's name"
    )


def output(options: argparse.Namespace) -> tuple[str, list[str]]:
    """Write the folder; return what it holds. Raises MalformedFile, ModuleNotFoundError without pyarrow."""
    content = read_release(options.release)
    name = options.name or re.sub(r"[^a-z0-9]+", "-", content.title.lower()).strip("-") or "release"
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
        raise MalformedFile(f"a name holds small letters, digits and hyphens between them: {name!r} does not")
    folder: Path = options.to
    if folder.is_dir() and any(folder.iterdir()):
        raise MalformedFile(f"{folder} is not empty")
    write_tables(content, folder)
    write_definition(content, folder, name)
    lines = [f"{folder}: for datasets.load_dataset, with queries, qrels and moments"]
    lines += [
        f"momentjudge/{name}/{split}: {len(rows):,} queries, {len(content.qrels[split]):,} judged pairs"
        for split, rows in content.queries.items()
    ]
    return "\n".join(lines), []
