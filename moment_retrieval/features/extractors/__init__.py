"""Feature extractors: of videos by pixels or an image model, of subtitles and queries by a text model."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from moment_retrieval.features.extractors.base import DEFAULT, Extractor, Setup


class Kind(StrEnum):
    """Source of features."""

    VIDEO = "video"
    SUBTITLE = "subtitle"
    QUERY = "query"


class ExtractorName(StrEnum):
    PIXELS = "builtin-pixels"
    WORDS = "builtin-text"
    IMAGES = "image-model"
    TEXTS = "text-model"


@dataclass(frozen=True)
class About:
    """Kinds of features that an extractor makes, and whether a model is to be named."""

    kinds: tuple[Kind, ...]
    asks_for_model: bool = False


EXTRACTORS = {
    ExtractorName.PIXELS: About((Kind.VIDEO,)),
    ExtractorName.WORDS: About((Kind.SUBTITLE, Kind.QUERY)),
    ExtractorName.IMAGES: About((Kind.VIDEO,), asks_for_model=True),
    ExtractorName.TEXTS: About((Kind.SUBTITLE, Kind.QUERY), asks_for_model=True),
}


def extractor_of(extractor_name: ExtractorName, kind: Kind, *, model: str = "", setup: Setup = DEFAULT) -> Extractor:
    """The extractor, its model loaded.

    Raises:
        ValueError: it makes no features of this kind.
        MissingModel: the model cannot be loaded here.
    """
    from moment_retrieval.features.extractors.texts import BUILTIN, Spoken, TextModel, Words
    from moment_retrieval.features.extractors.videos import Images, Pixels

    if kind not in EXTRACTORS[extractor_name].kinds:
        raise ValueError(f"{extractor_name.value} makes no {kind.value} features")
    if extractor_name is ExtractorName.PIXELS:
        return Pixels()
    if extractor_name is ExtractorName.IMAGES:
        return Images(model, setup=setup)
    text = TextModel(BUILTIN if extractor_name is ExtractorName.WORDS else model, setup=setup)
    return Words(text) if kind is Kind.QUERY else Spoken(text)
