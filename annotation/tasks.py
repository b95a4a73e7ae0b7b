"""Modules whose services are tasks (``core.jobs.durable``): imported by every worker."""

from annotation.captions.services import captions, prompts, rewriting
from annotation.corpora.services import imports, video_folders, video_uploads
from annotation.previews import playback
from annotation.previews import services as previews
from annotation.proposals import services as proposals
from annotation.statistics import services as statistics
from annotation.topics import services as topics
from annotation.train_sets import services as train_sets

__all__ = [
    "captions",
    "imports",
    "playback",
    "previews",
    "prompts",
    "proposals",
    "rewriting",
    "statistics",
    "topics",
    "train_sets",
    "video_folders",
    "video_uploads",
]
