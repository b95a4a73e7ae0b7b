"""The two sentences of a moment: with names (the description) and without (the caption)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from annotation.demo.vocabulary import NOUNS, SPECS, Action

if TYPE_CHECKING:
    from annotation.demo.script import Event

SUBJECTS = {"man": "A man", "woman": "A woman"}


def description_of(event: Event, said: str) -> str:
    """Return the sentence with names; ``said`` is reported speech, or empty."""
    return _sentence(event, event.actor, event.partner, said)


def caption_of(event: Event, said: str) -> str:
    """Return the imprecise sentence: a man, a woman, another man; never a name."""
    other = ""
    if event.partner_gender is not None:
        other = f"another {event.gender}" if event.partner_gender == event.gender else f"a {event.partner_gender}"
    return _sentence(event, SUBJECTS[event.gender], other, said)


def _sentence(event: Event, a: str, b: str, said: str) -> str:
    if event.action is Action.TALK and said:
        return f"{a} tells {b} that {said}."
    his = "his" if event.gender == "man" else "her"
    text = SPECS[event.action].sentence.format(a=a, b=b, item=NOUNS.get(event.item, ""), target=event.target, his=his)
    return f"{text} and says that {said}." if said else f"{text}."
