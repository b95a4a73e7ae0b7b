"""The released settings of XML, ReLoCLNet and CONQUER, each number once; models, plans and pages take them from here.

Source: TVR-Ranking (arXiv:2407.06597), its options of July 2024; epochs and evaluations per epoch are those of the
paper and of ReLoCLNet's released scripts. No torch: pages show them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, Self

from moment_retrieval.preprocessing import CLIP_S, MAX_WORDS, Boundary

LEARNING_RATE = 1e-4
WARM_UP = 0.01  # share of the steps
SELECTED_BY = "ndcg@20_0.5"  # of the paper's convention: the metric that the best weights are chosen by
EPOCHS = {1: 4000, 20: 200, 40: 100}  # by moments learnt from of each query
EVALUATIONS_PER_EPOCH = {1: 0.05, 20: 1.0, 40: 2.0}
PATIENCE = 10  # evaluations without improvement
RUN_MOMENTS = 100  # that a training keeps of each query, unless its plan says otherwise: recall counts so many


def epochs_of(top_n: int) -> int:
    """Return for how many epochs is trained on ``top_n`` moments of each query: so that as many samples are seen."""
    return round(EPOCHS[1] / top_n)


def evaluations_per_epoch_of(top_n: int) -> float:
    """Return how often an epoch of ``top_n`` moments of each query is evaluated: as often by the samples seen."""
    return EVALUATIONS_PER_EPOCH[1] * top_n


class Padding(StrEnum):
    """Padding behind the end of a video that is shorter than the longest.

    The released code computes with rows of zeros there. They end in the last clips' start and end logits, since the
    convolution looks two clips ahead.
    """

    OFFICIAL = "official"  # equal to the released code
    COMPACT = "compact"  # nothing; less than half the work


class Encoder(StrEnum):
    """Self-encoder of queries and of both streams."""

    TRANSFORMER = "transformer"
    LSTM = "lstm"  # bidirectional
    CNN = "cnn"


class Streams(StrEnum):
    """Halves of a video that are read."""

    BOTH = "both"
    VIDEO = "video"
    SUBTITLE = "subtitle"


class Boundaries(StrEnum):
    """How moments are found in a video, and what that is trained by."""

    CONVOLUTION = "convolution"  # start and end logits
    WINDOWS = "windows"  # sliding windows, by the mean of their clips' scores
    GROUPS = "groups"  # clips grouped by a watershed over their scores, by the mean


class Ranking(StrEnum):
    """How CONQUER compares moments of several videos."""

    DISJOINT = "disjoint"  # logits of start and end alone
    GENERAL = "general"  # their probabilities, and the first stage's score of the video
    EXCLUSIVE = "exclusive"  # their probabilities, and its own score of the video


@dataclass(frozen=True, kw_only=True)
class Config:
    """Sizes of a model."""

    video_size: int  # features of a clip
    subtitle_size: int  # of what is said in it
    query_size: int = 768  # of a word
    hidden: int
    heads: int  # of every attention
    clips: int = 128  # of the longest video
    words: int = MAX_WORDS  # of the longest query
    dropout: float = 0.1  # everywhere
    kernel_size: int = 5  # clips a boundary is judged from
    padding: Padding = Padding.OFFICIAL

    def changed(self, changes: Mapping[str, Any]) -> Self:
        """Return the same with other sizes, by name; words may stand for members of enumerations."""
        values = {name: member_of(getattr(self, name, None), value) for name, value in changes.items()}
        return replace(self, **values)


def member_of(example: Any, value: Any) -> Any:
    """Return the member that ``value`` names of the enumeration that ``example`` belongs to; else the value itself.

    Raises:
        ValueError: the enumeration has no such member.
    """
    return type(example)(value) if isinstance(example, StrEnum) else value


@dataclass(frozen=True, kw_only=True)
class XmlConfig(Config):
    """I3D and RoBERTa features with temporal endpoints; the last four are ablations of the paper."""

    video_size: int = 1026
    subtitle_size: int = 770
    hidden: int = 256
    heads: int = 4
    encoder: Encoder = Encoder.TRANSFORMER
    modular: bool = True  # each stream has a query vector of its own; else both have the same, pooled by maximum
    streams: Streams = Streams.BOTH
    boundaries: Boundaries = Boundaries.CONVOLUTION

    @property
    def is_released(self) -> bool:
        """Whether nothing is ablated."""
        released = self.encoder, self.modular, self.streams, self.boundaries
        return released == (Encoder.TRANSFORMER, True, Streams.BOTH, Boundaries.CONVOLUTION)


@dataclass(frozen=True, kw_only=True)
class ReloclnetConfig(Config):
    """I3D and RoBERTa features."""

    video_size: int = 1024
    subtitle_size: int = 768
    hidden: int = 384
    heads: int = 8


@dataclass(frozen=True, kw_only=True)
class ConquerConfig(Config):
    """ResNet with SlowFast, RoBERTa and BERT features.

    Padding is behind the last clip only; queries are always padded, as the centres pool all words.
    """

    video_size: int = 4352
    subtitle_size: int = 768
    hidden: int = 768
    heads: int = 12
    clips: int = 100
    inner: int = 3072  # features within the feed-forward half of every attention
    centres: int = 32  # that words are assigned to, to weigh what is seen against what is heard
    narrow: int = 128  # features a clip is scored from
    score_videos: bool = False  # the model scores whole videos too ("exclusive")


@dataclass(frozen=True, kw_only=True)
class Objective:
    """Objective of training, with the choices papers and released code differ in."""

    # losses of single samples count by how similar query and moment are (RVMR); the rankings do not, as released
    weigh_by_similarity: bool = True
    # videos that hold another pseudo-positive of a query are no negatives of it. The papers say so, the released code
    # does not.
    mask_positives: bool = False
    # ReLoCLNet's video contrast sums them in its numerator. So the papers word the mask; no released code does it.
    sum_positives: bool = False
    margin: float = 0.1  # by how much the own video must lead
    # span_weight, frame_weight, video_weight: of start and end, of frame and video contrast
    span_weight: float = 0.01
    frame_weight: float = 0.03
    video_weight: float = 0.03
    own_video_weight: float = 0.05  # of the own video among sampled ones (CONQUER that scores videos)
    # videos that CONQUER sees beside the own one, and normalises its logits over. They are drawn from the videos that
    # the first stage ranks above the own one and ``sampled_pool`` more. Its authors: 3 of 1,000 more; TVR-Ranking: none
    sampled_videos: int = 0
    sampled_pool: int = 1000
    # from here on, counted from 0, negatives are drawn from the ``hard_pool`` hardest; None: never
    hard_from_epoch: int | None = 20
    hard_pool: int = 20

    @property
    def needs_positives(self) -> bool:
        """Whether all videos that hold a pseudo-positive of a query must be known."""
        return self.mask_positives or self.sum_positives

    def pool(self, epoch: int) -> int | None:
        """From how many of the hardest negatives an epoch draws; None: from all."""
        return self.hard_pool if self.hard_from_epoch is not None and epoch >= self.hard_from_epoch else None


@dataclass(frozen=True, kw_only=True)
class Decoding:
    """Choice of moments, and how they are timed."""

    alpha: float  # how steeply a video's score counts: its moments are weighed by exp(alpha * score)
    # shortest, longest: j - i of the start's clip i and the end's clip j; ``longest`` itself is not allowed
    shortest: int = 2
    longest: int = 16
    videos: int = 100  # how many of each query's best videos are searched
    moments: int = 40  # how many are returned, at most; a training keeps ``RUN_MOMENTS``
    end_offset_s: float = 0.0  # seconds from the beginning of the end's clip to the end of the moment
    ranking: Ranking = Ranking.DISJOINT  # CONQUER's


@dataclass(frozen=True, kw_only=True)
class FeatureOptions:
    """How features become rows: the arguments of ``clip_rows``, ``word_rows`` and ``boundary_clips``."""

    endpoints: bool
    sample: bool = True
    normalise_words: bool = True
    boundary: Boundary = Boundary.AFTER


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How a model is built, trained and searched with."""

    config: Any
    objective: Objective = field(default_factory=Objective)
    reading: FeatureOptions
    decoding: Decoding
    batch: int  # samples of a step
    whole_batches: bool = False  # what is left over at the end of an epoch is not trained on
    warms_up: bool = True  # the learning rate rises at first, and falls to 0; else it stays
    needs_candidates: bool = False  # it looks for moments only in videos that another model names


RELEASED: Mapping[str, Settings] = {
    "xml": Settings(
        config=XmlConfig(),
        reading=FeatureOptions(endpoints=True),
        decoding=Decoding(alpha=20.0, end_offset_s=CLIP_S),
        batch=128,
    ),
    "reloclnet": Settings(
        config=ReloclnetConfig(), reading=FeatureOptions(endpoints=False), decoding=Decoding(alpha=30.0), batch=512
    ),
    "conquer": Settings(
        config=ConquerConfig(),
        reading=FeatureOptions(endpoints=False, sample=False, normalise_words=False, boundary=Boundary.LAST),
        decoding=Decoding(alpha=0.0, shortest=0, longest=24, videos=10, end_offset_s=CLIP_S),
        batch=196,
        whole_batches=True,
        warms_up=False,
        needs_candidates=True,
    ),
}


def config_from(baseline: str, values: Mapping[str, Any]) -> Any:
    """Return the sizes among JSON ``values`` that ``dataclasses.asdict`` wrote; other names are left aside."""
    config = RELEASED[baseline].config
    return config.changed({one.name: values[one.name] for one in fields(config) if one.name in values})
