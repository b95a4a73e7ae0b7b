"""Texts from outside: whether PostgreSQL can hold them, and the UUIDs they name."""

from uuid import UUID


def is_storable(text: str) -> bool:
    """Whether PostgreSQL can hold the text: no null byte, no half of a surrogate pair."""
    if text.isascii():
        return "\0" not in text
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def storable(text: str) -> str:
    """The text with what PostgreSQL cannot hold replaced, for messages that quote a file."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")


def uuid_or_none(text: str) -> UUID | None:
    """Return the UUID that the text names; None where it names none."""
    try:
        return UUID(text)
    except ValueError:
        return None
