"""Grades, comments and flags, given under an assignment that is open.

Lock, look, write: the assignment stays locked until commit, so a sweep cannot take it away in between, and of two
submits of one person the second sees what the first did.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import IntegrityError, connection, transaction

from accounts.models import Membership, User
from core import clock
from judging.exceptions import FormStale, JudgingError, NotAnnotator, NotAssigned, PairWithdrawn
from judging.models import Assignment, Flag, Judgment, JudgmentChange
from judging.quality.services import GIVE_GOLD, gold_change, gold_given_under
from judging.work import rules
from judging.work.rules import GRADES, lease_until
from judging.work.selectors.assignments import Card, Held, held_by_pair
from judging.work.services.assignments import running_or_refused

WORDS = 2000  # of a comment, in characters
STALE = "This form does not belong to the pair as it stands. Load the page again; nothing was stored."

GIVE = """
WITH renewed AS (UPDATE judging_assignment SET expires_at = %(until)s WHERE id = %(assignment)s)
INSERT INTO judging_judgment (uuid, pair_id, assignment_id, annotator_id, occurrence, round, seat, grade, revision,
    position, previous_grade, comment, active_ms, source, guideline_id, policy_id, created_at)
VALUES (%(key)s, %(pair)s, %(assignment)s, %(annotator)s, 0, %(round)s, %(seat)s, %(grade)s, 0,
    %(position)s, %(previous)s, %(comment)s, %(active_ms)s, %(source)s, %(guideline)s, %(policy)s, %(now)s)
RETURNING id"""


@dataclass(frozen=True)
class Answer:
    """What the annotator holds after a submit, and the place of the card to show next: None for the last look."""

    held: Held
    index: int | None


class Said(NamedTuple):
    """A grade with what goes with it."""

    grade: int
    comment: str
    active_ms: int


@transaction.atomic
def judgment_submit(
    *,
    annotator: User,
    pair_uuid: UUID,
    grade: int,
    key: UUID | None = None,
    comment: str | None = None,
    active_ms: int | None = None,
    now: datetime | None = None,
) -> Answer:
    """Record one grade, or change it while the assignment is open.

    Args:
        key: what the form carried; a form sent again is answered as the first time, and one that does not know the
            grade given meanwhile is refused. Without a key the grade replaces what is there.
        comment: replaces the one there is; None leaves it.
        active_ms: how long the pair was before the annotator, as their page measured; a change adds to what is there.

    Raises:
        ValueError: the grade is outside 0..4.
        NotAssigned: the person never held this pair.
        LeaseLost: the assignment has ended or its time has run out.
        PairWithdrawn: nobody needs to judge the pair any more.
        FormStale: the key is not the one of the pair as it stands.
        JudgingError: somebody else's grade holds this place.
    """
    if grade not in GRADES:
        raise ValueError(f"a grade is 0 to 4, got {grade}")
    held, place = _locked(annotator, pair_uuid)
    card = held.cards[place]
    now = now or clock.now()
    if key is not None and key != held.key_of(card):
        return _answered_before(held, place, key, grade)
    running_or_refused(held, now)
    if card.withdrawn:
        raise PairWithdrawn("This pair was withdrawn and needs no grade any more.")
    if card.flag is not None:
        raise FormStale("You flagged this pair. Take the flag back before you grade it.")
    spent = rules.of_person(active_ms, since=held.said_at, now=now, is_simulated=held.is_simulated)
    said = Said(grade, card.comment or "" if comment is None else comment, spent)
    held = _give(held, place, said, now) if card.judgment_id is None else _change(held, place, said, now)
    return Answer(held, held.next_index(place))


def _locked(annotator: User, pair_uuid: UUID) -> tuple[Held, int]:
    held = held_by_pair(annotator_id=annotator.pk, pair=pair_uuid, lock=True)
    if held is None or held.role is None:
        raise NotAssigned("This pair is not in your hands.")
    if held.role != Membership.Role.ANNOTATOR:
        raise NotAnnotator("Your role in this project does not grade.")
    return held, held.index_of(pair_uuid)


def _answered_before(held: Held, place: int, key: UUID, grade: int) -> Answer:
    """The answer to a form that was sent before; refuses one that is older than what was said since."""
    card = held.cards[place]
    given = _given_under(key, card)
    if given is None:
        raise FormStale(STALE)
    if given[0] != grade:
        raise FormStale(f"This form was used already: your grade for this pair is {card.grade}.")
    return Answer(held.as_it_was(), held.next_index(place, at=given[1]))


def _given_under(key: UUID, card: Card) -> tuple[int, datetime] | None:
    """The grade that the form of this key gave the pair, and when."""
    if card.is_gold:
        return gold_given_under(key, card)
    changes = list(JudgmentChange.objects.filter(judgment=card.judgment_id)) if card.judgment_id else []
    for change in changes:
        if change.uuid == key:
            return change.to_grade, change.changed_at
    first = Judgment.objects.filter(uuid=key, pair=card.pair_id).first()
    if first is None:
        return None
    return (changes[0].from_grade if changes else first.grade), first.created_at


def _give(held: Held, place: int, said: Said, now: datetime) -> Held:
    card = held.cards[place]
    values: dict[str, Any] = {
        "until": lease_until(now, minutes=held.lease_minutes),
        "key": held.key_of(card),
        "pair": card.pair_id,
        "assignment": held.assignment_id,
        "annotator": held.annotator_id,
        "round": held.round,
        "seat": held.seat,
        "grade": said.grade,
        "position": place + 1,
        "previous": _previous_grade(held),
        "comment": said.comment[:WORDS],
        "active_ms": said.active_ms,
        "source": Judgment.Source.SIMULATED if held.is_simulated else Judgment.Source.PERSON,
        "guideline": held.guideline_id,
        "policy": held.policy_id,
        "now": now,
    }
    try:
        with connection.cursor() as cursor:
            cursor.execute(GIVE_GOLD if card.is_gold else GIVE, values)
            (judgment_id,) = cursor.fetchone()
    except IntegrityError as error:
        raise JudgingError("This pair has been graded already, or needs no grade any more.") from error
    given = {"judgment_id": judgment_id, "grade": said.grade, "revision": 0, "comment": said.comment}
    return held.with_card(place, **given, graded_at=now, said_at=now)


def _previous_grade(held: Held) -> int | None:
    """What the annotator gave last in this assignment."""
    given = [(card.graded_at, card.judgment_id, card.grade) for card in held.cards if card.graded_at is not None]
    return max(given)[2] if given else None


def _change(held: Held, place: int, said: Said, now: datetime) -> Held:
    """The same grade again adds no time: it leaves nothing behind by which a repeat could be known."""
    card = held.cards[place]
    _lease_renew(held, now)
    if card.is_gold:
        gold_change(held, card, grade=said.grade, comment=said.comment[:WORDS], active_ms=said.active_ms, now=now)
        revision = (card.revision or 0) + (said.grade != card.grade)
        return held.with_card(place, grade=said.grade, revision=revision, comment=said.comment)
    given = Judgment.objects.get(assignment=held.assignment_id, pair=card.pair_id)
    if said.grade != given.grade:
        JudgmentChange.objects.create(
            uuid=held.key_of(card), judgment=given, from_grade=given.grade, to_grade=said.grade, changed_at=now
        )
        given.grade, given.revision = said.grade, given.revision + 1
        given.policy_id, given.guideline_id = held.policy_id, held.guideline_id
        given.active_ms = rules.with_change(given.active_ms, said.active_ms)
    given.comment = said.comment[:WORDS]
    given.save(update_fields=["grade", "comment", "revision", "active_ms", "policy", "guideline"])
    return held.with_card(place, grade=said.grade, revision=given.revision, comment=given.comment)


def _lease_renew(held: Held, now: datetime) -> None:
    until = lease_until(now, minutes=held.lease_minutes)
    Assignment.objects.filter(pk=held.assignment_id).update(expires_at=until)


@transaction.atomic
def flag_set(
    *,
    annotator: User,
    pair_uuid: UUID,
    reason: str,
    comment: str = "",
    key: UUID | None = None,
    now: datetime | None = None,
) -> Answer:
    """Say why the pair cannot be judged; a pair that is flagged already keeps one flag, with the newest words. A grade
    given before stays, and counts unless the pair is withdrawn. ``key`` as for a grade. Raises ValueError: no such
    reason; NotAssigned, LeaseLost, PairWithdrawn, FormStale: as for a grade."""
    if reason not in Flag.Reason.values:
        raise ValueError(f"a flag says one of {', '.join(Flag.Reason.values)}, got {reason}")
    held, place = _locked(annotator, pair_uuid)
    now, card = now or clock.now(), held.cards[place]
    if key is not None and key != held.key_of(card):
        return _flagged_before(held, place, key, reason)
    running_or_refused(held, now)
    if card.withdrawn:
        raise PairWithdrawn("This pair was withdrawn and needs no flag any more.")
    _lease_renew(held, now)
    said = {"reason": reason, "comment": comment[:WORDS]}
    flag, raised = Flag.objects.update_or_create(
        pair_id=card.pair_id,
        annotator=annotator,
        withdrawn_at=None,
        defaults=said,
        create_defaults={**said, "uuid": held.key_of(card), "assignment_id": held.assignment_id, "created_at": now},
    )
    held = held.with_card(
        place,
        flag=reason,
        flag_comment=comment,
        flagged_at=flag.created_at,
        flag_uuid=flag.uuid,
        flags_raised=card.flags_raised + raised,
    )
    return Answer(held, held.next_index(place))


def _flagged_before(held: Held, place: int, key: UUID, reason: str) -> Answer:
    """``_answered_before`` for a flag."""
    flag = Flag.objects.filter(uuid=key, assignment=held.assignment_id, reason=reason).first()
    if flag is None:
        raise FormStale(STALE)
    return Answer(held.as_it_was(), held.next_index(place, at=flag.created_at))


@transaction.atomic
def flag_withdraw(*, annotator: User, pair_uuid: UUID, key: UUID | None = None, now: datetime | None = None) -> Answer:
    """Take one's flag back; the pair needs a grade again. The answer shows the same pair.

    Args:
        key: the flag meant, as the form that shows it carries it; a newer one is left alone.

    Raises:
        NotAssigned, LeaseLost: as for a grade.
        FormStale: another flag stands by now.
    """
    held, place = _locked(annotator, pair_uuid)
    now, card = now or clock.now(), held.cards[place]
    running_or_refused(held, now)
    if key is not None and card.flag_uuid not in (None, key):
        raise FormStale(STALE)
    _lease_renew(held, now)
    Flag.objects.filter(pair=card.pair_id, annotator=annotator, withdrawn_at=None).update(withdrawn_at=now)
    return Answer(held.with_card(place, flag=None, flag_comment=None, flagged_at=None, flag_uuid=None), place)
