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
    VideoFolder,
    VideoPart,
    VideoUpload,
)
from annotation.pools.models import PoolAnswer, PoolEntry, Pooling, PoolSource, PoolSpan, PoolSpanEntry
from annotation.proposals.models import Proposal, ShotCut, ShotDetection
from annotation.queries.models import Candidate, NamedQuerySet, Query
from annotation.statistics.models import TextStatistics
from annotation.topics.models import Topic, TopicImport, TopicVersion
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
    "PoolSpan",
    "PoolSpanEntry",
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
    "Topic",
    "TopicImport",
    "TopicVersion",
    "TrainSet",
    "Video",
    "VideoFolder",
    "VideoPart",
    "VideoUpload",
]
