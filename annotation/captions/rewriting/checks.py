"""What a description must not be to be rewritten alone, and what a caption must hold."""

import re
from dataclasses import dataclass

from annotation.captions.rewriting.language import is_english
from annotation.captions.rewriting.lexicon import Lexicon
from annotation.captions.rewriting.mentions import Reader
from annotation.captions.rewriting.tokens import tokenise

LONGEST = 2000  # characters; the longest of TVR has 700
MARKUP = re.compile(r"</?[a-zA-Z][^<>]*>|&(?:[a-z]+|#\d+);")


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
    elif not is_english(text):
        found.append("language")
    return found


def _is_only_a_name(text: str, lexicon: Lexicon) -> bool:
    tokens = tokenise(text)
    mentions = Reader(tokens, lexicon).mentions()
    named = {at for mention in mentions for at in range(mention.start, mention.end)}
    rest = [token.text for at, token in enumerate(tokens) if at not in named and token.is_word]
    return bool(mentions) and not [word for word in rest if word != "and"]
