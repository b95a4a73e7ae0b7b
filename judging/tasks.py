"""Doors for Celery: primary keys in, one service call."""

from celery import shared_task
from django.db import OperationalError

from core import clock


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, max_retries=5)
def batch_advance(batch_id: int) -> None:
    """Decide the batch's finished rounds; it recomputes from the rows, so a repeat is harmless."""
    from judging.work.services import batches

    batches.batch_advance(batch_id=batch_id)


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, max_retries=5)
def batch_extend(batch_id: int) -> None:
    """Open the second batch that the lead asked for; a repeat finds it open."""
    from judging.work.services import batches

    batches.batch_extend(batch_id=batch_id)


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, max_retries=5)
def batches_extend(project_id: int | None, after: int = 0) -> None:
    """Open some of the second batches that were asked for together, and send for the rest; a repeat finds them open."""
    from judging.work.services import batches

    batches.batches_extend(project_id=project_id, after=after)


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, max_retries=5)
def reviews_decide(project_id: int) -> None:
    """Decide by the rule what waits, where the policy says so; a repeat finds nothing waiting."""
    from judging.review import services

    services.reviews_decide(project_id=project_id)


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, max_retries=5)
def recut_work(recut_id: int) -> None:
    """Cut a preview anew; a repeat finds it done."""
    from judging.work.services import recuts

    recuts.recut_work(recut_id=recut_id)


@shared_task
def assignments_sweep() -> None:
    from judging.work.services import assignments

    assignments.assignments_sweep(now=clock.now())


@shared_task
def batches_sweep() -> None:
    from judging.review import services
    from judging.work.services import batches

    batches.batches_sweep()
    services.reviews_sweep()


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, max_retries=5)
def release_build(release_id: int) -> None:
    """Write the files of a release; a repeat finds it ready."""
    from judging.releases import services as releases_services

    releases_services.release_build(release_id=release_id)


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, max_retries=5)
def release_compare(comparison_id: int) -> None:
    """Find what differs between two releases; a repeat finds it known."""
    from judging.releases import services as releases_services

    releases_services.release_compare(comparison_id=comparison_id)


@shared_task
def demo_render(video_id: int) -> None:
    """Render one video of the demo and cut its previews; a repeat finds both done."""
    from judging.demo import progress

    progress.demo_render(video_id=video_id)


@shared_task
def demo_advance() -> None:
    """Take the demo its next step: open batches, let simulated annotators grade, make the first release."""
    from judging.demo import progress

    progress.demo_advance()


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, max_retries=5)
def batches_prepare(project_id: int) -> None:
    """Rank candidates and open first batches; a repeat finds them open."""
    from judging.projects import services as projects_services

    projects_services.batches_prepare(project_id=project_id)


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, max_retries=5)
def candidates_rank(project_id: int) -> None:
    """Rank candidates and open nothing; a repeat finds them ranked."""
    from judging.projects import services as projects_services

    projects_services.candidates_rank_run(project_id=project_id)


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, max_retries=5)
def pool_open(pooling_id: int) -> None:
    """Open the batches of a confirmed pool; a repeat goes on where it was."""
    from judging.studies import services as studies_services

    studies_services.pool_open(pooling_id=pooling_id)


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, max_retries=5)
def coverage_prepare(pooling_id: int) -> None:
    """Plan a coverage study; a repeat finds the plan."""
    from judging.studies import services as studies_services

    studies_services.coverage_prepare(pooling_id=pooling_id)


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, max_retries=5)
def training_draw(project_id: int, queries: int, seed: int) -> None:
    """Draw pairs for training; a repeat finds them drawn."""
    from judging.qualification.services import training

    training.training_draw(project_id=project_id, queries=queries, seed=seed)


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, max_retries=5)
def exam_prepare(exam_id: int) -> None:
    """Draw the pairs of a first cohort's exam and open it; a repeat finds it open."""
    from judging.qualification.services import exams

    exams.exam_prepare(exam_id=exam_id)


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, max_retries=5)
def exam_report(exam_id: int) -> None:
    """Compute what a closed exam says of its cohort; a repeat computes the same."""
    from judging.qualification.services import reports

    reports.exam_report(exam_id=exam_id)


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, max_retries=5)
def sitting_report(sitting_id: int) -> None:
    """Compute what a sitting says of its person, and whether they pass; a repeat finds the result."""
    from judging.qualification.services import reports

    reports.sitting_report(sitting_id=sitting_id)


@shared_task
def invitation_mail(invitation_id: int) -> None:
    """Send the link of an invitation; a repeat finds it sent."""
    from judging.people.services import invitations

    invitations.invitation_mail(invitation_id=invitation_id)


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, max_retries=5)
def judgment_import_work(import_id: int) -> None:
    """Check an export or store its judgments; a repeat finds its work done."""
    from judging.imports import services as imports_services

    imports_services.judgment_import_work(import_id=import_id)


@shared_task
def retention_sweep() -> None:
    """Delete what was kept as long as settings say; a repeat finds nothing."""
    from judging.people.services import person_data

    person_data.retention_apply(now=clock.now())


@shared_task
def work_sweep() -> None:
    """Send again work whose message was lost."""
    from judging.imports import services as imports_services
    from judging.people.services import invitations
    from judging.projects import services as projects_services
    from judging.qualification.services import training
    from judging.qualification.services.exams import exams_sweep
    from judging.quality import services as quality_services
    from judging.releases import services as releases_services
    from judging.studies import services as studies_services
    from judging.work.services import recuts, tallies

    invitations.invitations_sweep(now=clock.now())
    releases_services.releases_sweep(now=clock.now())
    releases_services.release_comparisons_sweep(now=clock.now())
    projects_services.preparations_sweep(now=clock.now())
    studies_services.pools_sweep(now=clock.now())
    studies_services.coverage_sweep(now=clock.now())
    quality_services.quality_sweep(now=clock.now())
    training.trainings_sweep(now=clock.now())
    exams_sweep(now=clock.now())
    recuts.recuts_sweep(now=clock.now())
    imports_services.judgment_imports_sweep(now=clock.now())
    tallies.tallies_fold()


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, max_retries=5)
def quality_compute(project_id: int) -> None:
    """Compute figures about the work; a repeat computes them again."""
    from judging.quality import services as quality_services

    quality_services.quality_compute(project_id=project_id)
