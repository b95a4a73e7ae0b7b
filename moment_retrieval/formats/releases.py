"""Releases in the forms of two libraries: a folder for Hugging Face datasets, with a definition for ir_datasets.

The folder holds ``README.md``, whose head names the tables; ``data/*.parquet``, the tables; and
``ir_datasets_definition.py``, which registers ``momentjudge/NAME/SPLIT`` over the plain files in ``ir_datasets/``.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote
from zipfile import BadZipFile, ZipFile

from moment_retrieval.errors import MalformedFile, at

NO_WORD = re.compile(r"[\s%]")  # percent-encoded in ids of moments
NO_CELL = re.compile(r"\s+")  # of a line of a TSV file
DEFINITION = '''"""Registers momentjudge/{name} with ir_datasets.

Import this file, then ir_datasets.load("momentjudge/{name}/{split}").
"""

from pathlib import Path

import ir_datasets

FILES = Path(__file__).parent / "ir_datasets"
for split in {splits}:
    ir_datasets.registry.register(
        f"momentjudge/{name}/{{split}}",
        ir_datasets.create_dataset(
            docs_tsv=str(FILES / "docs.tsv"),
            queries_tsv=str(FILES / f"queries-{{split}}.tsv"),
            qrels_trec=str(FILES / f"qrels-{{split}}.txt"),
        ),
    )
'''
DATASET_PAGE = """---
pretty_name: {title}
license: other
license_name: {licence}
task_categories:
- text-retrieval
configs:
{configs}
---

{readme}
"""


@dataclass(frozen=True)
class Content:
    """The parts of a release that retrieval needs: texts of queries, relevance and captions of moments."""

    queries: dict[str, list[tuple[str, str]]]  # by split: id and text
    qrels: dict[str, list[tuple[str, str, int]]]  # by split: query, moment and relevance
    moments: list[dict[str, Any]]  # moment_id, video, start_s, end_s, captions
    readme: str
    title: str
    licence: str


def read_release(path: Path) -> Content:
    """Read what of a release is for retrieval.

    Raises:
        MalformedFile: it is no release, or one of single judgments without moments.
    """
    try:
        files = _files_of(path)
    except (OSError, BadZipFile) as error:
        raise MalformedFile(f"{path} cannot be read: {error}") from error
    missing = {"queries.csv", "qrels.txt", "moments.jsonl", "settings.json", "README.md"} - files.keys()
    if missing:
        raise MalformedFile(f"{path} is no release: it has no {', '.join(sorted(missing))}")
    with at(str(path)):
        try:
            return _content(files)
        except (ValueError, KeyError, TypeError) as error:
            raise MalformedFile(f"it is no release that this version knows: {error}") from error


def _files_of(path: Path) -> dict[str, bytes]:
    names = {"queries.csv", "qrels.txt", "moments.jsonl", "settings.json", "README.md"}
    if path.is_dir():
        return {name: (path / name).read_bytes() for name in names if (path / name).is_file()}
    with ZipFile(path) as archive:
        return {name: archive.read(name) for name in names & set(archive.namelist())}


def _content(files: Mapping[str, bytes]) -> Content:
    judged: dict[str, list[tuple[str, int]]] = {}
    for line in files["qrels.txt"].decode().splitlines():
        query, _, moment, relevance = line.split()
        judged.setdefault(query, []).append((moment, int(relevance)))
    queries: dict[str, list[tuple[str, str]]] = {}
    qrels: dict[str, list[tuple[str, str, int]]] = {}
    for row in csv.DictReader(io.StringIO(files["queries.csv"].decode(), newline="")):
        pairs = judged.get(row["judged_as"] or row["query_id"])  # of equal texts one is judged for all
        if row["released"] == "yes" and row["placeholder"] == "no" and pairs:
            queries.setdefault(row["split"], []).append((row["query_id"], row["query"]))
            qrels.setdefault(row["split"], []).extend((row["query_id"], *pair) for pair in pairs)
    settings = json.loads(files["settings.json"])
    return Content(
        queries=queries,
        qrels=qrels,
        moments=[_moment(json.loads(line)) for line in files["moments.jsonl"].decode().splitlines()],
        readme=files["README.md"].decode(),
        title=settings["words"]["title"] or settings["project"],
        licence=settings["words"]["licence"] or "not stated",
    )


def _moment(row: Mapping[str, Any]) -> dict[str, Any]:
    video = NO_WORD.sub(lambda match: quote(match[0]), row["video_name"])
    return {
        "moment_id": f"{video}:{row['start']!r}-{row['end']!r}",  # as in qrels.txt
        "video": row["video_name"],
        "start_s": float(row["start"]),
        "end_s": float(row["end"]),
        "captions": [caption["text"] for caption in row["captions"]],
    }


def write_tables(content: Content, folder: Path) -> None:
    """Write the Parquet files and the README that names them."""
    from pyarrow import Table, parquet

    (folder / "data").mkdir(parents=True, exist_ok=True)
    columns = {"queries": ("query_id", "text"), "qrels": ("query_id", "moment_id", "relevance")}
    configs = []
    for part, names in columns.items():
        configs += [f"- config_name: {part}", "  data_files:"]
        for split, rows in getattr(content, part).items():
            file = f"data/{part}-{split}.parquet"
            values = zip(*rows, strict=True)
            parquet.write_table(Table.from_pydict(dict(zip(names, map(list, values), strict=True))), folder / file)
            configs += [f"  - split: {split}", f"    path: {file}"]
    parquet.write_table(Table.from_pylist(content.moments), folder / "data/moments.parquet")
    configs += ["- config_name: moments", "  data_files:", "  - split: pool", "    path: data/moments.parquet"]
    words = {"title": json.dumps(content.title), "licence": json.dumps(content.licence)}
    page = DATASET_PAGE.format(configs="\n".join(configs), readme=content.readme, **words)
    (folder / "README.md").write_text(page, encoding="utf-8")


def write_definition(content: Content, folder: Path, name: str) -> None:
    """Write the plain files and the definition that registers them."""
    files = folder / "ir_datasets"
    files.mkdir(parents=True, exist_ok=True)
    _write_lines(
        files / "docs.tsv", ((moment["moment_id"], " / ".join(moment["captions"])) for moment in content.moments)
    )
    for split, rows in content.queries.items():
        _write_lines(files / f"queries-{split}.tsv", rows)
        lines = (f"{query} 0 {moment} {relevance}\n" for query, moment, relevance in content.qrels[split])
        (files / f"qrels-{split}.txt").write_text("".join(lines), encoding="utf-8")
    splits = tuple(content.queries)
    definition = DEFINITION.format(name=name, splits=splits, split=splits[0] if splits else "val")
    (folder / "ir_datasets_definition.py").write_text(definition, encoding="utf-8")


def _write_lines(path: Path, rows: Iterable[Sequence[str]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(_lines(rows))


def _lines(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    for cells in rows:
        yield "\t".join(NO_CELL.sub(" ", cell) for cell in cells) + "\n"
