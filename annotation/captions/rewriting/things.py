"""Capitalised words that name a thing or a place together, and so nobody: New York, the North Pole, Mario Kart."""

from collections.abc import Sequence

from annotation.captions.rewriting.english import TITLE_NOUN
from annotation.captions.rewriting.lexicon import Lexicon
from annotation.captions.rewriting.tokens import Token

BEFORE_A_THING = {"the", "a", "an"}
QUOTES = {'"', "“"}


def things(tokens: Sequence[Token], lexicon: Lexicon, *, wary: bool = False) -> set[int]:
    """Where in ``tokens`` the words of such names are; ``wary``: those of the lists alone."""
    found: set[int] = set()
    for at, token in enumerate(tokens):
        if at in found or not token.text[0].isupper():
            continue
        found.update(range(at, _listed(tokens, at, lexicon)))
        if at in found or at + 1 >= len(tokens) or not tokens[at + 1].text[0].isupper():
            continue
        end = _run(tokens, at)
        if _is_place(tokens, at, end, lexicon) or (not wary and _is_thing(tokens, at, end, lexicon)):
            found.update(range(at, end))
    return found


def _listed(tokens: Sequence[Token], at: int, lexicon: Lexicon) -> int:
    """Where the longest listed name that begins at ``at`` ends; ``at`` where none does."""
    for words in lexicon.things.get(tokens[at].text, ()):
        if tuple(token.text for token in tokens[at : at + len(words)]) == words:
            return at + len(words)
    return at


def _run(tokens: Sequence[Token], at: int) -> int:
    while at < len(tokens) and tokens[at].text[0].isupper():
        at += 1
    return at


def _is_place(tokens: Sequence[Token], at: int, end: int, lexicon: Lexicon) -> bool:
    """Two or three words of which the last says what it is, and the first is nobody of the shows' main casts."""
    first = lexicon.known(tokens[at].text)
    return end - at < 4 and tokens[end - 1].text in lexicon.places and not (first and first.is_main)


def _is_thing(tokens: Sequence[Token], at: int, end: int, lexicon: Lexicon) -> bool:
    """A run of words that name nobody known, behind an article, a number or a quotation mark."""
    before = tokens[at - 1].text.lower() if at else ""
    if before not in BEFORE_A_THING | QUOTES and not before.isdigit():
        return False
    words = [token.text.lower().rstrip(".") for token in tokens[at:end]]
    return not any(lexicon.known(w) or lexicon.alike(w) or w in TITLE_NOUN or w in lexicon.ordinary for w in words)
