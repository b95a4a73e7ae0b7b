"""Sentences for audit events, without their subject: "withdrew a pair of ..."; and the pages they lead to. Pure."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

OPTIONAL = re.compile(r"\[([^\]]*)\]")
FIELD = re.compile(r"\{(\w+)\}")
WORD = re.compile(r"[^\W_]+")
KINDS: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("sentences.toml").read_text(encoding="utf-8"))
SENTENCES = {action: sentence for kind in KINDS.values() for action, sentence in kind.items()}
Pages = dict[tuple[str, ...], tuple[str, str]]  # beginnings of the action: the page, what to call it
BY_SUBJECT: Pages = {  # pages that take the object's UUID
    ("pair.", "flag.", "moment."): ("judging:pair-batch", "Pair"),
    ("batch.",): ("judging:batch", "Batch"),
    ("guideline.",): ("judging:guideline-version", "Version"),
    ("exam.",): ("judging:exam", "Exam"),
    ("known_pair.",): ("judging:known-exam", "Exam"),
    ("training.grade", "tutorial."): ("judging:training-pair", "Pair"),
    ("query_set.",): ("judging:query-set", "Query set"),
    ("topic.",): ("annotation:topic", "Topic"),
    ("coverage.",): ("judging:coverage-study", "Study"),
}
OF_PROJECT: Pages = {  # pages that take the project's
    ("policy.",): ("judging:policy", "Policy"),
    ("training.draw",): ("judging:training", "Training"),
    ("gate.question.",): ("judging:screening-questions", "Screening test"),
    ("queries.",): ("annotation:splits", "Splits"),
    ("topics.import",): ("annotation:topics", "Topics"),
    ("caption",): ("annotation:captions", "Captions"),
    ("batches.", "candidates.", "similarity."): ("judging:queries", "Queries"),
    ("release.",): ("judging:releases", "Releases"),
    ("train_set.",): ("annotation:train-sets", "Training sets"),
    ("proposal.",): ("annotation:proposals", "Proposals"),
    ("alert.",): ("judging:alerts", "Alerts"),
}
OF_PEOPLE: Pages = {  # the same, for leads alone
    ("invitation.", "registration.", "identity."): ("judging:people", "People"),
    ("pay.",): ("judging:pay", "Pay"),
}


def register_actions(kind: str, sentences: Mapping[str, str], *, by_subject: Pages, of_project: Pages) -> None:
    """Add actions of another app to a kind, each with its sentence, and that app's pages which actions lead to."""
    KINDS[kind].update(sentences)
    SENTENCES.update(sentences)
    BY_SUBJECT.update(by_subject)
    OF_PROJECT.update(of_project)


def in_words(action: str, data: Mapping[str, Any]) -> str:
    """The event as a sentence; an action that is not known says its name."""
    sentence = SENTENCES.get(action)
    if sentence is None:
        return action.replace(".", " ").replace("_", " ")
    text = OPTIONAL.sub(lambda part: part[1] if _complete(part[1], data) else "", sentence)
    return FIELD.sub(lambda field: value_text(data.get(field[1])), text)


def kind_words(action: str) -> str:
    """Return the words of all events of an action, to choose from in a list: without values and explanations."""
    text = OPTIONAL.sub("", SENTENCES[action]).partition(":")[0].partition(" (")[0]
    return FIELD.sub("…", text)


def actions_saying(word: str) -> list[str]:
    """Actions whose sentence itself, whatever its values, has a word that begins with this one."""
    own_words = {action: WORD.findall(FIELD.sub(" ", sentence).lower()) for action, sentence in SENTENCES.items()}
    return [action for action, words in own_words.items() if any(own.startswith(word.lower()) for own in words)]


def _complete(part: str, data: Mapping[str, Any]) -> bool:
    return all(data.get(name) not in (None, "", [], 0) or data.get(name) is False for name in FIELD.findall(part))


def value_text(value: object) -> str:
    """A value as people read it."""
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(value_text(one) for one in value) or "–"
    return str(value)
