"""What a text looks like from outside: what a person should look at in it."""

import re
import unicodedata
from functools import cache

FOREIGN = 0.3  # share of letters outside the Latin script from which a text is taken for another language
MOST_OF_A_NAME = 4  # words
HTML = re.compile(r"</?[a-zA-Z][^<>]{0,200}>|&(?:[a-zA-Z]{2,8}|#\d{1,6}|#x[0-9a-fA-F]{1,6});")
CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")

ONLY_A_NAME = "is only a name or a word"
IN_ANOTHER_SCRIPT = "is mostly not in Latin letters"
WITHOUT_WORDS = "holds no word"
WITH_HTML = "holds HTML"
WITH_SYMBOLS = "holds emoji or other symbols"
WITH_CONTROLS = "holds control characters"


def notes_of(text: str) -> tuple[str, ...]:
    """What is unusual about a description that is kept all the same."""
    found = [
        (ONLY_A_NAME, is_only_a_name(text)),
        (WITHOUT_WORDS, not any(character.isalpha() for character in text)),
        (IN_ANOTHER_SCRIPT, foreign_share(text) > FOREIGN),
        (WITH_HTML, ("<" in text or "&" in text) and HTML.search(text) is not None),
        (WITH_SYMBOLS, not text.isascii() and any(_category(character) == "So" for character in text)),
        (WITH_CONTROLS, CONTROLS.search(text) is not None),
    ]
    return tuple(note for note, holds in found if holds)


def is_only_a_name(text: str) -> bool:
    """Whether nothing but a few capitalised words stands there: "Rachel Green.", not "Rachel and Ross."."""
    words = re.findall(r"[^\W\d_][\w'’.-]*", text)
    return 0 < len(words) <= MOST_OF_A_NAME and all(word[0].isupper() for word in words)


def foreign_share(text: str) -> float:
    """How many of the letters are outside the Latin script, from 0 to 1; 0 for a text without letters."""
    if text.isascii():
        return 0.0
    letters = [character for character in text if character.isalpha()]
    return sum(not _is_latin(letter) for letter in letters) / len(letters) if letters else 0.0


def shown(text: str) -> str:
    """A text from outside, safe and short enough for a message."""
    return ascii(text[:80])


@cache
def _category(character: str) -> str:
    return unicodedata.category(character)


@cache
def _is_latin(letter: str) -> bool:
    return unicodedata.name(letter, "").startswith("LATIN")
