"""A sentence as tokens, each with the space before it."""

import re
from dataclasses import dataclass

TITLES = r"(?:Drs?|Mrs?|Ms|Prof|Det|Capt|Lt|Sgt|Col|Sr|Jr)"
GLUED = re.compile(rf"\b({TITLES}\.)(?=[A-Z])")  # "Dr.House"
GLUED_SENTENCES = re.compile(r"(?<=[a-z][.!?])(?=[A-Z][a-z])")
COUPLE = re.compile(
    r"\b(Mr|Mrs|Dr|Ms)\.? (and|&) (Mr|Mrs|Dr|Ms)\.? (?=([A-Z]\w+))", re.IGNORECASE
)  # "Mr. and Mrs. Geller"
TOKEN = re.compile(
    rf"{TITLES}\.|[OD]'[A-Za-z]\w+|'s\b|\w+(?:-\w+)*(?:'(?!s\b)[A-Za-z]+)?|[^\w\s]",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Token:
    text: str
    glued: bool  # no space before it
    starts: bool = False  # the first word of a sentence or of a quotation

    @property
    def is_word(self) -> bool:
        return self.text[0].isalnum()


def tokenise(text: str) -> list[Token]:
    """Tokens of ``text``; white space runs become single spaces, curly quotes straight, glued sentences two."""
    text = " ".join(text.replace("’", "'").replace("‘", "'").split())
    text = GLUED_SENTENCES.sub(" ", GLUED.sub(r"\1 ", text))
    text = COUPLE.sub(r"\1. \4 \2 \3. ", text)
    tokens, end, starts = [], -1, True
    for match in TOKEN.finditer(text):
        word = match.group()
        token = Token(word, match.start() == end, starts)
        end = match.end()
        tokens.append(token)
        if token.is_word:
            starts = False
        elif word in ".!?" or word in '"“' or (word == "'" and not token.glued):
            starts = True
    if tokens:
        tokens[0].glued = True
    return tokens


def join(tokens: list[Token]) -> str:
    return "".join(token.text if token.glued else f" {token.text}" for token in tokens).strip()
