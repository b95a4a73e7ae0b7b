"""Which version of the guideline somebody has read, and what is new since, line by line."""

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from judging.models import Guideline, GuidelineDraft

AROUND = 2  # lines that stay, shown before and after those that change


class Line(NamedTuple):
    """One line of a comparison: kept, gone or new; or skipped, where lines that stay are left out."""

    sign: str
    text: str = ""


def changes(before: Sequence[str], after: Sequence[str], *, around: int = AROUND) -> list[Line]:
    """The lines that differ with a few around them, in order; empty when nothing differs. Lines that go stand before
    those that come in their place."""
    lines: list[Line] = []
    end = 0
    matcher = SequenceMatcher(None, list(before), list(after), autojunk=False)
    for group in matcher.get_grouped_opcodes(around):
        if group[0][1] > end:
            lines.append(Line("skipped"))
        for tag, from_a, to_a, from_b, to_b in group:
            lines += [Line("kept" if tag == "equal" else "gone", text) for text in before[from_a:to_a]]
            if tag != "equal":
                lines += [Line("new", text) for text in after[from_b:to_b]]
        end = group[-1][2]
    if lines and end < len(before):
        lines.append(Line("skipped"))
    return lines


def guideline_lines(version: Guideline | GuidelineDraft) -> list[str]:
    """Everything a version says, line by line: its text, the levels, the examples; clips by no telling name."""
    levels = [f"{grade}: {line}" for grade, line in reversed(list(enumerate(version.levels)))]
    rows = version.examples.select_related("moment")
    examples = [f"Example of {row.grade}: clip {str(row.moment.uuid)[:8]} for “{row.query_text}”" for row in rows]
    return [*version.body.splitlines(), *levels, *examples]


def guideline_changes(before: Guideline, after: Guideline | GuidelineDraft) -> list[Line]:
    return changes(guideline_lines(before), guideline_lines(after))
