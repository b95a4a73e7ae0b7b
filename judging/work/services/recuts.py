"""Previews cut anew on a lead's word, between other bounds where those were wrong."""

import logging
from datetime import timedelta

from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.models import User
from annotation.models import Moment
from annotation.previews.services import preview_cut, preview_replace
from core.audit import audit_record
from core.exceptions import NotPossible
from core.jobs import JobKind, durable
from judging.exceptions import NotPossibleNow
from judging.models import Batch, FlagAnswer, Pair, Recut
from judging.work.rules import fault_of_bounds
from judging.work.selectors.flags import why_bounds_stay
from judging.work.services.pairs import flags_answer

logger = logging.getLogger(__name__)
RECUTS = JobKind(
    "judging.tasks.recut_work",
    lambda: Recut.objects.filter(state=Recut.State.WAITING).select_related(
        "moment__video", "pair__batch__project", "pair__candidate", "asked_by"
    ),
    moved="asked_at",
    late=timedelta(minutes=1),
    lock="recut",
    expected=(NotPossible,),
    fail=lambda recut, error: _end(recut, state=Recut.State.FAILED, error=error[:300]),
)
WAITS = "This clip is being cut already."


@transaction.atomic
def recut_request(*, pair: Pair, lead: User, bounds: tuple[float, float] | None = None) -> Recut:
    """Have the pair's clip cut anew, between other ``bounds`` (start and end in seconds) where some are given.

    Annotators see the old clip until the new one is there. Its flags are answered when it is.

    Raises:
        NotPossibleNow: it is being cut already, there is no video, or the moment cannot have these bounds.
    """
    held = Pair.objects.select_related("candidate__moment__video", "batch__project", "batch__query").get(pk=pair.pk)
    moment = held.candidate.moment
    if not moment.video.file:
        raise NotPossibleNow("There is no video to cut it from.")
    if bounds and (fault := _fault_of(moment, bounds)):
        raise NotPossibleNow(fault)
    start_s, end_s = bounds or (None, None)
    try:
        with transaction.atomic():
            recut = Recut.objects.create(pair=held, moment=moment, start_s=start_s, end_s=end_s, asked_by=lead)
    except IntegrityError as error:
        raise NotPossibleNow(WAITS) from error
    changed = {"was": [moment.start_s, moment.end_s], "becomes": list(bounds)} if bounds else {}
    audit_record(
        project=held.batch.project,
        actor=lead,
        action="moment.bounds" if bounds else "moment.recut",
        subject=held.uuid,
        query=held.batch.query.text,
        moment=str(moment.uuid),
        **changed,
    )
    RECUTS.send(recut.pk)
    return recut


def _fault_of(moment: Moment, bounds: tuple[float, float]) -> str | None:
    """Why the moment cannot have these bounds, in words."""
    start_s, end_s = bounds
    fault = fault_of_bounds(start_s, end_s, duration_s=moment.video.duration_s)
    if fault:
        return fault
    if (start_s, end_s) == (moment.start_s, moment.end_s):
        return "These are its bounds already."
    if moment.video.moments.filter(start_s=start_s, end_s=end_s).exists():
        return "Another moment of this video has these bounds."
    return why_bounds_stay(moment)


@durable(RECUTS.task)
def recut_work(*, recut_id: int) -> bool:
    """Cut it and put it in the old one's place; False when there was nothing to do, or it failed."""
    with RECUTS.claim(recut_id) as recut:
        if recut is not None:
            _replace(recut)
            return True
    return False


def _replace(recut: Recut) -> None:
    moment = recut.moment
    bounds = {
        "start_s": moment.start_s if recut.start_s is None else recut.start_s,
        "end_s": moment.end_s if recut.end_s is None else recut.end_s,
    }
    cut = preview_cut(video=moment.video, **bounds)
    with transaction.atomic():
        if recut.sets_bounds:
            _hold_still(moment)
            if why := why_bounds_stay(moment):
                raise NotPossible(why)
        kind = FlagAnswer.Kind.BOUNDS if recut.sets_bounds else FlagAnswer.Kind.RECUT
        flags_answer(pair=recut.pair, kind=kind, lead=recut.asked_by, of_clip=True)
        _end(recut, state=Recut.State.DONE)
        preview_replace(moment=moment, cut=cut, **bounds)


def _hold_still(moment: Moment) -> None:
    """Until commit nobody is handed a batch that asks for this moment."""
    batches = Batch.objects.select_for_update().filter(pairs__candidate__moment=moment)
    list(batches.order_by("pk").values_list("pk", flat=True))


def _end(recut: Recut, *, state: str, error: str = "") -> None:
    Recut.objects.filter(pk=recut.pk).update(state=state, error=error, ended_at=timezone.now())
    logger.info("recut %s of moment %s: %s %s", recut.pk, recut.moment_id, state, error)
