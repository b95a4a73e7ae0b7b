"""Modules whose services are tasks (``core.jobs.durable``), and sweeps with a schedule of their own."""

from celery import shared_task

from core import clock
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
from judging.work.services import assignments, batches, pairs

__all__ = ["exams", "imports", "pairs", "people", "projects", "quality", "releases", "reports", "studies", "training"]


@shared_task
def assignments_sweep() -> None:
    """End every lease that has run out."""
    assignments.assignments_sweep(now=clock.now())


@shared_task
def batches_sweep() -> None:
    """Redo what a lost message left: rounds, second batches, decisions by the rule."""
    batches.batches_sweep()
    review.reviews_sweep()


@shared_task
def demo_advance() -> None:
    """Take the demo its next step: open batches, let simulated annotators grade, make the first release."""
    demo.demo_advance()


@shared_task
def retention_sweep() -> None:
    """Delete what was kept as long as settings say; a repeat finds nothing."""
    person_data.retention_apply(now=clock.now())
