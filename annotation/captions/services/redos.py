"""Another wording of a caption in review: a person asks, a worker makes it, and whoever decides meanwhile was first."""

import logging
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from accounts.models import Project, User
from annotation.captions.rewriting.provider import Answer, Item
from annotation.captions.services.captions import caption_in_review, remembered
from annotation.captions.services.rewriting import Work, failure_of
from annotation.models import Caption, CaptionFailure, CaptionRedo, CaptionReview, Rewriting
from core.audit import audit_record
from core.exceptions import MomentJudgeError, NotPossible
from core.jobs import JobKind, durable

logger = logging.getLogger(__name__)
NOTHING_ELSE = "The rules have no other wording for this description. Write the caption yourself."
REDOS = JobKind(
    "annotation.tasks.caption_redo_make",
    lambda: CaptionRedo.objects.filter(finished_at=None).select_related("project", "actor"),
    moved="asked_at",
    late=timedelta(minutes=1),
    expected=(MomentJudgeError,),
)


@transaction.atomic
def caption_redo(*, project: Project, caption: Caption, actor: User) -> CaptionRedo:
    """Ask for another wording in the background; the caption stays in review.

    Raises:
        NotPossible: it is no longer in review, or another wording is on its way.
    """
    held = caption_in_review(caption)
    if held.redos.filter(finished_at=None).exists():
        raise NotPossible("Another wording of this caption is on its way.")
    redo = CaptionRedo.objects.create(caption=held, project=project, actor=actor)
    REDOS.send(redo.pk)
    return redo


@durable(REDOS.task)
def caption_redo_make(*, redo_id: int) -> None:
    """Ask the provider once and measure what it says; a repeat finds it done. What went wrong is kept to be shown."""
    with REDOS.claim(redo_id) as redo:
        if redo is not None:
            _make(redo)


def _make(redo: CaptionRedo) -> None:
    asked = Caption.objects.select_related("description__corpus", "moment__video").get(pk=redo.caption_id)
    with transaction.atomic():
        caption_in_review(asked)  # before anything is asked for or measured
    rewriting = Rewriting.objects.filter(corpus=asked.description.corpus_id).select_related("prompt").latest("pk")
    work = Work(rewriting, patient=False)
    before, known = remembered(asked), list(asked.failed)
    work.reword(asked, _another_wording(work, asked))
    work.measure([asked])  # loads models: nobody's row is locked meanwhile
    with transaction.atomic():
        if remembered(caption_in_review(asked)) != before:
            raise NotPossible("Somebody has redone this caption meanwhile.")
        if not _end(redo):
            return  # called off
        if asked.failed:
            CaptionFailure.objects.bulk_create([failure_of(asked)], ignore_conflicts=True)
        asked.failed = list(dict.fromkeys([*known, *asked.failed]))
        asked.save()
        CaptionReview.objects.create(
            caption=asked, actor=redo.actor, decision=CaptionReview.Decision.REDONE, before=before, text=asked.text
        )
        audit_record(project=redo.project, actor=redo.actor, action="caption.redone", subject=asked.uuid)


def _another_wording(work: Work, asked: Caption) -> Answer:
    """What the provider says now; the rules know two wordings, and give only one that nobody has seen.

    Raises:
        NotPossible: the rules have no other.
    """
    item = Item(asked.description_id, asked.description.text, asked.moment.video.name)
    if work.provider.name != Caption.Provider.RULES:
        (answer,) = work.provider.rewrite([item], again=True)
        return answer
    seen = _wordings_seen(asked)
    for general in (True, False):
        (answer,) = work.provider.rewrite([item], again=general)
        if answer.text and answer.text not in seen:
            return answer
    raise NotPossible(NOTHING_ELSE)


def _wordings_seen(caption: Caption) -> set[str]:
    decided = caption.reviews.filter(undone_at=None).values_list("before__text", flat=True)
    return {caption.text, *caption.failures.values_list("text", flat=True), *decided}


@REDOS.failure
def _fail(redo: CaptionRedo, error: str) -> None:
    _end(redo, error)


def _end(redo: CaptionRedo, error: str = "") -> int:
    return CaptionRedo.objects.filter(pk=redo.pk, finished_at=None).update(finished_at=timezone.now(), error=error)
