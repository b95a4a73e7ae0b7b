"""How a sample is drawn, and which share of the answers to a statement is high enough. Pure."""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from judging.studies.rules import wilson

STATEMENTS = (
    "The query describes the moment.",
    "Nothing else in the clip matches the query.",
    "The bounds of the moment are right.",
)
MOST_STATEMENTS = 9
LONGEST_STATEMENT = 200
NEUTRAL, AGREE = 3, 4  # of the scale from 1, strongly disagree, to 5, strongly agree
MOST_PAIRS = 10_000
MOST_PEOPLE = 5
LARGEST_SEED = 2**31 - 1


class Answer(NamedTuple):
    """One answer: about which pair, to which statement by its position, and its value, 1 to 5.

    ``group`` is what the shares are split by, such as the writer.
    """

    pair: int
    group: str
    statement: int
    value: int


class Share(NamedTuple):
    """A share of answers, from 0 to 1, with its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """The share and its interval in percent, as ``92.0 % (90.1 to 93.5)``."""
        return f"{100 * self.value:.1f} % ({100 * self.low:.1f} to {100 * self.high:.1f})"


class Line(NamedTuple):
    """The answers of one group to one statement: by value from 1 to 5, and the shares that are high enough."""

    group: str
    statement: int
    counts: tuple[int, int, int, int, int]
    neutral: Share  # at least neutral
    agree: Share  # at least agree

    @property
    def answers(self) -> int:
        return sum(self.counts)


class Inspected(NamedTuple):
    """Of the pairs with one lowest answer, those that were inspected and those that stayed acceptable."""

    value: int
    n: int
    accepted: Share | None


def sample(keys: Iterable[int], n: int, *, seed: int) -> list[int]:
    """Return ``n`` of the keys in random order; the same seed and the same keys give the same sample.

    Raises:
        ValueError: there are fewer keys.
    """
    return random.Random(f"verification {seed}").sample(sorted(keys), n)


def share_of(hits: int, answers: int, pairs: int) -> Share:
    """Return the share ``hits / answers`` with its 95 % score interval.

    Answers of several people about one pair are not independent, so the interval counts pairs, not answers: it is
    exact for one answer a pair, and rather too wide for several.

    Args:
        hits: answers that count, 0 to ``answers``.
        answers: 1 or more, about ``pairs`` different pairs.

    Source: Wilson 1927.
    """
    return Share(hits / answers, *wilson(hits * pairs / answers, pairs))


def lines_of(answers: Iterable[Answer]) -> list[Line]:
    """Return a line for each group and statement that has answers, by group and then by statement."""
    counts: dict[tuple[str, int], Counter[int]] = defaultdict(Counter)
    pairs: dict[tuple[str, int], set[int]] = defaultdict(set)
    for row in answers:
        counts[row.group, row.statement][row.value] += 1
        pairs[row.group, row.statement].add(row.pair)
    return [_line(*key, counts[key], len(pairs[key])) for key in sorted(counts)]


def _line(group: str, statement: int, counts: Counter[int], pairs: int) -> Line:
    one, two, three, four, five = (counts[value] for value in range(1, 6))
    neutral, agree = (
        share_of(sum(n for value, n in counts.items() if value >= least), counts.total(), pairs)
        for least in (NEUTRAL, AGREE)
    )
    return Line(group, statement, (one, two, three, four, five), neutral, agree)


def inspected(decisions: Sequence[tuple[int, bool]]) -> list[Inspected]:
    """Return, for the lowest answers 1 and 2, how many inspected pairs there are and which share stayed acceptable.

    Args:
        decisions: of each inspected pair, its lowest answer and whether the checker found it acceptable.
    """
    rows = []
    for value in range(1, NEUTRAL):
        accepted = [is_accepted for lowest, is_accepted in decisions if lowest == value]
        share = share_of(sum(accepted), len(accepted), len(accepted)) if accepted else None
        rows.append(Inspected(value, len(accepted), share))
    return rows
