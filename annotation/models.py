"""The tables of what there is to judge (corpora, captions, queries, pools, training sets), listed for Django."""

from annotation.captions.models import (
    Caption,
    CaptionFailure,
    CaptionRedo,
    CaptionReview,
    CastMember,
    Prompt,
    PromptDraft,
    PromptTrial,
    Rewriting,
)
from annotation.corpora.models import (
    Corpus,
    CorpusImport,
    Description,
    Measure,
    Moment,
    ProjectCorpus,
    Subtitle,
    TextVector,
    Video,
    VideoPart,
    VideoUpload,
)
from annotation.pools.models import PoolAnswer, PoolEntry, Pooling, PoolSource
from annotation.proposals.models import Proposal, ShotCut, ShotDetection
from annotation.queries.models import Candidate, NamedQuerySet, Query
from annotation.statistics.models import TextStatistics
from annotation.train_sets.models import TrainSet

__all__ = [
    "Candidate",
    "Caption",
    "CaptionFailure",
    "CaptionRedo",
    "CaptionReview",
    "CastMember",
    "Corpus",
    "CorpusImport",
    "Description",
    "Measure",
    "Moment",
    "NamedQuerySet",
    "PoolAnswer",
    "PoolEntry",
    "PoolSource",
    "Pooling",
    "ProjectCorpus",
    "Prompt",
    "PromptDraft",
    "PromptTrial",
    "Proposal",
    "Query",
    "Rewriting",
    "ShotCut",
    "ShotDetection",
    "Subtitle",
    "TextStatistics",
    "TextVector",
    "TrainSet",
    "Video",
    "VideoPart",
    "VideoUpload",
]
