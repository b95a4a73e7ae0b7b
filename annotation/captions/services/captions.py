"""What people decide about captions in review."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from accounts.models import Project, User
from annotation.captions import ner
from annotation.captions.selectors import last_review
from annotation.captions.services import checks
from annotation.captions.services.rewriting import UNTOLD
from annotation.corpora.services.video_files import members_of
from annotation.models import Caption, CaptionRedo, CaptionReview
from core.audit import audit_record
from core.exceptions import NotPossible
from core.messages import send_on_commit

REMEMBERED = ["text", "state", "provider", "model", "prompt_id", "temperature", "attempt", "failed", "detail"]
REMEMBERED += ["similarity", "similarity_measure_id", "name_found", "name_score", "name_model"]
LONGEST = 2000
Decision, State = CaptionReview.Decision, Caption.State


@transaction.atomic
def caption_accept(*, project: Project, caption: Caption, actor: User) -> None:
    """Let the proposal serve as it is.

    Raises:
        NotPossible: it is no longer in review, or there is no proposal: it needs the person's own words.
    """
    held = caption_in_review(caption)
    if UNTOLD & set(_latest(held)):
        raise NotPossible("There is no proposal to accept; write the caption yourself.")
    _decide(project, held, actor, Decision.ACCEPTED, text=held.text, state=State.ACCEPTED)


@transaction.atomic
def caption_edit(*, project: Project, caption: Caption, text: str, actor: User) -> None:
    """Let the person's own words serve.

    Raises:
        NotPossible: it is no longer in review, or the words are none or too many.
    """
    said = " ".join(text.split())
    if not said or len(said) > LONGEST:
        raise NotPossible(f"A caption has between 1 and {LONGEST} characters.")
    _decide(project, caption_in_review(caption), actor, Decision.EDITED, text=said, state=State.EDITED)


def name_left_in(caption: Caption) -> str:
    """A name of a person that the lexicon finds in the caption; empty where it finds none."""
    video = caption.moment.video
    names = ner.name_finder(ner.LEXICON, members_of(video.corpus_id))
    (found,) = names.find([caption.text], videos=[video.name])
    return found.text if found.score > settings.CAPTION_NAME_SCORE_MAX else ""


@transaction.atomic
def caption_undo(*, project: Project, actor: User) -> Caption:
    """Take back the actor's last decision in this corpus that still stands.

    Raises:
        NotPossible: there is none, somebody has decided since, or the caption serves a query already.
    """
    review = last_review(project.dataset.corpus_id, actor.pk)
    if redo := _called_off(project, actor, since=review.created_at if review else None):
        return redo.caption
    if review is None:
        raise NotPossible("There is no decision of yours to undo.")
    held = Caption.objects.select_for_update().get(pk=review.caption_id)
    if held.reviews.filter(undone_at=None, pk__gt=review.pk).exists():
        raise NotPossible("Somebody has decided about this caption since.")
    if held.queries.exists():
        raise NotPossible("A query has been made of this caption; it stays.")
    for name, value in review.before.items():
        setattr(held, name, value)
    held.reviewed_by = held.reviewed_at = None
    held.save()
    CaptionReview.objects.filter(pk=review.pk).update(undone_at=timezone.now())
    audit_record(project=project, actor=actor, action="caption.undone", subject=held.uuid, decision=review.decision)
    return held


def _called_off(project: Project, actor: User, *, since: datetime | None) -> CaptionRedo | None:
    """The actor's last decision may be to have asked for another wording that is not there yet."""
    mine = CaptionRedo.objects.filter(
        actor=actor, caption__description__corpus=project.dataset.corpus_id, finished_at=None
    )
    redo = mine.filter(**{"asked_at__gt": since} if since else {}).select_related("caption").order_by("-pk").first()
    if redo is None or not mine.filter(pk=redo.pk).update(finished_at=timezone.now()):
        return None
    audit_record(project=project, actor=actor, action="caption.redo_called_off", subject=redo.caption.uuid)
    return redo


def remembered(caption: Caption) -> dict[str, Any]:
    return {name: getattr(caption, name) for name in REMEMBERED}


def _latest(caption: Caption) -> Sequence[str]:
    """What the current wording failed."""
    failure = caption.failures.filter(attempt=caption.attempt).first()
    return failure.failed if failure else []


def caption_in_review(caption: Caption) -> Caption:
    held = (
        Caption.objects.select_for_update(of=("self",))
        .select_related("description", "moment__video")
        .get(pk=caption.pk)
    )
    if held.state != State.IN_REVIEW:
        raise NotPossible("This caption has been decided already.")
    return held


def _decide(project: Project, held: Caption, actor: User, decision: str, *, text: str, state: str) -> None:
    before = remembered(held)
    held.text, held.state, held.reviewed_by, held.reviewed_at = text, state, actor, timezone.now()
    if decision == Decision.EDITED:  # what was measured was another text
        held.similarity = held.similarity_measure = held.name_score = None
        held.name_found = held.name_model = ""
        send_on_commit(checks.TASK, project.dataset.corpus_id)
    held.save()
    CaptionReview.objects.create(caption=held, actor=actor, decision=decision, before=before, text=text)
    audit_record(
        project=project,
        actor=actor,
        action=f"caption.{decision}",
        subject=held.uuid,
        failed=held.failed,
        from_text=before["text"],
        to_text=text,
    )
