"""Which words of a caption are verbs and nouns: what a tagger offers, and tags that somebody else made."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from annotation.similarity.base import SimilarityMissing


@dataclass(frozen=True)
class Tags:
    """Words as they stand in the text: main verbs (no auxiliaries) and common nouns (no names)."""

    verbs: tuple[str, ...]
    nouns: tuple[str, ...]


class Tagger(Protocol):
    name: str  # with its version

    def tag(self, text: str) -> Tags:
        """Verbs and nouns of ``text``, in order."""


class GivenTags:
    """Tags that somebody else made, by text."""

    def __init__(self, tags: Mapping[str, Tags], *, name: str) -> None:
        self.tags, self.name = tags, name

    @classmethod
    def read(cls, path: Path) -> "GivenTags":
        """Tags of a JSON list of objects with ``narration``, ``parsed_verbs`` and ``parsed_nouns``."""
        rows = json.loads(path.read_text(encoding="utf-8"))
        tags = {row["narration"]: Tags(tuple(row["parsed_verbs"]), tuple(row["parsed_nouns"])) for row in rows}
        return cls(tags, name=f"tags of {path.name}")

    def tag(self, text: str) -> Tags:
        if text not in self.tags:
            raise SimilarityMissing(f"There are no {self.name} for the text {text[:80]!r}.")
        return self.tags[text]
