"""Names of a release's files and their columns, and how their lines are written. Pure."""

import csv
import json
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

MANIFEST, SUMS, CROISSANT = "manifest.json", "SHA256SUMS", "croissant.json"
ABOUT_THE_RELEASE = (MANIFEST, SUMS, CROISSANT)  # they tell of the others, which are content
README, DATASHEET, SETTINGS = "README.md", "datasheet.md", "settings.json"
JUDGED_SPLITS = {"val": "val.json", "test": "test.json"}
TRAIN_DEPTHS = (1, 20, 40)
TRAIN_FILES = {depth: f"train_top{depth:02d}.json" for depth in TRAIN_DEPTHS}


def train_file(top_n: int) -> str:
    """Return the smallest training set that holds so many moments of each query, 1 to 40."""
    return TRAIN_FILES[min(depth for depth in TRAIN_DEPTHS if depth >= top_n)]


VIDEO_CORPUS, VIDEOS, MOMENTS = "video_corpus.json", "videos.csv", "moments.jsonl"
RAW, JUDGMENTS, PAIRS, QRELS = "raw_annotation.csv", "judgments.csv", "pairs.csv", "qrels.txt"
POOL = "pool.txt"
NO_BATCH = "no-batch"  # stratum in the pool of candidates that no batch has put to annotators
POOLED = "pooled"  # stratum of moments that only pools and coverage studies have put to annotators
QUERIES, CANDIDATES, BATCHES, MISSING = "queries.csv", "candidates.csv", "batches.csv", "missing.csv"
TOPICS = "topics.jsonl"  # where a project has topics
POOL_ANSWERS, POOL_ENTRIES = "pool_answers.csv", "pool_entries.csv"

TEXTS = tomllib.loads(Path(__file__).with_name("texts.toml").read_text(encoding="utf-8"))
COLUMNS: dict[str, tuple[str, ...]] = {
    RAW: ("pair_id", "worker", "relevance"),
    JUDGMENTS: (*("pair_id", "worker", "relevance", "round", "seat", "position"), *("guideline", "policy", "source")),
    PAIRS: (
        *("pair_id", "query_id", "query", "video_name", "start", "end", "rank", "similarity", "batch"),
        *("state", "relevance", "reason", "source", "returned_by"),
    ),
    QUERIES: ("query_id", "query", "split", "judged_as", "query_set", "caption", "placeholder", "released", "pilot"),
    CANDIDATES: ("query_id", "rank", "video_name", "start", "end", "similarity", "measure", "source", "pool"),
    BATCHES: ("query_id", "batch", "rounds", "pool", "pilot", "decision", "suggestion", "decided_by"),
    MISSING: ("query_id", "query", "split", "state", "batch", "round", "pairs_undecided"),
    VIDEOS: ("video_name", "index", "duration", "source_split"),
    POOL_ANSWERS: ("pool", "source", "query_id", "spans", "unmatched", "without_preview", "drawn_from"),
    POOL_ENTRIES: ("pool", "source", "query_id", "video_name", "start", "end", "rank"),
}


def guideline_file(version: int) -> str:
    return f"guideline-v{version}.md"


def yes(value: object) -> str:
    return "yes" if value else "no"


class _Lines:
    """Ends lines as the files do. The writer quotes what holds a character of its own line end, and readers take a lone
    carriage return for one."""

    def __init__(self, file: IO[str]) -> None:
        self.file = file

    def write(self, line: str) -> None:
        self.file.write(f"{line[:-2]}\n")


@contextmanager
def csv_file(folder: Path, name: str) -> Iterator[Any]:
    """Open one of the CSV files for its writer, with its first line; empty cells stand for what is not there."""
    with (folder / name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(_Lines(file), lineterminator="\r\n")
        writer.writerow(COLUMNS[name])
        yield writer


def write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8", newline="\n")
