"""Caption proxies: how alike two texts are without a trained model (Wray et al., CVPR 2021; METEOR of nltk).

Here stands what all of them share: how a text becomes words, what a ranking is, and their errors.
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moment_retrieval.errors import RetrievalError

NLTK = "nltk-3.10"  # whose METEOR and Lesk these are: part of the version that is stored with a similarity
DECIMALS = 6  # similarities are rounded, so that every machine ranks alike
Ranked = tuple[NDArray[np.intp], NDArray[np.float64]]  # indexes of moments [K], best first, and their similarities [K]


class RelevanceError(RetrievalError):
    """A proxy cannot be computed; ``str`` says what to do."""


class RelevanceMissing(RelevanceError):
    """The proxy lacks a dependency; the message says what to install or set."""


class RankingNotOffered(RelevanceError):
    """The proxy scores given pairs and does not rank a pool."""


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
