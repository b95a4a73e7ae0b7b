"""Previews cut anew on a lead's word, between other bounds where those were wrong."""

import logging
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.models import User
from annotation.models import Moment
from annotation.previews.services import preview_cut, preview_replace
from core.audit import audit_record
from core.exceptions import NotPossible
from core.locks import only_one
from core.messages import send_on_commit
from judging.exceptions import NotPossibleNow
from judging.models import Batch, FlagAnswer, Pair, Recut
from judging.work.rules import fault_of_bounds
from judging.work.selectors.flags import why_bounds_stay
from judging.work.services.pairs import flags_answer

logger = logging.getLogger(__name__)
TASK = "judging.tasks.recut_work"
LATE = timedelta(minutes=1)
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
    send_on_commit(TASK, recut.pk)
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


def recut_work(*, recut_id: int) -> bool:
    """Cut it and put it in the old one's place; False when there was nothing to do, or it failed."""
    with only_one("recut", recut_id) as alone:
        found = Recut.objects.filter(pk=recut_id, state=Recut.State.WAITING) if alone else Recut.objects.none()
        recut = found.select_related("moment__video", "pair__batch__project", "pair__candidate", "asked_by").first()
        if recut is None:
            return False
        try:
            _replace(recut)
        except NotPossible as error:
            _end(recut, state=Recut.State.FAILED, error=str(error)[:300])
            return False
    return True


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


def recuts_sweep(*, now: datetime) -> None:
    """Send again what waits for long; its message may have been lost."""
    late = Recut.objects.filter(state=Recut.State.WAITING, asked_at__lt=now - LATE)
    for recut_id in late.values_list("pk", flat=True):
        send_on_commit(TASK, recut_id)
