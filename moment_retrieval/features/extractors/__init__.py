"""What makes features: of videos by pixels or an image model, of subtitles and queries by a text model."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from moment_retrieval.features.extractors.base import (
    DEFAULT,
    Extractor,
    Film,
    Line,
    Outcome,
    Sentence,
    Setup,
    Speech,
    extract,
)

__all__ = [
    "EXTRACTORS",
    "Extractor",
    "Film",
    "Kind",
    "Line",
    "Outcome",
    "Sentence",
    "Setup",
    "Speech",
    "Way",
    "extract",
    "extractor_of",
]


class Kind(StrEnum):
    """What features are of."""

    VIDEO = "video"
    SUBTITLE = "subtitle"
    QUERY = "query"


class Way(StrEnum):
    """What makes them."""

    PIXELS = "builtin-pixels"
    WORDS = "builtin-text"
    IMAGES = "image-model"
    TEXTS = "text-model"


@dataclass(frozen=True)
class About:
    """What an extractor is for, and whether a model is to be named."""

    kinds: tuple[Kind, ...]
    label: str
    asks_for_model: bool = False


EXTRACTORS = {
    Way.PIXELS: About((Kind.VIDEO,), "built in: colours and motion"),
    Way.WORDS: About((Kind.SUBTITLE, Kind.QUERY), "built in: all-MiniLM tokens"),
    Way.IMAGES: About((Kind.VIDEO,), "an image model of transformers", asks_for_model=True),
    Way.TEXTS: About((Kind.SUBTITLE, Kind.QUERY), "a text model of transformers", asks_for_model=True),
}


def extractor_of(way: Way, kind: Kind, *, model: str = "", setup: Setup = DEFAULT) -> Extractor:
    """The extractor, its model loaded.

    Raises:
        ValueError: it makes no features of this kind.
        MissingModel: the model cannot be loaded here.
    """
    from moment_retrieval.features.extractors.texts import BUILTIN, Spoken, TextModel, Words
    from moment_retrieval.features.extractors.videos import Images, Pixels

    if kind not in EXTRACTORS[way].kinds:
        raise ValueError(f"{way.value} makes no {kind.value} features")
    if way is Way.PIXELS:
        return Pixels()
    if way is Way.IMAGES:
        return Images(model, setup=setup)
    text = TextModel(BUILTIN if way is Way.WORDS else model, setup=setup)
    return Words(text) if kind is Kind.QUERY else Spoken(text)
