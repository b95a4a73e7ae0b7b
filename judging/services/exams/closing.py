"""Closing an exam: the truth of a first cohort, and what its sittings become."""

import logging
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NoReturn

from django.db import transaction
from django.utils import timezone

from annotation.exceptions import NotPossible
from annotation.messages import send_on_commit
from annotation.models import User
from annotation.services.audit import audit_record
from judging import selectors
from judging.exceptions import Unfinished
from judging.models import Exam, KnownPair, Sitting, SittingGrade
from judging.rules.exam import agreed_truth, truth_of
from judging.selectors.sittings import Sat
from judging.services.exams.reports import REPORT_EXAM_TASK
from judging.services.sittings.endings import handed_in, sitting_move

logger = logging.getLogger(__name__)
FEWEST = 3  # people whose grades make a truth
State = Sitting.State


@transaction.atomic
def exam_close(
    *,
    exam: Exam,
    actor: User,
    confirmed: Collection[int] = (),
    left_out: Collection[int] = (),
    truth_rule: str = Exam.TruthRule.MEDIAN,
    now: datetime | None = None,
) -> Exam:
    """End the giving of first grades. A first cohort's truth follows from those who have given them all.

    Who lacks a grade has missed the exam; what is complete but not handed in is handed in. Repeating changes nothing.

    Args:
        confirmed: numbers of people who are not done, and whom closing it leaves out all the same.
        left_out: numbers of people of a first cohort whose grades make no truth, as those far from the anchors.
        truth_rule: how the truth of a first cohort follows from the grades that make it.

    Raises:
        ValueError: there is no such rule.
        NotPossible: it is not open, or the grades of too few people of a first cohort would make the truth.
        Unfinished: somebody else is not done, and that was not confirmed.
    """
    rule = Exam.TruthRule(truth_rule)
    held = Exam.objects.select_for_update(of=("self",)).select_related("project").get(pk=exam.pk)
    if held.state == Exam.State.CLOSED:
        return held
    if held.state != Exam.State.OPEN:
        raise NotPossible("This exam is not open.")
    sittings = _locked(held)
    complete = [sat for sat in sittings if not sat.left]
    out = _left_out(held, sittings, left_out)
    making = [sat.sitting_id for sat in complete if sat.sitting_id not in out]
    if held.kind == Exam.Kind.COHORT and len(making) < FEWEST:
        _too_few(len(complete), len(making))
    unfinished = selectors.exam_unfinished(held)
    if not set(unfinished) <= set(confirmed):
        raise Unfinished(unfinished)
    counts: dict[str, Any] = {"finished": len(complete), "missed": len(sittings) - len(complete)}
    counts["unfinished"] = unfinished
    if held.kind == Exam.Kind.COHORT:
        held.truth_rule = rule
        truths = _truth_set(held, making)
        counts |= {"truths": truths if rule == Exam.TruthRule.AGREEING else None, "left_out": sorted(out.values())}
    held.state, held.closed_by, held.closed_at = Exam.State.CLOSED, actor, now or timezone.now()
    held.save(update_fields=["state", "closed_by", "closed_at", "truth_rule"])
    _sittings_end(sittings, held.closed_at)
    Sitting.objects.filter(pk__in=out).update(left_out=True)
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


def _left_out(exam: Exam, sittings: Sequence[Sat], numbers: Collection[int]) -> dict[int, int]:
    """Of those numbers, the sittings of a first cohort and the number that each is of."""
    if exam.kind != Exam.Kind.COHORT:
        return {}
    number_of = selectors.annotator_numbers(exam.project)
    found = {sat.sitting_id: number_of.get(sat.annotator_id) for sat in sittings}
    return {pk: number for pk, number in found.items() if number is not None and number in numbers}


def _too_few(complete: int, making: int) -> NoReturn:
    have = "has" if complete == 1 else "have"
    left_out = f", and {complete - making} of them would be left out" if making < complete else ""
    raise NotPossible(
        f"{complete} of at least {FEWEST} people {have} given all grades{left_out}; the truth needs {FEWEST}."
    )


def _truth_set(exam: Exam, sittings: Sequence[int]) -> int:
    """Each pair's truth by the exam's rule from what those people gave it first; how many pairs have one.

    Pairs that were taken out have none, nor those where too few agree.
    """
    given: dict[int, list[int]] = {}
    rows = SittingGrade.objects.filter(sitting__in=sittings, attempt=0).values_list("known_pair", "grade")
    for known_id, grade in rows:
        given.setdefault(known_id, []).append(grade)
    known = list(exam.known_pairs.filter(is_retired=False, truth__isnull=True, pk__in=given))
    make = agreed_truth if exam.truth_rule == Exam.TruthRule.AGREEING else truth_of
    for pair in known:
        pair.truth = make(given[pair.pk])
    KnownPair.objects.bulk_update(known, ["truth"])
    return sum(pair.truth is not None for pair in known)


def _sittings_end(sittings: Sequence[Sat], now: datetime) -> None:
    for sat in sittings:
        current = selectors.sitting_by_id(sitting_id=sat.sitting_id)  # with the truth and the exam closed
        sitting_move(current, State.MISSED if current.left else handed_in(current), now=now)
