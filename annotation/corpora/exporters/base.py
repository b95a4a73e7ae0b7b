"""The parts that every form shares: what is chosen of a corpus, and how a form writes it."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from annotation.models import Corpus

JSON_LINES, JSON = "application/jsonlines", "application/json"


@dataclass(frozen=True)
class Selection:
    """The videos of a corpus, or of one source split of it; ``first_clip_id`` is TVC's number of the first moment."""

    corpus: Corpus
    split: str = ""
    first_clip_id: int = 0

    def of_videos(self, path: str = "") -> dict[str, Any]:
        """Return the condition that rows are of these videos; ``path`` leads to the video, as ``video__``."""
        condition: dict[str, Any] = {f"{path}corpus": self.corpus.pk}
        return condition | ({f"{path}source_split": self.split} if self.split else {})


@dataclass(frozen=True)
class ExportFormat:
    """A form of file: its name, what its rows are, what people call it, its rows and their lines.

    ``lines`` reads the rows while it writes, a bounded number at once, by a constant number of statements each time.
    """

    name: str
    noun: str
    label: str
    rows: Callable[[Selection], QuerySet[Any]]
    lines: Callable[[Selection], Iterator[str]]
    suffix: str = ".jsonl"
    omitted: Callable[[Selection], QuerySet[Any]] | None = None  # moments that the form leaves out
    omission: str = ""  # which these are, in words

    @property
    def content_type(self) -> str:
        return JSON_LINES if self.suffix == ".jsonl" else JSON

    def file_name(self, split: str) -> str:
        return f"{self.name}-{split}{self.suffix}" if split else f"{self.name}{self.suffix}"


def json_line(value: object) -> str:
    """Return one line as the published files have it: ASCII, with a blank after commas and colons."""
    return json.dumps(value, allow_nan=False) + "\n"


def seconds(value: float) -> float | int:
    """Return a time as TVR's windows have it: whole seconds without a fraction."""
    return int(value) if value.is_integer() else value
