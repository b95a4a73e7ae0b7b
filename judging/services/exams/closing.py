"""Closing an exam: the truth of a first cohort, and what its sittings become."""

import logging
from collections.abc import Collection, Sequence
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from annotation.exceptions import NotPossible
from annotation.messages import send_on_commit
from annotation.models import User
from annotation.services.audit import audit_record
from judging import selectors
from judging.exceptions import Unfinished
from judging.models import Exam, KnownPair, Sitting, SittingGrade
from judging.rules.exam import truth_of
from judging.selectors.sittings import Sat
from judging.services.exams.reports import REPORT_EXAM_TASK
from judging.services.sittings.endings import handed_in, sitting_move

logger = logging.getLogger(__name__)
FEWEST = 3  # people whose grades make a truth
State = Sitting.State


@transaction.atomic
def exam_close(*, exam: Exam, actor: User, confirmed: Collection[int] = (), now: datetime | None = None) -> Exam:
    """End the giving of first grades. A first cohort's truth follows from those who have given them all.

    Who lacks a grade has missed the exam; what is complete but not handed in is handed in. Repeating changes nothing.

    Args:
        confirmed: numbers of people who are not done, and whom closing it leaves out all the same.

    Raises:
        NotPossible: it is not open, or too few people of a first cohort have given all grades.
        Unfinished: somebody else is not done, and that was not confirmed.
    """
    held = Exam.objects.select_for_update(of=("self",)).select_related("project").get(pk=exam.pk)
    if held.state == Exam.State.CLOSED:
        return held
    if held.state != Exam.State.OPEN:
        raise NotPossible("This exam is not open.")
    sittings = _locked(held)
    complete = [sat for sat in sittings if not sat.left]
    if held.kind == Exam.Kind.COHORT and len(complete) < FEWEST:
        raise NotPossible(f"{len(complete)} of at least {FEWEST} people have given all grades; the truth needs them.")
    unfinished = selectors.exam_unfinished(held)
    if not set(unfinished) <= set(confirmed):
        raise Unfinished(unfinished)
    if held.kind == Exam.Kind.COHORT:
        _truth_set(held, [sat.sitting_id for sat in complete])
    held.state, held.closed_by, held.closed_at = Exam.State.CLOSED, actor, now or timezone.now()
    held.save(update_fields=["state", "closed_by", "closed_at"])
    _sittings_end(sittings, held.closed_at)
    counts = {"finished": len(complete), "missed": len(sittings) - len(complete), "unfinished": unfinished}
    audit_record(project=held.project, actor=actor, action="exam.close", subject=held.uuid, **counts)
    if held.kind == Exam.Kind.COHORT:
        send_on_commit(REPORT_EXAM_TASK, held.pk)
    logger.info("exam %s closed: %s", held.pk, counts)
    return held


def _locked(exam: Exam) -> list[Sat]:
    """The sittings whose first grades are not decided yet, locked in the order of their numbers."""
    going = exam.sittings.filter(state__in=[State.OPEN, State.WAITING]).order_by("pk")
    return [
        selectors.sitting_by_id(sitting_id=pk)
        for pk in list(going.select_for_update(of=("self",)).values_list("pk", flat=True))
    ]


def _truth_set(exam: Exam, sittings: Sequence[int]) -> None:
    """Each pair's truth is the median of what those people gave it first; pairs that were taken out have none."""
    given: dict[int, list[int]] = {}
    rows = SittingGrade.objects.filter(sitting__in=sittings, attempt=0).values_list("known_pair", "grade")
    for known_id, grade in rows:
        given.setdefault(known_id, []).append(grade)
    known = list(exam.known_pairs.filter(is_retired=False, truth__isnull=True, pk__in=given))
    for pair in known:
        pair.truth = truth_of(given[pair.pk])
    KnownPair.objects.bulk_update(known, ["truth"])


def _sittings_end(sittings: Sequence[Sat], now: datetime) -> None:
    for sat in sittings:
        current = selectors.sitting_by_id(sitting_id=sat.sitting_id)  # with the truth and the exam closed
        sitting_move(current, State.MISSED if current.left else handed_in(current), now=now)
