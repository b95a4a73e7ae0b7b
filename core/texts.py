"""Texts from outside: whether PostgreSQL can hold them, the names people may give, and the UUIDs they name."""

import unicodedata
from uuid import UUID

from core.exceptions import NotPossible

LONGEST_NAME = 200
UNFIT = {"Cc", "Cs", "Zl", "Zp"}  # controls, halves of surrogate pairs, ends of lines and paragraphs
BIDIRECTIONAL = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}  # they turn text round


def is_storable(text: str) -> bool:
    """Whether PostgreSQL can hold the text: no null byte, no half of a surrogate pair."""
    if text.isascii():
        return "\0" not in text
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def storable(text: str) -> str:
    """The text with what PostgreSQL cannot hold replaced, for messages that quote a file."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")


def checked_name(name: str) -> str:
    """The name of a corpus, project or query set, without spaces around it.

    Raises:
        NotPossible: it is empty, too long, or holds a control character, the end of a line, or a change of direction.
    """
    name = name.strip()
    if not name or len(name) > LONGEST_NAME:
        raise NotPossible(f"A name has 1 to {LONGEST_NAME} characters.")
    if any(unicodedata.category(character) in UNFIT for character in name):
        raise NotPossible("A name is one line without control characters.")
    if any(unicodedata.bidirectional(character) in BIDIRECTIONAL for character in name):
        raise NotPossible("A name holds no characters that change the direction of the text beside it.")
    return name


def uuid_or_none(text: str) -> UUID | None:
    """Return the UUID that the text names; None where it names none."""
    try:
        return UUID(text)
    except ValueError:
        return None
