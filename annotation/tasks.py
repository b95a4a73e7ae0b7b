"""Doors for Celery: primary keys in, one service call."""

from celery import shared_task
from django.db import OperationalError

from core import clock


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, max_retries=5)
def video_cut_previews(video_id: int) -> None:
    """Cut what the video's moments still lack; a repeat finds nothing to do."""
    from annotation.previews.services import video_cut_previews as cut

    cut(video_id=video_id)


@shared_task
def previews_sweep() -> None:
    from annotation.previews.services import previews_sweep as sweep

    sweep()


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, max_retries=5)
def corpus_import_work(import_id: int) -> None:
    """Check a file or import it; a repeat finds its work done."""
    from annotation.corpora.services.imports import corpus_import_work as work

    work(import_id=import_id)


@shared_task
def imports_sweep() -> None:
    from annotation.corpora.services.imports import imports_sweep as sweep

    sweep(now=clock.now())


@shared_task
def sessions_sweep() -> None:
    """Sessions that have ended, and tries that no limit looks at any more."""
    from accounts.services.throttles import throttles_sweep
    from accounts.sessions import sessions_sweep as sweep

    sweep()
    throttles_sweep()


@shared_task
def password_link_mail(user_id: int, request: str = "") -> None:
    """The link is made here, so that no message holds it; a repeat of the same request sends nothing."""
    from accounts.services.identities import password_link_mail as mail

    mail(user_id=user_id, request=request)


@shared_task
def email_changed_mail(email: str, request: str) -> None:
    """No row holds the address any more; a repeat of the same request sends nothing."""
    from accounts.services.identities import email_changed_mail as mail

    mail(email=email, request=request)


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, max_retries=5)
def rewriting_run(rewriting_id: int) -> None:
    """Rewrite what is left; a repeat, or a second worker, finds the work taken or done."""
    from annotation.captions.services.rewriting import rewriting_run as run

    run(rewriting_id=rewriting_id)


@shared_task
def rewritings_sweep() -> None:
    from annotation.captions.services.rewriting import rewritings_sweep as sweep

    sweep()


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, max_retries=5)
def caption_redo_make(redo_id: int) -> None:
    """Make another wording; a repeat, or a second worker, finds the work taken or done."""
    from annotation.captions.services.redos import caption_redo_make as make

    make(redo_id=redo_id)


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, max_retries=5)
def edits_check(corpus_id: int) -> None:
    """Measure what people wrote; a repeat finds it measured."""
    from annotation.captions.services.checks import edits_check as check

    check(corpus_id=corpus_id)


@shared_task
def captions_sweep() -> None:
    from annotation.captions.services.checks import edits_sweep
    from annotation.captions.services.redos import redos_sweep

    redos_sweep(now=clock.now())
    edits_sweep()


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, max_retries=5)
def train_set_write(train_set_id: int) -> None:
    """Write what is left of a training set; a repeat, or a second worker, finds the work taken or done."""
    from annotation.train_sets.services import train_set_write as write

    write(train_set_id=train_set_id)


@shared_task
def train_sets_sweep() -> None:
    from annotation.train_sets.services import train_sets_sweep as sweep

    sweep(now=clock.now())


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, max_retries=5)
def statistics_compute(project_id: int) -> None:
    """Compute what the texts come to; a repeat computes the same."""
    from annotation.statistics.services import statistics_compute as compute

    compute(project_id=project_id)


@shared_task
def statistics_sweep() -> None:
    from annotation.statistics.services import statistics_sweep as sweep

    sweep(now=clock.now())


@shared_task
def left_files_sweep() -> None:
    """Remove stored files that were left: a backup ran, or the storage was away."""
    from core.stored_files import left_files_sweep as sweep

    sweep()
