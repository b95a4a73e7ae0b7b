"""Finding names of persons in captions, by a model or by the lexicon; the only import of transformers here."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from annotation.captions.rewriting.english import tokenise
from annotation.captions.rewriting.lexicon import Member, lexicon_for
from annotation.captions.rewriting.mentions import Reader
from annotation.captions.rewriting.rules import Found
from core.exceptions import MomentJudgeError

SURE, LIKELY = 1.0, 0.85  # a name of a list; a capitalised word that can be nothing else
PERSON = {"PER", "PERSON", "B-PER", "I-PER"}
LEXICON = "lexicon"
SCORE_DIGITS = 4  # of a score
WINDOW = 480  # bytes: no token is shorter than one, and models read 512 with those that frame a text
SHARED_WORDS = 4  # of neighbouring windows, so that a name on their edge is whole in one


class NameModelMissing(MomentJudgeError):
    """The model of this name cannot be loaded here."""

    status, code = 409, "name_model_missing"


class NameFinder(Protocol):
    name: str

    def find(self, texts: Sequence[str], *, videos: Sequence[str]) -> list[Found]:
        """The likeliest name of a person in each of ``texts`` [N]; ``videos`` [N] are the names of their videos."""


def name_finder(name: str, members: Sequence[Member] = ()) -> NameFinder:
    """The finder of this name: ``lexicon``, or a token-classification model (a folder, or a hub name)."""
    return LexiconNames(members) if name == LEXICON else ModelNames(name)


@dataclass
class LexiconNames:
    members: Sequence[Member] = ()
    name = LEXICON

    def find(self, texts: Sequence[str], *, videos: Sequence[str]) -> list[Found]:
        return [self._find(text, video) for text, video in zip(texts, videos, strict=True)]

    def _find(self, text: str, video: str) -> Found:
        lexicon = lexicon_for(self.members, video=video)
        reader = Reader(tokenise(text), lexicon)
        matches = [
            Found(SURE if lexicon.known(word) else LIKELY, word)
            for mention in reader.mentions()
            for word in [reader.word(mention.end - (2 if mention.owns else 1))]
        ]
        return max(matches, key=lambda one: one.score, default=Found())


@dataclass
class ModelNames:
    """A transformers model; its score is the mean of an entity's tokens."""

    name: str

    def find(self, texts: Sequence[str], *, videos: Sequence[str]) -> list[Found]:
        text_windows = [windows(text) for text in texts]
        try:
            outputs = iter(_load(self.name)([window for parts in text_windows for window in parts], batch_size=32))
            return [_likeliest([entity for _ in parts for entity in next(outputs)]) for parts in text_windows]
        except RuntimeError as error:
            raise _unusable(self.name, error) from error


def windows(text: str) -> list[str]:
    """The text in parts that no model of 512 tokens cuts, each beginning with the last words of the one before."""
    step = WINDOW // 4 - 1  # of a word: a character has four bytes at most
    words = [word[at : at + step] for word in text.split() for at in range(0, len(word), step)]
    parts: list[str] = []
    part: list[str] = []
    size = 0
    for word in words:
        room = len(word.encode()) + 1
        if size + room > WINDOW:
            parts.append(" ".join(part))
            part = [] if len(part) <= SHARED_WORDS else part[-SHARED_WORDS:]
            part = part if sum(len(one.encode()) + 1 for one in part) + room <= WINDOW else []
            size = sum(len(one.encode()) + 1 for one in part)
        part.append(word)
        size += room
    return [*parts, " ".join(part)] if parts else [text.strip()]


def _unusable(name: str, error: Exception) -> NameModelMissing:
    return NameModelMissing(
        f"The model of names {name!r} cannot be used: {error} Set CAPTION_NER to a token-classification model that is"
        " here, or to 'lexicon'."
    )


def _likeliest(entities: Sequence[dict[str, Any]]) -> Found:
    """The person of the highest score as it is kept; the longer of equals, as windows may cut a name in two."""
    persons = (one for one in entities if one.get("entity_group", one.get("entity", "")).upper() in PERSON)
    matches = (Found(round(float(one["score"]), SCORE_DIGITS), one["word"]) for one in persons)
    return max(matches, key=lambda one: (one.score, len(one.text)), default=Found())


@lru_cache(maxsize=1)
def _load(name: str) -> Any:
    try:
        import transformers

        return transformers.pipeline("token-classification", model=name, aggregation_strategy="simple")
    except (ImportError, OSError, ValueError, RuntimeError) as error:
        raise _unusable(name, error) from error
