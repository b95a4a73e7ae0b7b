"""A lead's answers to flags: an answered flag withdraws no pair and waits no more."""

import logging

from django.db import transaction

from annotation.models import User
from annotation.services.audit import audit_record
from judging.exceptions import NotPossibleNow
from judging.models import Batch, Flag, FlagAnswer, Pair

logger = logging.getLogger(__name__)
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
