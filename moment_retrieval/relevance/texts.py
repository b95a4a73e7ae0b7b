"""Texts as the proxies read them: as the released script does, or cleaned."""

import re
from collections.abc import Sequence
from enum import StrEnum
from functools import cache
from pathlib import Path

WORD = re.compile(r"[a-z0-9']+")


class Normalisation(StrEnum):
    """How a text becomes words."""

    OFFICIAL = "official"  # split at single blanks; case and punctuation stay: "door." is not "door"
    CLEAN = "clean"  # runs of letters, digits and apostrophes of the text in lower case


def words(text: str, how: Normalisation) -> list[str]:
    """Words of the text; in the official way repeated blanks give empty words."""
    return text.split(" ") if how is Normalisation.OFFICIAL else WORD.findall(text.lower())


def content_words(text: str, how: Normalisation) -> frozenset[str]:
    """Words that are no stop words; the list is in lower case, so that officially "He" is a content word."""
    return frozenset(words(text, how)) - stop_words()


def tokens(text: str, how: Normalisation) -> Sequence[str]:
    """Words in lower case, as METEOR takes them."""
    return text.lower().split() if how is Normalisation.OFFICIAL else words(text, how)


@cache
def stop_words() -> frozenset[str]:
    """spaCy's English list, which holds put, take, make, get, give, go, move, show, call, keep and see."""
    return frozenset((Path(__file__).parent / "data" / "stop_words.txt").read_text(encoding="utf-8").split())
