"""Pairs of known truth: those settled with equal grades are entered, a bad one is retired, an explanation is kept."""

import logging
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.db.models import Exists, OuterRef

from accounts.models import Project, User
from core.audit import audit_record
from core.exceptions import NotPossible
from core.jobs import swept
from judging.exceptions import NotPossibleNow
from judging.models import Exam, KnownPair, Sitting
from judging.qualification.services.sitting_grades import sitting_settle
from judging.work.rules import GRADES

logger = logging.getLogger(__name__)
RECENT = timedelta(days=2)  # what the sweep looks back at; where nothing was entered yet, at everything
WORDS = 4000  # of an explanation, in characters

ENTER = """
INSERT INTO judging_knownpair (uuid, project_id, query_id, moment_id, rank, source, pair_id, truth, explanation,
    is_retired, created_at)
SELECT gen_random_uuid(), batch.project_id, candidate.query_id, candidate.moment_id, candidate.rank, 'settled', pair.id,
    pair.relevance, '', false, now()
FROM judging_batch batch
JOIN judging_pair pair ON pair.batch_id = batch.id AND pair.state = 'settled'
JOIN annotation_candidate candidate ON candidate.id = pair.candidate_id
JOIN annotation_query query ON query.id = candidate.query_id AND NOT query.is_placeholder
WHERE batch.project_id = %(project)s AND NOT batch.is_pilot
    AND (%(since)s::timestamptz IS NULL OR (batch.state = 'done' AND batch.done_at >= %(since)s::timestamptz))
    AND (SELECT count(*) = 2 AND min(given.grade) = max(given.grade) FROM judging_judgment given
        WHERE given.pair_id = pair.id)
    AND NOT EXISTS (SELECT 1 FROM judging_knownpair known WHERE known.pair_id = pair.id)
ON CONFLICT DO NOTHING"""


def known_pairs_enter(*, project_id: int, since: datetime | None = None) -> int:
    """Enter the pairs that two annotators settled with equal grades; a repeat enters what is new. Say how many.

    ``since`` looks at batches done since then alone. Pilot batches, whose guideline was a try-out, are left out.
    """
    with connection.cursor() as cursor:
        cursor.execute(ENTER, {"project": project_id, "since": since})
        return int(cursor.rowcount)


@swept
def known_pairs_sweep(now: datetime) -> None:
    """Enter what was settled lately, project by project; where nothing is entered yet, as after an upgrade, all."""
    lately = Project.objects.filter(batches__done_at__gte=now - RECENT)
    for project_id in lately.values_list("pk", flat=True).distinct():
        known_pairs_enter(project_id=project_id, since=now - RECENT)
    entered = KnownPair.objects.filter(project=OuterRef("pk"), source=KnownPair.Source.SETTLED)
    bare = Project.objects.filter(~Exists(entered), batches__state="done", dataset__corpus__is_placeholder=False)
    for project_id in bare.values_list("pk", flat=True).distinct():
        known_pairs_enter(project_id=project_id)


@transaction.atomic
def known_pair_explain(*, known: KnownPair, actor: User, explanation: str) -> KnownPair:
    """Say why the truth is what it is; what stood there before is kept in the audit."""
    held = KnownPair.objects.select_for_update(of=("self",), no_key=True).select_related("project").get(pk=known.pk)
    words = explanation.strip()[:WORDS]
    if words == held.explanation:
        return held
    audit_record(
        project=held.project,
        actor=actor,
        action="known_pair.explain",
        subject=held.uuid,
        was=held.explanation,
        becomes=words,
    )
    held.explanation = words
    held.save(update_fields=["explanation"])
    return held


@transaction.atomic
def known_pair_anchor(*, known: KnownPair, actor: User, grade: int | None) -> KnownPair:
    """Give a pair of a first cohort the lead's own grade to compare people with, change it, or take it back (None).

    Raises:
        ValueError: the grade is outside 0..4.
        NotPossibleNow: its exam is not open, is no first cohort's, or somebody has handed in: from then on leads see
            grades, and an anchor would not be their own.
    """
    if grade is not None and grade not in GRADES:
        raise ValueError(f"a grade is 0 to 4, got {grade}")
    exam = None
    if known.exam_id is not None:
        exam = Exam.objects.select_for_update().filter(pk=known.exam_id).first()
    if exam is None or exam.kind != Exam.Kind.COHORT or exam.state != Exam.State.OPEN:
        raise NotPossibleNow("Only pairs of a first cohort that is open get an anchor.")
    sittings = exam.sittings.select_for_update().order_by("pk")
    if any(state != Sitting.State.OPEN for state in sittings.values_list("state", flat=True)):
        raise NotPossibleNow("Somebody has handed in, so anchors are final: they are given before grades are seen.")
    held = KnownPair.objects.select_for_update(of=("self",), no_key=True).select_related("project").get(pk=known.pk)
    if held.anchor == grade:
        return held
    audit_record(
        project=held.project,
        actor=actor,
        action="known_pair.anchor_remove" if grade is None else "known_pair.anchor",
        subject=held.uuid,
        **({} if grade is None else {"grade": grade}),
        **({} if held.anchor is None else {"was": str(held.anchor)}),
    )
    held.anchor = grade
    held.save(update_fields=["anchor"])
    return held


@transaction.atomic
def known_pair_retire(*, known: KnownPair, actor: User, reason: str, now: datetime) -> KnownPair:
    """Take a pair out: nobody is asked it any more, and feedback rounds go on without it. Repeating changes nothing.

    Raises:
        NotPossible: no reason is given.
    """
    if not reason.strip():
        raise NotPossible("Say why: the reason is kept with the pair.")
    asking = Sitting.objects.filter(
        known_ids__contains=[known.pk], state__in=[Sitting.State.OPEN, Sitting.State.FEEDBACK]
    )
    sittings = list(asking.select_for_update().order_by("pk"))  # before the pair, as whoever grades it does
    held = KnownPair.objects.select_for_update(of=("self",), no_key=True).select_related("project").get(pk=known.pk)
    if held.is_retired:
        return held
    held.is_retired = True
    held.save(update_fields=["is_retired"])
    audit_record(
        project=held.project, actor=actor, action="known_pair.retire", subject=held.uuid, reason=reason.strip()[:1000]
    )
    for sitting in sittings:
        sitting_settle(sitting_id=sitting.pk, now=now)
    logger.info("known pair %s retired", held.pk)
    return held
