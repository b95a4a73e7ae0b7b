"""Modules whose services are tasks (``core.jobs.durable``)."""

from judging.demo import services as demo
from judging.imports import services as imports
from judging.people import person_data
from judging.people import services as people
from judging.projects import services as projects
from judging.qualification.services import exams, reports, training
from judging.quality import services as quality
from judging.releases import services as releases
from judging.review import services as review
from judging.studies import services as studies
from judging.webhooks import services as webhooks
from judging.work.services import assignments, batches, pairs, videos

__all__ = ["assignments", "batches", "demo", "exams", "imports", "pairs", "people", "person_data", "projects"]
__all__ += ["quality", "releases", "reports", "review", "studies", "training", "videos", "webhooks"]
