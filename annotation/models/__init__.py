"""What there is to judge, and the ground everyone stands on."""

from annotation.captions.models import CaptionFailure, CaptionRedo, CaptionReview, CastMember, Prompt, Rewriting
from annotation.corpora.models import Caption, Corpus, CorpusImport, Description, Moment, Subtitle, TextVector, Video
from annotation.models.audit import AuditEvent
from annotation.models.job import Job
from annotation.models.project import Membership, Project, StandingChange
from annotation.models.session import BrowserSession, Throttle
from annotation.models.stored import LeftFile
from annotation.models.token import AccessToken
from annotation.models.user import Identity, User
from annotation.pools.models import PoolAnswer, PoolEntry, Pooling, PoolSource
from annotation.queries.models import Candidate, NamedQuerySet, Query
from annotation.similarity.models import Measure
from annotation.statistics.models import TextStatistics
from annotation.train_sets.models import TrainSet

__all__ = [
    "AccessToken",
    "AuditEvent",
    "BrowserSession",
    "Candidate",
    "Caption",
    "CaptionFailure",
    "CaptionRedo",
    "CaptionReview",
    "CastMember",
    "Corpus",
    "CorpusImport",
    "Description",
    "Identity",
    "Job",
    "LeftFile",
    "Measure",
    "Membership",
    "Moment",
    "NamedQuerySet",
    "PoolAnswer",
    "PoolEntry",
    "PoolSource",
    "Pooling",
    "Project",
    "Prompt",
    "Query",
    "Rewriting",
    "StandingChange",
    "Subtitle",
    "TextStatistics",
    "TextVector",
    "Throttle",
    "TrainSet",
    "User",
    "Video",
]
