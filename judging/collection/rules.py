"""Which queries may be written, with reasons; and which type a writer should write next. Pure.

``static/js/marking_checks.js`` holds the same checks for the page; tests/judging/collection/checks.json tries both.
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

TYPES = ("v", "t", "vt")  # as TVR's files have them: the video, its subtitles, both
TYPE_LABELS = {"v": "Video", "t": "Subtitle", "vt": "Video and subtitle"}
KINDS = {"visual": ("v", "vt"), "textual": ("t", "vt"), "all": TYPES}
SHARES = {"v": 75, "t": 9, "vt": 16}  # percent of TVR's queries (Lei et al. 2020, arXiv:2001.09099, section 3)
LEAST_TOKENS = 8
MOST_OVERLAP = 0.8
LONGEST = 500  # characters
ROUNDING_S = 0.05  # a player may take its video for so much longer than it is
TOKEN = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")  # with the apostrophe that phones type
DANGLING = frozenset(
    "he she it they him her them his hers its their theirs this that these those then there".split()  # noqa: SIM905
)
MESSAGES = {
    "no_start": "Set where the moment starts.",
    "no_end": "Set where the moment ends.",
    "no_text": "Write the query.",
    "no_type": "Choose what the query is about.",
    "negative": "The moment cannot start before the video.",
    "empty": "The moment must end after its start.",
    "beyond": "The video is {duration} s long; the moment must end by then.",
    "too_short": "{n} of at least {least} words; punctuation counts.",
    "too_long": "{n} characters; at most {most} are taken.",
    "no_words": "Write the query in words.",
    "other_type": "This round asks for other types.",
    "no_subtitles": "This video has no subtitles; the query is about the video.",
    "unchanged": "You changed neither the words nor the moment that were sent back.",
    "copied": "This is copied from the subtitles: “{line}”. Use your own words.",
    "pronoun": "It begins with “{word}”. Each query is read alone: say who or what is meant.",
}


class Line(NamedTuple):
    """One line of the subtitles, in seconds."""

    start_s: float
    end_s: float
    text: str


@dataclass(frozen=True)
class Entry:
    """Holds what a writer entered; None or empty where a field is."""

    text: str
    type: str
    start_s: float | None
    end_s: float | None


@dataclass(frozen=True)
class Checks:
    """Holds what a query is checked by: the types that the round asks for, and its limits."""

    types: tuple[str, ...] = TYPES
    least_tokens: int = LEAST_TOKENS
    most_overlap: float = MOST_OVERLAP


class Problem(NamedTuple):
    """Says what is wrong with a field: a code of MESSAGES, and the values of its message."""

    code: str
    field: str
    values: dict[str, str | int] = {}

    @property
    def message(self) -> str:
        return MESSAGES[self.code].format(**self.values)


def tokens_of(text: str) -> list[str]:
    """Return the words and the signs of punctuation of a text, one by one."""
    return TOKEN.findall(text)


def words_of(text: str) -> list[str]:
    """Return the words of a text in small letters, without punctuation."""
    return [token.lower() for token in tokens_of(text) if re.match(r"\w", token)]


def problems_of(
    entry: Entry, *, duration_s: float, lines: Sequence[Line], checks: Checks, rejections: Collection[Entry] = ()
) -> list[Problem]:
    """Return why a query cannot be submitted, in the order of the page's fields; empty when it can.

    Args:
        duration_s: of the video, in seconds.
        lines: the video's subtitles, in the order of time.
        rejections: queries of this writer for this clip that were sent back.

    Source: Lei et al. 2020 (arXiv:2001.09099), section 3 and appendix: every field, a span within the video, at least
        8 words, not copied from a subtitle. That signs of punctuation are counted is read off the published queries.
    """
    return [
        *_span_problems(entry, duration_s),
        *_text_problems(entry.text, lines, checks),
        *_type_problems(entry.type, lines, checks),
        *([Problem("unchanged", "text")] if entry in rejections else []),
    ]


def _span_problems(entry: Entry, duration_s: float) -> list[Problem]:
    problems = []
    if entry.start_s is None:
        problems.append(Problem("no_start", "start_s"))
    elif entry.start_s < 0:
        problems.append(Problem("negative", "start_s"))
    if entry.end_s is None:
        problems.append(Problem("no_end", "end_s"))
    elif entry.start_s is not None and entry.end_s <= entry.start_s:
        problems.append(Problem("empty", "end_s"))
    elif entry.end_s > duration_s:
        problems.append(Problem("beyond", "end_s", {"duration": f"{duration_s:.2f}"}))
    return problems


def _text_problems(text: str, lines: Sequence[Line], checks: Checks) -> list[Problem]:
    tokens, words = tokens_of(text), words_of(text)
    if not tokens:
        return [Problem("no_text", "text")]
    if len(text) > LONGEST:
        return [Problem("too_long", "text", {"n": len(text), "most": LONGEST})]
    if not words:
        return [Problem("no_words", "text")]
    problems = []
    if len(tokens) < checks.least_tokens:
        problems.append(Problem("too_short", "text", {"n": len(tokens), "least": checks.least_tokens}))
    if line := line_copied(words, [line.text for line in lines], checks):
        problems.append(Problem("copied", "text", {"line": line}))
    return problems


def _type_problems(type_: str, lines: Sequence[Line], checks: Checks) -> list[Problem]:
    if not type_:
        return [Problem("no_type", "type")]
    if type_ not in checks.types:
        return [Problem("other_type", "type")]
    return [Problem("no_subtitles", "type")] if type_ != "v" and not lines else []


def line_copied(words: Sequence[str], lines: Sequence[str], checks: Checks) -> str:
    """Return the line, or the two neighbouring ones, that a query copies; empty where it copies none.

    A query copies a line where ``most_overlap`` or more of its words are words of the line, each as often as it is
    there, or where the line has as many words as a query needs and all of them stand in the query as they are.
    """
    for text in [*lines, *(f"{first} {second}" for first, second in pairwise(lines))]:
        line_words = words_of(text)
        overlap = (Counter(words) & Counter(line_words)).total() / len(words)
        if overlap >= checks.most_overlap or _is_quoted(line_words, words, checks.least_tokens):
            return " ".join(text.split())
    return ""


def _is_quoted(line: Sequence[str], words: Sequence[str], least: int) -> bool:
    return len(line) >= least and f" {' '.join(line)} " in f" {' '.join(words)} "


def warnings_of(text: str) -> list[Problem]:
    """Return what a writer should look at again, though it can be submitted: a pronoun that refers to nothing."""
    words = words_of(text)
    return [Problem("pronoun", "text", {"word": words[0]})] if words and words[0] in DANGLING else []


def end_within(end_s: float | None, *, duration_s: float) -> float | None:
    """Return the end of a span, or that of its video where rounding alone has put it behind that."""
    if end_s is not None and duration_s < end_s <= duration_s + ROUNDING_S:
        return duration_s
    return end_s


def type_to_request(counts: Mapping[str, int], shares: Mapping[str, int], types: Sequence[str]) -> str:
    """Return the type that is furthest below its share once one more query is written; the first of TYPES in a tie.

    Args:
        counts: queries by type, with those that are being written.
        shares: what is wanted, by type, in any unit.
        types: those that may be asked for, at least one.
    """
    total = sum(shares[type_] for type_ in types) or len(types)
    n = sum(counts.get(type_, 0) for type_ in types) + 1
    return max(types, key=lambda type_: (shares[type_] * n / total - counts.get(type_, 0), -TYPES.index(type_)))
