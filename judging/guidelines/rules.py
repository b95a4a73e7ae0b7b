"""What differs between two texts, line by line. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

AROUND = 2  # lines that stay, shown before and after those that change


class Sign(StrEnum):
    KEPT = "kept"
    GONE = "gone"
    NEW = "new"
    SKIPPED = "skipped"  # ``text`` is empty: lines that stay are left out here


@dataclass(frozen=True, slots=True)
class Line:
    sign: Sign
    text: str = ""


def changes(before: Sequence[str], after: Sequence[str], *, around: int = AROUND) -> list[Line]:
    """The lines that differ with a few around them, in order; empty when nothing differs.

    Lines that go stand before those that come in their place.
    """
    found: list[Line] = []
    end = 0
    matcher = SequenceMatcher(None, list(before), list(after), autojunk=False)
    for group in matcher.get_grouped_opcodes(around):
        if group[0][1] > end:
            found.append(Line(Sign.SKIPPED))
        for tag, from_a, to_a, from_b, to_b in group:
            if tag == "equal":
                found += [Line(Sign.KEPT, text) for text in before[from_a:to_a]]
            else:
                found += [Line(Sign.GONE, text) for text in before[from_a:to_a]]
                found += [Line(Sign.NEW, text) for text in after[from_b:to_b]]
        end = group[-1][2]
    if found and end < len(before):
        found.append(Line(Sign.SKIPPED))
    return found
