"""Grades for pairs of known truth: first ones, and those after feedback.

Lock, look, write: the sitting stays locked until commit, so closing its exam waits, or has been.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Coalesce, Least

from annotation import clock
from annotation.models import User
from judging import selectors
from judging.exceptions import FormStale, NotAnnotator, NotAssigned, PairWithdrawn, SittingOver
from judging.models import Judgment, Sitting, SittingGrade
from judging.rules import active_time
from judging.rules.consensus import GRADES
from judging.selectors.sittings import Asked, Given, Sat
from judging.services.sittings.endings import sitting_settle

STALE = "This form does not belong to the pair as it stands. Load the page again; nothing was stored."
OVER = {
    Sitting.State.WAITING: "You have handed in your grades; they are final.",
    Sitting.State.DONE: "You are done with these pairs; your grades are final.",
    Sitting.State.MISSED: "The exam was closed before you had given all grades.",
}


@dataclass(frozen=True)
class SittingAnswer:
    """The sitting after a grade, and the place of the pair to show next: None when nothing is asked any more."""

    sat: Sat
    index: int | None


@transaction.atomic
def sitting_grade(
    *,
    annotator: User,
    pair_uuid: UUID,
    grade: int,
    key: UUID | None = None,
    active_ms: int | None = None,
    now: datetime | None = None,
) -> SittingAnswer:
    """Record a grade for a pair of known truth, where the person's sitting asks for it.

    Before an exam is handed in a grade replaces the one before; where the truth is told at once it is final. In the
    feedback round every grade is kept.

    Args:
        key: what the form carried; a form sent again is answered as the first time, an older one is refused.
        active_ms: how long the pair was before the annotator, as their page measured; adds up where a grade is changed.

    Raises:
        ValueError: the grade is outside 0..4.
        NotAssigned: no sitting of the person holds the pair.
        NotAnnotator: they are no annotator any more, are suspended, or left.
        SittingOver: grades for it are final, or the exam was closed.
        PairWithdrawn: a lead took the pair out.
        FormStale: the key is not the one of the pair as it stands.
    """
    if grade not in GRADES:
        raise ValueError(f"a grade is 0 to 4, got {grade}")
    sat = _locked(annotator, pair_uuid)
    place = sat.index_of(pair_uuid)
    card = sat.cards[place]
    if key is not None and key != sat.key_of(card):
        return _answered_before(sat, place, key, grade)
    _asked_or_refused(sat, card)
    now, given = now or clock.now(), Given(sat.key_of(card), grade)
    spent = active_time.of_person(active_ms, since=sat.said_at, now=now, is_simulated=sat.is_simulated)
    if sat.in_feedback or not card.given:
        _add(sat, place, given, active_ms=spent, now=now)
        kept = (*card.given, given)
    else:
        _replace(sat, card, given, spent)
        kept = (given,)
    sat = sat.with_given(place, kept)
    if sat.next_index() is None:
        sat = sat.in_state(sitting_settle(sitting_id=sat.sitting_id, now=now).state)
    return SittingAnswer(sat, _next(sat, place))


def _locked(annotator: User, pair_uuid: UUID) -> Sat:
    sat = selectors.sitting_asking(annotator_id=annotator.pk, pair=pair_uuid, lock=True)
    if sat is None or not sat.role:
        raise NotAssigned("This pair is not asked of you.")
    if not sat.judges:
        raise NotAnnotator("You are not among the project's active annotators now.")
    return sat


def _answered_before(sat: Sat, place: int, key: UUID, grade: int) -> SittingAnswer:
    """The answer to a form that was sent before; refuses one that is older than what was said since."""
    card = sat.cards[place]
    if Given(key, grade) in card.given:
        return SittingAnswer(sat, _next(sat, place))
    if any(key == given.key for given in card.given):
        raise FormStale(f"This form was used already: your grade for this pair is {card.grade}.")
    if not sat.is_open and not sat.in_feedback:
        raise SittingOver(OVER[Sitting.State(sat.state)])
    raise FormStale(STALE)


def _asked_or_refused(sat: Sat, card: Asked) -> None:
    if not sat.is_open and not sat.in_feedback:
        raise SittingOver(OVER[Sitting.State(sat.state)])
    if card.is_retired:
        raise PairWithdrawn("This pair was taken out and needs no grade any more.")
    if sat.is_open and sat.tells_at_once and card.given:
        raise SittingOver("You have graded this pair, and its grade was shown to you.")
    if sat.in_feedback and not card.is_misaligned:
        raise SittingOver("This pair is not in your feedback round, or you have graded it again already.")


def _next(sat: Sat, place: int) -> int | None:
    """Where truths are told at once the pair stays to show its own; so does one that is still misaligned."""
    card = sat.cards[place]
    if sat.tells_at_once or (sat.in_feedback and card.is_misaligned):
        return place
    return sat.next_index(place)


def _add(sat: Sat, place: int, given: Given, *, active_ms: int, now: datetime) -> None:
    card = sat.cards[place]
    SittingGrade.objects.create(
        uuid=given.key,
        sitting_id=sat.sitting_id,
        known_pair_id=card.known_id,
        annotator_id=sat.annotator_id,
        attempt=len(card.given),
        grade=given.grade,
        position=place + 1,
        active_ms=active_ms,
        source=Judgment.Source.SIMULATED if sat.is_simulated else Judgment.Source.PERSON,
        guideline_id=sat.guideline_id,
        created_at=now,
    )


def _replace(sat: Sat, card: Asked, given: Given, active_ms: int) -> None:
    held = SittingGrade.objects.filter(sitting=sat.sitting_id, known_pair=card.known_id, attempt=0)
    spent = Least(Coalesce(F("active_ms"), 0) + active_ms, active_time.LONGEST_MS)
    held.update(uuid=given.key, grade=given.grade, guideline=sat.guideline_id, active_ms=spent)
