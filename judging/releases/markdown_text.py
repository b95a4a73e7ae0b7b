"""What people write, as part of a Markdown file: a viewer that runs HTML must find none of theirs. Pure."""

import re

SPECIAL = re.compile(r"([\\`*_\[\]<>|&])")
TAG = re.compile(r"<(?=[A-Za-z/!?])")


def plain_line(text: str) -> str:
    """Return the text as one line of plain text, for a heading or a cell."""
    return SPECIAL.sub(r"\\\1", " ".join(text.split()))


def prose(text: str) -> str:
    """Return the paragraphs as their author formatted them, with HTML tags shown as text."""
    return TAG.sub("&lt;", text)
