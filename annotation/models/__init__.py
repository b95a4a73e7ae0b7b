"""What there is to judge, and the ground everyone stands on."""

from annotation.models.audit import AuditEvent
from annotation.models.corpus import Corpus, Subtitle, Video
from annotation.models.imports import CorpusImport
from annotation.models.job import Job
from annotation.models.measure import Measure
from annotation.models.moment import Caption, Description, Moment, TextVector
from annotation.models.pooling import PoolAnswer, PoolEntry, Pooling, PoolSource
from annotation.models.project import Membership, Project, StandingChange
from annotation.models.query import Candidate, NamedQuerySet, Query
from annotation.models.rewriting import CaptionFailure, CaptionRedo, CaptionReview, CastMember, Prompt, Rewriting
from annotation.models.session import BrowserSession, Throttle
from annotation.models.statistics import TextStatistics
from annotation.models.stored import LeftFile
from annotation.models.token import AccessToken
from annotation.models.train_set import TrainSet
from annotation.models.user import Identity, User

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
