"""Which captions become queries of which split. Pure."""

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from core.exceptions import NotPossible

JUDGED = ("val", "test")
TRAIN = "train"
NONE_OF = {
    "val": "No val query: models trained on this collection have nothing to be chosen by.",
    "test": "No test query: runs on this collection have nothing to be scored on.",
}
SIZE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)\s*(%?)")
LARGEST_SEED = 2**31 - 1


class NoSplit(NotPossible):
    """Queries cannot be drawn so; its words are for whoever asked."""


@dataclass(frozen=True)
class Share:
    """A part of the distinct texts, in percent."""

    percent: Fraction

    def __str__(self) -> str:
        return f"{float(self.percent):g}%"


Size = int | Share


@dataclass(frozen=True)
class Drawn:
    """The split of each caption that becomes a query, by its number, and how many become none."""

    split_of: dict[int, str]
    removed: int  # captions with the text of a validation or test query

    @property
    def counts(self) -> dict[str, int]:
        splits = list(self.split_of.values())
        return {split: splits.count(split) for split in (*JUDGED, TRAIN)} | {"removed": self.removed}


def size_of(words: str) -> Size:
    """The size that ``500`` or ``5%`` stands for. Raises NoSplit where it is neither."""
    match = SIZE.fullmatch(words.strip())
    if not match or not (match[2] or match[1].isdigit()):
        raise NoSplit(f"{words.strip()!r} is no size: write how many queries, 500, or a share of the texts, 5%.")
    return Share(Fraction(match[1])) if match[2] else int(match[1])


def sizes_in_texts(sizes: Mapping[str, Size], texts: int) -> dict[str, int]:
    """How many of ``texts`` distinct texts each judged split gets; a share is rounded down to whole texts. Raises
    NoSplit where a size is negative, a share gives no text or is above 100 %, or there are fewer texts than asked for.
    """
    if unknown := set(sizes) - set(JUDGED):
        raise NoSplit(f"No split is called {', '.join(sorted(unknown))}; there are val and test.")
    shares = [size.percent for size in sizes.values() if isinstance(size, Share)]
    if sum(shares) > 100:
        raise NoSplit(f"The shares come to {float(sum(shares)):g} %, more than 100 %.")
    counts = {split: _in_texts(sizes.get(split, 0), texts) for split in JUDGED}
    if (total := sum(counts.values())) > texts:
        raise NoSplit(f"There are {texts:,} different texts, and {total:,} are asked for.")
    return counts


def _in_texts(size: Size, texts: int) -> int:
    part = int(size.percent * texts / 100) if isinstance(size, Share) else size
    if part < 0 or (isinstance(size, Share) and size.percent < 0):
        raise NoSplit("A split cannot have fewer than 0 queries.")
    if isinstance(size, Share) and size.percent > 0 and not part:
        raise NoSplit(f"{size} of {texts:,} texts is less than one.")
    return part


def draw(texts: Mapping[int, str], sizes: Mapping[str, Size], seed: int) -> Drawn:
    """Divide captions, texts by number: validation and test at random, no text twice; the rest trains.

    Texts are the same only letter by letter. Numbers in order are shuffled by the seed; each text stands at its first
    caption, the first of them are validation, those after them test. Every other caption of a text so drawn is removed.
    The order of ``texts`` does not matter. Raises NoSplit as ``sizes_in_texts`` does, and where the seed is none.
    """
    if not 0 <= seed <= LARGEST_SEED:
        raise NoSplit(f"A seed is a whole number from 0 to {LARGEST_SEED}.")
    counts = sizes_in_texts(sizes, len(set(texts.values())))
    order = sorted(texts)
    random.Random(seed).shuffle(order)
    first: dict[str, int] = {}
    for number in order:
        first.setdefault(texts[number], number)
    slots = [split for split in JUDGED for _ in range(counts[split])]
    judged = dict(zip(first.values(), slots, strict=False))
    judged_texts = {texts[number] for number in judged}
    train = {number: TRAIN for number in sorted(texts) if number not in judged and texts[number] not in judged_texts}
    return Drawn({**judged, **train}, removed=len(texts) - len(judged) - len(train))
