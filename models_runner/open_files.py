"""Which files of a release participants may have: one by one, so that a new file stays closed until named."""

import io
import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from annotation.models import Query
from judging.models import Release
from judging.releases import JUDGED_SPLITS
from models_runner.models import Leaderboard, Truth

TRAIN = re.compile(r"train_top\d+\.json")
MADE = {f"{split}_queries.json": str(split) for split in JUDGED_SPLITS}  # in place of labels


class OpenFile(NamedTuple):
    """One file, and what it holds."""

    name: str
    bytes: int | None
    words: str


def listed(release: Release, settings: Leaderboard) -> list[OpenFile]:
    """The files of the release that tell no hidden label."""
    sizes = {name: told["bytes"] for name, told in release.manifest.get("files", {}).items()}
    return [*_judged(release, settings, sizes), *_others(sizes)]


def _judged(release: Release, settings: Leaderboard, sizes: dict[str, int]) -> Iterator[OpenFile]:
    there = set(Truth.objects.filter(release=release).values_list("split", flat=True))
    for split, name in JUDGED_SPLITS.items():
        if split in there and not settings.hides(split) and name in sizes:
            yield OpenFile(name, sizes[name], f"judged moments of the {split} split")
        elif split in there:
            yield OpenFile(f"{split}_queries.json", None, f"queries of the {split} split; their labels are hidden")


def _others(sizes: dict[str, int]) -> Iterator[OpenFile]:
    for name, size in sorted(sizes.items()):
        if TRAIN.fullmatch(name):
            yield OpenFile(name, size, "pseudo training set: nobody judged it")
        elif name == "video_corpus.json":
            yield OpenFile(name, size, "videos, their lengths and indexes")


def is_made(name: str) -> bool:
    return name in MADE


def queries_json(release: Release, name: str) -> io.BytesIO:
    """Number and text of the queries of a split, whether judged yet or not, and nothing else."""
    queries = Query.objects.filter(project=release.project_id, split=MADE[name], is_placeholder=False).order_by(
        "number"
    )
    rows = [{"query_id": number, "query": text} for number, text in queries.values_list("number", "text")]
    return io.BytesIO((json.dumps(rows, ensure_ascii=False, indent=1) + "\n").encode())
