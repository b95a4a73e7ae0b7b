"""What a description must not be to be rewritten alone, and what a caption must hold."""

import re
from dataclasses import dataclass

from annotation.rewriting.english import ARTICLES, FUNCTION_WORDS, PLURAL_VERB, VERBS
from annotation.rewriting.lexicon import Lexicon
from annotation.rewriting.mentions import Reader
from annotation.rewriting.tokens import tokenise

LONGEST = 2000  # characters; the longest of TVR has 700
MARKUP = re.compile(r"</?[a-zA-Z][^<>]*>|&(?:[a-z]+|#\d+);")
ENGLISH = ARTICLES | FUNCTION_WORDS | {"and", "is", "are", "was", "were", "he", "she", "they", "it", "has", "have"}
WORDS_TO_TELL = 4  # of a text in Latin letters, before its language is judged


@dataclass(frozen=True)
class Found:
    """The likeliest name of a person in a text; score 0 where there is none."""

    score: float = 0.0
    text: str = ""


def flaws(description: str, lexicon: Lexicon) -> list[str]:
    """Why a person must see what is made of this description: empty, huge, only_name, markup, language."""
    text = description.strip()
    if not any(character.isalnum() for character in text):
        return ["empty"]
    found = ["huge"] if len(text) > LONGEST else []
    found += ["markup"] if MARKUP.search(text) else []
    if len(text) <= LONGEST and _is_only_a_name(text, lexicon):
        found.append("only_name")
    elif not _is_english(text):
        found.append("language")
    return found


def _is_only_a_name(text: str, lexicon: Lexicon) -> bool:
    tokens = tokenise(text)
    mentions = Reader(tokens, lexicon).mentions()
    named = {at for mention in mentions for at in range(mention.start, mention.end)}
    rest = [token.text for at, token in enumerate(tokens) if at not in named and token.is_word]
    return bool(mentions) and not [word for word in rest if word != "and"]


def _is_english(text: str) -> bool:
    letters = [character for character in text if character.isalpha()]
    latin = sum(character < "ɐ" for character in letters)
    if latin < 0.8 * len(letters):
        return False
    words = re.findall(r"[^\W\d_]+", text.lower())
    if len(words) < WORDS_TO_TELL:
        return True
    return any(word in ENGLISH or word in VERBS or word in PLURAL_VERB for word in words)
