"""A lead's decisions on single pairs: withdraw, restore, answer flags, have a preview cut anew."""

import logging

from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.models import User
from annotation.models import Moment
from annotation.previews.cutting import fault_of_bounds
from annotation.previews.services import preview_cut, preview_replace
from core.audit import audit_record
from core.exceptions import NotPossible
from core.jobs import JobKind, durable
from core.messages import send_on_commit
from judging.exceptions import NotPossibleNow
from judging.models import Assignment, Batch, Flag, FlagAnswer, Judgment, Pair, Recut
from judging.work import rules
from judging.work.selectors.flags import why_bounds_stay
from judging.work.services.batches import ADVANCE_TASK, slots_count

logger = logging.getLogger(__name__)


@transaction.atomic
def pair_withdraw(*, pair: Pair, lead: User, reason: str) -> None:
    """Take the pair out: nobody is asked for it any more, it has no relevance, and releases leave it out. Its flags are
    answered by that. Raises NotPossibleNow: no reason was given, or it is withdrawn already."""
    if not reason.strip():
        raise NotPossibleNow("Say why: the reason is kept with the pair.")
    batch, row = _locked(pair)
    if row.state == Pair.State.WITHDRAWN:
        raise NotPossibleNow("This pair is withdrawn already.")
    if row.source_id is not None:
        raise NotPossibleNow("Imported pairs stay as they were judged.")
    Pair.objects.filter(pk=row.pk).update(
        state=Pair.State.WITHDRAWN, relevance=None, reason=Pair.Reason.WITHDRAWN_BY_LEAD
    )
    flags_answer(pair=row, kind=FlagAnswer.Kind.WITHDRAWN, lead=lead, words=reason.strip())
    _followed(batch, row, lead, "pair.withdraw", reason=reason, was=row.state)


@transaction.atomic
def pair_restore(*, pair: Pair, lead: User, reason: str = "") -> None:
    """Undo a withdrawal: the pair becomes what its grades say, and the flags raised so far withdraw it no more. Raises
    NotPossibleNow: it is not withdrawn, its video is retired, or its batch is done and its grades alone decide
    nothing."""
    batch, row = _locked(pair)
    if row.state != Pair.State.WITHDRAWN:
        raise NotPossibleNow("This pair is not withdrawn.")
    if row.candidate.moment.video.retired_at is not None:
        raise NotPossibleNow("The video of this pair is retired, so that nobody can see it; it stays withdrawn.")
    state, relevance = _state_by_grades(row, rules.rules_of(batch))
    undecided = state in (Pair.State.OPEN, Pair.State.ESCALATED)
    if undecided and batch.state == Batch.State.DONE:
        raise NotPossibleNow("The batch is finished and the grades of this pair decide nothing; it stays withdrawn.")
    if state == Pair.State.OPEN and batch.round > 1:
        raise NotPossibleNow("The first round of this batch is over and this pair lacks grades of it.")
    reason_of_drop = Pair.Reason.NO_CONSENSUS if state == Pair.State.DROPPED else ""
    Pair.objects.filter(pk=row.pk).update(
        state=state, relevance=relevance, reason=reason_of_drop, restored_at=timezone.now()
    )
    _followed(batch, row, lead, "pair.restore", reason=reason, now=state)


def _locked(pair: Pair) -> tuple[Batch, Pair]:
    batch = Batch.objects.select_for_update(of=("self",)).select_related("project", "query").get(pk=pair.batch_id)
    return batch, Pair.objects.select_related("candidate__moment__video").get(pk=pair.pk)


def _state_by_grades(pair: Pair, project_rules: rules.Rules) -> tuple[str, int | None]:
    """State and relevance by the grades of assignments that have ended."""
    final = Judgment.objects.filter(pair=pair).exclude(assignment__state=Assignment.State.OPEN)
    outcome = rules.settle(list(final.values_list("grade", flat=True)), project_rules)
    if outcome.state != rules.State.WAITING:
        return str(outcome.state), outcome.relevance
    rounds = set(final.values_list("round", flat=True))
    return (Pair.State.ESCALATED if 2 in rounds else Pair.State.OPEN), None


def _followed(batch: Batch, pair: Pair, lead: User, action: str, **data: str) -> None:
    """Finish either step: recount slots, write the audit, and send the task that may close the batch."""
    slots_count(batch)
    subject_data = {"query": batch.query.text, "rank": pair.candidate.rank}
    audit_record(project=batch.project, actor=lead, action=action, subject=pair.uuid, **subject_data, **data)
    logger.info("%s %s of batch %s", action, pair.pk, batch.pk)
    send_on_commit(ADVANCE_TASK, batch.pk)


WORDS = 1000


@transaction.atomic
def flags_dismiss(*, pair: Pair, lead: User, words: str) -> int:
    """Say why the pair can be judged as it is; whoever flagged it is not asked again. Returns how many flags. Raises
    NotPossibleNow: no word was given, or no flag waits."""
    if not words.strip():
        raise NotPossibleNow("Say why: your word is kept with the flag.")
    batch = Batch.objects.select_for_update(of=("self",)).select_related("project", "query").get(pk=pair.batch_id)
    flags = flags_answer(pair=pair, kind=FlagAnswer.Kind.DISMISSED, lead=lead, words=words.strip())
    if not flags:
        raise NotPossibleNow("No flag of this pair waits for an answer.")
    data = {"query": batch.query.text, "flags": [flag.reason for flag in flags], "reason": words.strip()[:WORDS]}
    audit_record(project=batch.project, actor=lead, action="flag.dismiss", subject=pair.uuid, **data)
    return len(flags)


def flags_answer(*, pair: Pair, kind: str, lead: User, words: str = "", of_clip: bool = False) -> list[Flag]:
    """Answer the flags of the pair that stand without an answer; ``of_clip``: those of other pairs of the project, too,
    that call the same clip broken. The caller writes the record."""
    open_flags = Flag.objects.filter(withdrawn_at__isnull=True, answer__isnull=True)
    flags = list(open_flags.filter(pair=pair).order_by("pk"))
    if of_clip:
        same = open_flags.filter(
            pair__candidate__moment=pair.candidate.moment_id,
            pair__batch__project=pair.batch.project_id,
            reason=Flag.Reason.BROKEN,
        )
        flags += list(same.exclude(pair=pair).order_by("pk"))
    answers = [FlagAnswer(flag=flag, kind=kind, text=words[:WORDS], answered_by=lead) for flag in flags]
    FlagAnswer.objects.bulk_create(answers, ignore_conflicts=True)  # another lead may be answering one just now
    logger.info("flags %s: %s", [flag.pk for flag in flags], kind)
    return flags


RECUTS = JobKind(
    "judging.tasks.recut_work",
    lambda: Recut.objects.filter(state=Recut.State.WAITING).select_related(
        "moment__video", "pair__batch__project", "pair__candidate", "requested_by"
    ),
    moved="requested_at",
    lock="recut",
    expected=(NotPossible,),
    fail=lambda recut, error: _end(recut, state=Recut.State.FAILED, error=error[:300]),
)
WAITS = "This clip is being cut already."


@transaction.atomic
def recut_request(*, pair: Pair, lead: User, bounds: tuple[float, float] | None = None) -> Recut:
    """Have the pair's clip cut anew, between other ``bounds`` (start and end in seconds) where some are given.
    Annotators see the old clip until the new one is there. Its flags are answered when it is. Raises NotPossibleNow: it
    is being cut already, there is no video, or the moment cannot have these bounds."""
    row = Pair.objects.select_related("candidate__moment__video", "batch__project", "batch__query").get(pk=pair.pk)
    moment = row.candidate.moment
    if not moment.video.file:
        raise NotPossibleNow("There is no video to cut it from.")
    if bounds and (fault := _fault_of(moment, bounds)):
        raise NotPossibleNow(fault)
    start_s, end_s = bounds or (None, None)
    try:
        with transaction.atomic():
            recut = Recut.objects.create(pair=row, moment=moment, start_s=start_s, end_s=end_s, requested_by=lead)
    except IntegrityError as error:
        raise NotPossibleNow(WAITS) from error
    action = "moment.bounds" if bounds else "moment.recut"
    data: dict[str, object] = {"query": row.batch.query.text, "moment": str(moment.uuid)}
    if bounds:
        data |= {"was": [moment.start_s, moment.end_s], "becomes": list(bounds)}
    audit_record(project=row.batch.project, actor=lead, action=action, subject=row.uuid, **data)
    RECUTS.send(recut.pk)
    return recut


def _fault_of(moment: Moment, bounds: tuple[float, float]) -> str | None:
    """Why the moment cannot have these bounds, in words."""
    start_s, end_s = bounds
    if fault := fault_of_bounds(start_s, end_s, duration_s=moment.video.duration_s):
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
    clip = preview_cut(video=moment.video, **bounds)
    with transaction.atomic():
        if recut.sets_bounds:
            # until commit nobody is handed a batch that asks for this moment
            batches = Batch.objects.select_for_update().filter(pairs__candidate__moment=moment)
            list(batches.order_by("pk").values_list("pk", flat=True))
            if why := why_bounds_stay(moment):
                raise NotPossible(why)
        kind = FlagAnswer.Kind.BOUNDS if recut.sets_bounds else FlagAnswer.Kind.RECUT
        flags_answer(pair=recut.pair, kind=kind, lead=recut.requested_by, of_clip=True)
        _end(recut, state=Recut.State.DONE)
        preview_replace(moment=moment, preview=clip, **bounds)


def _end(recut: Recut, *, state: str, error: str = "") -> None:
    Recut.objects.filter(pk=recut.pk).update(state=state, error=error, ended_at=timezone.now())
    logger.info("recut %s of moment %s: %s %s", recut.pk, recut.moment_id, state, error)
