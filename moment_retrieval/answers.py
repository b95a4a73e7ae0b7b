"""Features of a typed query, and the answer to it as it travels between processes. No torch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from moment_retrieval.errors import ScoringError
from moment_retrieval.features.extractors import EXTRACTORS, LAST_LAYER, ExtractorName, Kind, extractor_of
from moment_retrieval.features.extractors.base import Sentence, Setup
from moment_retrieval.features.stores import Rows
from moment_retrieval.metrics.iou import span_iou
from moment_retrieval.records import Span

ADVICE = "If they are an official file, say on the page Features which text model made it"


class UnknownWords(ScoringError):
    """Nobody can make features of typed words as those of the training were made."""


class Words:
    """An extractor of query features, loaded.

    Raises:
        UnknownWords: no extractor of this name (``features.extractors``) makes features of queries.
        MissingModel: its ``model`` cannot be loaded, or has no such ``layer``.
    """

    def __init__(
        self, extractor_name: str, model: str = "", *, setup: Setup | None = None, layer: int = LAST_LAYER
    ) -> None:
        readers = [name for name, about in EXTRACTORS.items() if Kind.QUERY in about.kinds]
        if extractor_name not in readers:
            raise UnknownWords(f"it is not known what made the query features of this training. {ADVICE}")
        self._extractor: Any = extractor_of(
            ExtractorName(extractor_name), Kind.QUERY, model=model, setup=setup or Setup(device="cpu"), layer=layer
        )
        self.name, self.width = str(self._extractor.name), int(self._extractor.width)

    def rows(self, text: str) -> Rows:
        """One row for each token [n, width]."""
        rows: Rows = next(iter(self._extractor.rows([Sentence("typed", text)])))
        return rows


ALIKE = 0.5  # intersection over union of two moments of which the better one stands for both


@dataclass(frozen=True)
class Hit:
    """A moment that was found."""

    video: str
    start_s: float
    end_s: float
    score: float  # what it is ranked by
    # first, last: the clips that start and end were read from
    first: int
    last: int
    folded: int = 0  # how many worse moments it stands for

    @property
    def span(self) -> Span:
        return Span(self.video, self.start_s, self.end_s)


@dataclass(frozen=True)
class Why:
    """A model's scores of a video."""

    score: float  # of the whole video; ``seen`` and ``heard`` are its halves
    seen: float
    heard: float
    # start, end: probabilities of each clip
    start: list[float]
    end: list[float]


@dataclass(frozen=True)
class Answer:
    """Hits, best first, and why."""

    hits: list[Hit]
    videos: dict[str, Why]  # of those that hold a hit, by name
    searched: int  # how many videos there are in the index
    alpha: float  # a moment counts exp(alpha * score of its video) times; 0: the score of the video chooses it alone
    clip_s: float  # seconds of a clip
    end_offset_s: float  # from the beginning of the end's clip to the end of a moment
    words_ms: float = 0.0  # to read the query
    search_ms: float = 0.0
    notices: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """As JSON can carry it."""
        return asdict(self)

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Self:
        """Invert ``as_dict``."""
        hits = [Hit(**hit) for hit in record["hits"]]
        return cls(**{**record, "hits": hits, "videos": {name: Why(**why) for name, why in record["videos"].items()}})


def folded(hits: Iterable[Hit]) -> list[Hit]:
    """Of moments of one video that overlap by ``ALIKE`` or more only the best, which counts the others."""
    best: list[Hit] = []
    counts: list[int] = []
    for hit in hits:
        index = next((index for index, other in enumerate(best) if _alike(hit, other)), None)
        if index is None:
            best.append(hit)
            counts.append(0)
        else:
            counts[index] += 1
    return [Hit(**{**asdict(hit), "folded": count}) for hit, count in zip(best, counts, strict=True)]


def _alike(one: Hit, other: Hit) -> bool:
    return one.video == other.video and span_iou(one.span, other.span) >= ALIKE
