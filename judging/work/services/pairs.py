"""A lead's word on single pairs: withdrawn with a reason, or put back.

A lead's answers to flags: an answered flag withdraws no pair and waits no more.
"""

import logging

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from core.audit import audit_record
from core.messages import send_on_commit
from judging.exceptions import NotPossibleNow
from judging.models import Assignment, Batch, Flag, FlagAnswer, Judgment, Pair
from judging.work import rules
from judging.work.services.batches import ADVANCE_TASK, seats_count

logger = logging.getLogger(__name__)


@transaction.atomic
def pair_withdraw(*, pair: Pair, lead: User, reason: str) -> None:
    """Take the pair out: nobody is asked for it any more, it has no relevance, and releases leave it out.

    Its flags are answered by that.

    Raises:
        NotPossibleNow: no reason was given, or it is withdrawn already.
    """
    if not reason.strip():
        raise NotPossibleNow("Say why: the reason is kept with the pair.")
    batch, held = _locked(pair)
    if held.state == Pair.State.WITHDRAWN:
        raise NotPossibleNow("This pair is withdrawn already.")
    if held.source_id is not None:
        raise NotPossibleNow("Imported pairs stay as they were judged.")
    Pair.objects.filter(pk=held.pk).update(
        state=Pair.State.WITHDRAWN, relevance=None, reason=Pair.Reason.WITHDRAWN_BY_LEAD
    )
    flags_answer(pair=held, kind=FlagAnswer.Kind.WITHDRAWN, lead=lead, words=reason.strip())
    _followed(batch, held, lead, "pair.withdraw", reason=reason, was=held.state)


@transaction.atomic
def pair_restore(*, pair: Pair, lead: User, reason: str = "") -> None:
    """Undo a withdrawal: the pair becomes what its grades say, and the flags raised so far withdraw it no more.

    Raises:
        NotPossibleNow: it is not withdrawn, or its batch is done and its grades alone decide nothing.
    """
    batch, held = _locked(pair)
    if held.state != Pair.State.WITHDRAWN:
        raise NotPossibleNow("This pair is not withdrawn.")
    state, relevance = _standing(held)
    undecided = state in (Pair.State.OPEN, Pair.State.ESCALATED)
    if undecided and batch.state == Batch.State.DONE:
        raise NotPossibleNow("The batch is finished and the grades of this pair decide nothing; it stays withdrawn.")
    if state == Pair.State.OPEN and batch.round == 2:
        raise NotPossibleNow("The first round of this batch is over and this pair lacks grades of it.")
    reason_of_drop = Pair.Reason.NO_CONSENSUS if state == Pair.State.DROPPED else ""
    Pair.objects.filter(pk=held.pk).update(
        state=state, relevance=relevance, reason=reason_of_drop, restored_at=timezone.now()
    )
    _followed(batch, held, lead, "pair.restore", reason=reason, now=state)


def _locked(pair: Pair) -> tuple[Batch, Pair]:
    batch = Batch.objects.select_for_update(of=("self",)).select_related("project", "query").get(pk=pair.batch_id)
    return batch, Pair.objects.select_related("candidate").get(pk=pair.pk)


def _standing(pair: Pair) -> tuple[str, int | None]:
    """State and relevance by the grades of assignments that have ended."""
    final = Judgment.objects.filter(pair=pair).exclude(assignment__state=Assignment.State.OPEN)
    outcome = rules.settle(list(final.values_list("grade", flat=True)))
    if outcome.state != rules.State.WAITING:
        return str(outcome.state), outcome.relevance
    rounds = set(final.values_list("round", flat=True))
    return (Pair.State.ESCALATED if 2 in rounds else Pair.State.OPEN), None


def _followed(batch: Batch, pair: Pair, lead: User, action: str, **data: str) -> None:
    """What either step brings about: seats counted anew, the record, and the task that may close the batch."""
    seats_count(batch)
    place = {"query": batch.query.text, "rank": pair.candidate.rank}
    audit_record(project=batch.project, actor=lead, action=action, subject=pair.uuid, **place, **data)
    logger.info("%s %s of batch %s", action, pair.pk, batch.pk)
    send_on_commit(ADVANCE_TASK, batch.pk)


WORDS = 1000


@transaction.atomic
def flags_dismiss(*, pair: Pair, lead: User, words: str) -> int:
    """Say why the pair can be judged as it is; whoever flagged it is not asked again. Returns how many flags.

    Raises:
        NotPossibleNow: no word was given, or no flag waits.
    """
    if not words.strip():
        raise NotPossibleNow("Say why: your word is kept with the flag.")
    batch = Batch.objects.select_for_update(of=("self",)).select_related("project", "query").get(pk=pair.batch_id)
    flags = flags_answer(pair=pair, kind=FlagAnswer.Kind.DISMISSED, lead=lead, words=words.strip())
    if not flags:
        raise NotPossibleNow("No flag of this pair waits for an answer.")
    audit_record(
        project=batch.project,
        actor=lead,
        action="flag.dismiss",
        subject=pair.uuid,
        query=batch.query.text,
        flags=[flag.reason for flag in flags],
        reason=words.strip()[:WORDS],
    )
    return len(flags)


def flags_answer(*, pair: Pair, kind: str, lead: User, words: str = "", of_clip: bool = False) -> list[Flag]:
    """Answer the flags of the pair that stand without an answer; ``of_clip``: those of other pairs of the project, too,
    that call the same clip broken. The caller writes the record."""
    standing = Flag.objects.filter(withdrawn_at__isnull=True, answer__isnull=True)
    found = list(standing.filter(pair=pair).order_by("pk"))
    if of_clip:
        same = standing.filter(
            pair__candidate__moment=pair.candidate.moment_id,
            pair__batch__project=pair.batch.project_id,
            reason=Flag.Reason.BROKEN,
        )
        found += list(same.exclude(pair=pair).order_by("pk"))
    answers = [FlagAnswer(flag=flag, kind=kind, words=words[:WORDS], answered_by=lead) for flag in found]
    FlagAnswer.objects.bulk_create(answers, ignore_conflicts=True)  # another lead may be answering one just now
    logger.info("flags %s: %s", [flag.pk for flag in found], kind)
    return found
