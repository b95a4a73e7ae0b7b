"""Finding names of persons in captions, by a model or by the lexicon; the only import of transformers here."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Protocol

from annotation.exceptions import MomentJudgeError
from annotation.rewriting.checks import Found
from annotation.rewriting.lexicon import Member, lexicon_for
from annotation.rewriting.mentions import Reader
from annotation.rewriting.tokens import tokenise

SURE, LIKELY = 1.0, 0.85  # a name of a list; a capitalised word that can be nothing else
PERSON = {"PER", "PERSON", "B-PER", "I-PER"}
LEXICON = "lexicon"


class NameModelMissing(MomentJudgeError):
    """The model of this name cannot be loaded here."""

    status = 409
    code = "name_model_missing"


class NameFinder(Protocol):
    name: str

    def find(self, texts: Sequence[str], *, videos: Sequence[str]) -> list[Found]:
        """The likeliest name of a person in each of ``texts`` [N]; ``videos`` [N] are the names of their videos."""


def name_finder(name: str, members: Sequence[Member] = ()) -> NameFinder:
    """The finder of this name: ``lexicon``, or a token-classification model (a folder, or a hub name)."""
    return LexiconNames(members) if name == LEXICON else ModelNames(name)


class LexiconNames:
    name = LEXICON

    def __init__(self, members: Sequence[Member] = ()) -> None:
        self.members = tuple(members)

    def find(self, texts: Sequence[str], *, videos: Sequence[str]) -> list[Found]:
        return [self._find(text, video) for text, video in zip(texts, videos, strict=True)]

    def _find(self, text: str, video: str) -> Found:
        lexicon = lexicon_for(self.members, video=video)
        reader = Reader(tokenise(text), lexicon)
        found = [
            Found(SURE if lexicon.known(word) else LIKELY, word)
            for mention in reader.mentions()
            for word in [reader.word(mention.end - (2 if mention.owns else 1))]
        ]
        return max(found, key=lambda one: one.score, default=Found())


class ModelNames:
    """A transformers model; its score is the mean of an entity's tokens."""

    def __init__(self, name: str) -> None:
        self.name = name

    def find(self, texts: Sequence[str], *, videos: Sequence[str]) -> list[Found]:
        return [_likeliest(entities) for entities in _load(self.name)(list(texts), batch_size=32)]


def _likeliest(entities: Sequence[dict[str, Any]]) -> Found:
    persons = (one for one in entities if one.get("entity_group", one.get("entity", "")).upper() in PERSON)
    return max((Found(float(one["score"]), one["word"]) for one in persons), key=lambda one: one.score, default=Found())


@lru_cache(maxsize=1)
def _load(name: str) -> Any:
    import transformers

    try:
        return transformers.pipeline("token-classification", model=name, aggregation_strategy="simple")
    except (OSError, ValueError) as error:
        raise NameModelMissing(
            f"The model of names {name!r} cannot be loaded: {error} Set CAPTION_NER to a token-classification model"
            " that is here, or to 'lexicon'."
        ) from error
