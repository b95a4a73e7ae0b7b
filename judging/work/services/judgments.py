"""Grades, comments and flags, given under an assignment that is open.

Lock, look, write: the assignment stays locked until commit, so a sweep cannot take it away in between, and of two
submits of one person the second sees what the first did. A first grade, as nearly all are, looks without the lock: one
statement stores it only where the lease still ends when it did, since all that is done under an assignment moves that.
Where it does not, the lock is taken and everything looked at again.
"""

from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction

from accounts.models import User
from core import clock
from core.sql import sql_rows
from judging.exceptions import (
    FormStale,
    JudgingError,
    NotAnnotator,
    NotAssigned,
    PairWithdrawn,
    grade_known_or_refused,
)
from judging.models import Assignment, Flag, Judgment, JudgmentChange
from judging.quality.services import GIVE_GOLD, gold_change, gold_given_under
from judging.work import rules
from judging.work.rules import lease_until
from judging.work.selectors.assignments import OpenAssignment, PairView, assignment_by_pair
from judging.work.services.assignments import running_or_refused

WORDS = 2000  # of a comment, in characters
NOT_NEEDED = "This pair has been graded already, or needs no grade any more."
STALE = "This form does not belong to the pair as it stands. Load the page again; nothing was stored."

GIVE = """
WITH renewed AS (UPDATE judging_assignment SET expires_at = %(until)s
    WHERE id = %(assignment)s AND state = 'open' AND expires_at = %(expires_at)s RETURNING id)
INSERT INTO judging_judgment (uuid, pair_id, assignment_id, annotator_id, occurrence, round, slot, grade, revision,
    position, previous_grade, comment, active_ms, source, guideline_id, policy_id, created_at)
SELECT %(key)s, pair.id, renewed.id, %(annotator)s, 0, %(round)s, %(slot)s, %(grade)s, 0,
    %(position)s, %(previous)s, %(comment)s, %(active_ms)s, %(source)s, %(guideline)s, %(policy)s, %(now)s
FROM renewed JOIN judging_pair pair ON pair.id = %(pair)s AND pair.state = %(state)s
ON CONFLICT DO NOTHING RETURNING id"""


@dataclass(frozen=True)
class Answer:
    """The assignment after a submit, and the index of the pair to show next: None for the last look."""

    assignment: OpenAssignment
    index: int | None


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
        NotAssigned: the person never held this pair.
        GradeUnknown: the project has no such grade.
        LeaseLost: the assignment has ended or its time has run out.
        PairWithdrawn: nobody needs to judge the pair any more.
        FormStale: the key is not the one of the pair as it stands.
        JudgingError: somebody else's grade holds this place.
    """
    submission: Any = {"grade": grade, "key": key, "comment": comment, "active_ms": active_ms, "now": now}
    answer = _submit(annotator, pair_uuid, lock=False, **submission)
    if answer is None:
        with transaction.atomic():
            answer = _submit(annotator, pair_uuid, lock=True, **submission)
    if answer is None:
        raise JudgingError(NOT_NEEDED)
    return answer


def _submit(
    annotator: User,
    pair_uuid: UUID,
    *,
    lock: bool,
    grade: int,
    key: UUID | None,
    comment: str | None,
    active_ms: int | None,
    now: datetime | None,
) -> Answer | None:
    """Store the grade; None where that takes the lock, or where something else was stored meanwhile."""
    assignment, index = _assigned(annotator, pair_uuid, lock=lock)
    pair_view = assignment.pair_views[index]
    now = now or clock.now()
    grade_known_or_refused(grade, assignment.top_grade)
    if key is not None and key != assignment.key_of(pair_view):
        return _answered_before(assignment, index, key, grade)
    running_or_refused(assignment, now)
    if pair_view.withdrawn:
        raise PairWithdrawn("This pair was withdrawn and needs no grade any more.")
    if pair_view.flag is not None:
        raise FormStale("You flagged this pair. Take the flag back before you grade it.")
    is_first = pair_view.judgment_id is None
    if not is_first and not lock:
        return None
    since, simulated = assignment.changed_at, assignment.is_simulated
    active_ms = rules.active_ms(active_ms, since=since, now=now, is_simulated=simulated)
    comment = pair_view.comment or "" if comment is None else comment[:WORDS]
    store = _give if is_first else _change
    changed = store(assignment, index, grade=grade, comment=comment, active_ms=active_ms, now=now)
    return Answer(changed, changed.next_index(index)) if changed else None


def _assigned(annotator: User, pair_uuid: UUID, *, lock: bool = True) -> tuple[OpenAssignment, int]:
    assignment = assignment_by_pair(annotator_id=annotator.pk, pair=pair_uuid, lock=lock)
    if assignment is None or assignment.is_annotator is None:
        raise NotAssigned("This pair is not assigned to you.")
    if not assignment.is_annotator:
        raise NotAnnotator("Your role in this project does not grade.")
    return assignment, assignment.index_of(pair_uuid)


def _answered_before(assignment: OpenAssignment, index: int, key: UUID, grade: int) -> Answer:
    """The answer to a form that was sent before; refuses one that is older than what was said since."""
    pair_view = assignment.pair_views[index]
    earlier_answer = _given_under(key, pair_view)
    if earlier_answer is None:
        raise FormStale(STALE)
    if earlier_answer[0] != grade:
        raise FormStale(f"This form was used already: your grade for this pair is {pair_view.grade}.")
    return Answer(assignment.as_it_was(), assignment.next_index(index, at=earlier_answer[1]))


def _given_under(key: UUID, pair_view: PairView) -> tuple[int, datetime] | None:
    """The grade that the form of this key gave the pair, and when."""
    if pair_view.is_gold:
        return gold_given_under(key, pair_view)
    changes = list(JudgmentChange.objects.filter(judgment=pair_view.judgment_id)) if pair_view.judgment_id else []
    for change in changes:
        if change.uuid == key:
            return change.to_grade, change.changed_at
    first = Judgment.objects.filter(uuid=key, pair=pair_view.pair_id).first()
    if first is None:
        return None
    return (changes[0].from_grade if changes else first.grade), first.created_at


def _give(
    assignment: OpenAssignment, index: int, *, grade: int, comment: str, active_ms: int, now: datetime
) -> OpenAssignment | None:
    """Store a first grade; None where nothing was stored, as the assignment or the pair is not what it was."""
    pair_view = assignment.pair_views[index]
    values: dict[str, Any] = {
        "until": lease_until(now, minutes=assignment.lease_minutes),
        "expires_at": assignment.expires_at,
        "key": assignment.key_of(pair_view),
        "pair": pair_view.pair_id,
        "assignment": assignment.assignment_id,
        "annotator": assignment.annotator_id,
        "round": assignment.round,
        "state": pair_view.state,
        "slot": assignment.slot,
        "grade": grade,
        "position": index + 1,
        "previous": _previous_grade(assignment),
        "comment": comment,
        "active_ms": active_ms,
        "source": Judgment.Source.SIMULATED if assignment.is_simulated else Judgment.Source.PERSON,
        "guideline": assignment.guideline_id,
        "policy": assignment.policy_id,
        "now": now,
    }
    try:
        rows = sql_rows(GIVE_GOLD if pair_view.is_gold else GIVE, values)
    except IntegrityError as error:  # of a trigger: the pair was decided or withdrawn at this very instant
        raise JudgingError(NOT_NEEDED) from error
    if not rows:
        return None
    ((judgment_id,),) = rows
    fields = {"judgment_id": judgment_id, "grade": grade, "revision": 0, "comment": comment}
    return assignment.with_pair_view(index, **fields, graded_at=now)


def _previous_grade(assignment: OpenAssignment) -> int | None:
    """Return the latest grade in this assignment."""
    graded = [pair_view for pair_view in assignment.pair_views if pair_view.graded_at is not None]
    return max(graded, key=attrgetter("graded_at", "judgment_id")).grade if graded else None


def _change(
    assignment: OpenAssignment, index: int, *, grade: int, comment: str, active_ms: int, now: datetime
) -> OpenAssignment:
    """The same grade again adds no time: it leaves nothing behind by which a repeat could be known."""
    pair_view = assignment.pair_views[index]
    _lease_renew(assignment, now)
    if pair_view.is_gold:
        gold_change(assignment, pair_view, grade=grade, comment=comment, active_ms=active_ms, now=now)
        revision = (pair_view.revision or 0) + (grade != pair_view.grade)
        return assignment.with_pair_view(index, grade=grade, revision=revision, comment=comment)
    judgment = Judgment.objects.get(assignment=assignment.assignment_id, pair=pair_view.pair_id)
    if grade != judgment.grade:
        JudgmentChange.objects.create(
            uuid=assignment.key_of(pair_view),
            judgment=judgment,
            from_grade=judgment.grade,
            to_grade=grade,
            changed_at=now,
        )
        judgment.grade, judgment.revision = grade, judgment.revision + 1
        judgment.policy_id, judgment.guideline_id = assignment.policy_id, assignment.guideline_id
        judgment.active_ms = rules.with_change(judgment.active_ms, active_ms)
    judgment.comment = comment
    judgment.save(update_fields=["grade", "comment", "revision", "active_ms", "policy", "guideline"])
    return assignment.with_pair_view(index, grade=grade, revision=judgment.revision, comment=comment)


def _lease_renew(assignment: OpenAssignment, now: datetime) -> None:
    until = lease_until(now, minutes=assignment.lease_minutes)
    Assignment.objects.filter(pk=assignment.assignment_id).update(expires_at=until)


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
    assignment, index = _assigned(annotator, pair_uuid)
    now, pair_view = now or clock.now(), assignment.pair_views[index]
    if key is not None and key != assignment.key_of(pair_view):
        return _flagged_before(assignment, index, key, reason)
    running_or_refused(assignment, now)
    if pair_view.withdrawn:
        raise PairWithdrawn("This pair was withdrawn and needs no flag any more.")
    _lease_renew(assignment, now)
    fields = {"reason": reason, "comment": comment[:WORDS]}
    flag, raised = Flag.objects.update_or_create(
        pair_id=pair_view.pair_id,
        annotator=annotator,
        withdrawn_at=None,
        defaults=fields,
        create_defaults={
            **fields,
            "uuid": assignment.key_of(pair_view),
            "assignment_id": assignment.assignment_id,
            "created_at": now,
        },
    )
    assignment = assignment.with_pair_view(
        index,
        flag=reason,
        flag_comment=comment,
        flagged_at=flag.created_at,
        flag_uuid=flag.uuid,
        flags_raised=pair_view.flags_raised + raised,
    )
    return Answer(assignment, assignment.next_index(index))


def _flagged_before(assignment: OpenAssignment, index: int, key: UUID, reason: str) -> Answer:
    """``_answered_before`` for a flag."""
    flag = Flag.objects.filter(uuid=key, assignment=assignment.assignment_id, reason=reason).first()
    if flag is None:
        raise FormStale(STALE)
    return Answer(assignment.as_it_was(), assignment.next_index(index, at=flag.created_at))


@transaction.atomic
def flag_withdraw(*, annotator: User, pair_uuid: UUID, key: UUID | None = None, now: datetime | None = None) -> Answer:
    """Take one's flag back; the pair needs a grade again. The answer shows the same pair.

    Args:
        key: the flag meant, as the form that shows it carries it; a newer one is left alone.

    Raises:
        NotAssigned, LeaseLost: as for a grade.
        FormStale: another flag stands by now.
    """
    assignment, index = _assigned(annotator, pair_uuid)
    now, pair_view = now or clock.now(), assignment.pair_views[index]
    running_or_refused(assignment, now)
    if key is not None and pair_view.flag_uuid not in (None, key):
        raise FormStale(STALE)
    _lease_renew(assignment, now)
    Flag.objects.filter(pair=pair_view.pair_id, annotator=annotator, withdrawn_at=None).update(withdrawn_at=now)
    return Answer(
        assignment.with_pair_view(index, flag=None, flag_comment=None, flagged_at=None, flag_uuid=None), index
    )
