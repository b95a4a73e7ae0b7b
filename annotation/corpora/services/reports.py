"""What an import read and added, and what is to be said about single lines."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, NamedTuple

from annotation.corpora.importers.base import BadLine, DescriptionRecord, MomentRecord, SubtitleRecord
from annotation.models import Description
from core.spreadsheets import csv_line

MOST_REMARKS = 1_000_000  # of a report
BAD_KEPT = 1000  # in memory; the written report has them all
TEXT_SHOWN = 200
COLUMNS = ("file", "line", "item", "outcome", "reason", "text")


class Remark(NamedTuple):
    """One thing a person should know about a line: ``refused``, ``clipped``, or kept and ``flagged``."""

    file: str
    line: int
    item: str
    outcome: str
    reason: str
    text: str = ""


OnRemark = Callable[[Remark], object]


@dataclass
class ImportReport:
    """What an import read and what it added; ``bad`` holds the first bad lines, ``bad_lines`` counts all."""

    descriptions: int = 0
    by_kind: dict[str, int] = field(default_factory=lambda: dict.fromkeys(Description.Kind.values, 0))
    moments: int = 0
    videos: int = 0
    subtitles: int = 0
    added: int = 0
    videos_with_file: int = 0
    clipped: int = 0
    flagged: int = 0
    bad_lines: int = 0
    bad: list[BadLine] = field(default_factory=list)
    on_remark: OnRemark | None = None

    def counts(self) -> dict[str, int]:
        return {
            "descriptions": self.descriptions,
            **self.by_kind,
            "moments": self.moments,
            "videos": self.videos,
            "subtitles": self.subtitles,
            "added": self.added,
            "videos_with_file": self.videos_with_file,
            "clipped": self.clipped,
            "flagged": self.flagged,
            "bad_lines": self.bad_lines,
        }

    def refuse(self, bad: BadLine) -> None:
        self.bad_lines += 1
        if len(self.bad) < BAD_KEPT:
            self.bad.append(bad)
        self._say(Remark(bad.file, bad.line, bad.item, "refused", bad.reason))

    def take(self, record: DescriptionRecord | MomentRecord | SubtitleRecord) -> None:
        """Count what a record says of itself."""
        text = "" if isinstance(record, MomentRecord) else record.text[:TEXT_SHOWN]
        if record.past_end:
            self.clipped += 1
            reason = f"ended after its video; it now ends at {record.end_s:g} s"
            self._say(Remark("", record.line, record.item, "clipped", reason, text))
        if isinstance(record, DescriptionRecord):
            self.descriptions += 1
            self.by_kind[record.kind] += 1
            if record.notes:
                self.flagged += 1
                self._say(Remark("", record.line, record.item, "flagged", "; ".join(record.notes), text))
        elif isinstance(record, SubtitleRecord):
            self.subtitles += 1

    def _say(self, remark: Remark) -> None:
        if self.on_remark:
            self.on_remark(remark)


def remarks_writer(target: IO[str]) -> OnRemark:
    """A function that writes remarks to ``target`` as rows of CSV, the header first, MOST_REMARKS at most.

    A line of two characters gives a remark of a hundred; a file that is all bad must not fill the disk.
    """
    target.write(csv_line(COLUMNS))
    count = 0

    def write(remark: Remark) -> None:
        nonlocal count
        count += 1
        if count <= MOST_REMARKS:
            target.write(csv_line(remark))
        elif count == MOST_REMARKS + 1:
            end = f"No more than {MOST_REMARKS:,} remarks are listed."
            target.write(csv_line(["", remark.line, "", "", end, ""]))

    return write
