"""What an annotator holds: the assignment, its pairs in the order shown, and what was said of each.

Every judgment reads this, so it is two statements whatever the project holds: one finds (and locks) the
assignment, one reads its pairs. They are written in SQL, as an ORM would need seven.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from operator import attrgetter, methodcaller
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from judging.models import Assignment, Pair
from judging.work.rules import form_key

AHEAD = 3  # previews to load while one is judged
WITHDRAWN = Pair.State.WITHDRAWN.value  # the value: an enum's comparison costs more, 90 times a judgment

OF_PAIR = """(SELECT held.id FROM judging_pair pair JOIN judging_assignment held
    ON held.batch_id = pair.batch_id AND held.annotator_id = %s AND pair.id = ANY (held.pair_ids)
    WHERE pair.uuid = %s ORDER BY held.id DESC LIMIT 1)"""
OPEN_IN_PROJECT = """(SELECT held.id FROM judging_assignment held
    WHERE held.annotator_id = %s AND held.project_id = %s AND held.state = 'open')"""

ASSIGNMENT = """
SELECT held.id, held.uuid, held.state, held.created_at, held.expires_at, held.round, held.seat, held.annotator_id,
    held.batch_id, project.id, project.uuid, query.text, member.role, person.is_simulated,
    policy.id, policy.lease_minutes, policy.break_minutes, guideline.id, guideline.levels
FROM judging_assignment held
JOIN accounts_project project ON project.id = held.project_id
JOIN judging_batch batch ON batch.id = held.batch_id
JOIN annotation_query query ON query.id = batch.query_id
JOIN accounts_user person ON person.id = held.annotator_id
LEFT JOIN accounts_membership member ON member.project_id = held.project_id AND member.user_id = held.annotator_id
CROSS JOIN LATERAL (SELECT id, lease_minutes, break_minutes FROM judging_policy
    WHERE project_id = held.project_id ORDER BY version DESC LIMIT 1) policy
CROSS JOIN LATERAL (SELECT id, levels FROM judging_guideline
    WHERE project_id = held.project_id ORDER BY version DESC LIMIT 1) guideline
WHERE held.id = """

CARDS = """
SELECT pair.id, pair.uuid, pair.state, pair.preview_uuid, pair.has_clip,
    pair.id = ANY (held.gold_ids), coalesce(judgment.id, gold.id), coalesce(judgment.grade, gold.grade),
    coalesce(judgment.revision, gold.revision), coalesce(judgment.comment, gold.comment),
    coalesce(judgment.created_at, gold.created_at),
    flag.reason, flag.comment, flag.created_at, flag.uuid, raised.times,
    greatest(judgment.created_at, raised.newest, (gold.history -> -1 ->> 2)::timestamptz,
        CASE WHEN judgment.revision > 0 THEN
            (SELECT max(changed_at) FROM judging_judgmentchange WHERE judgment_id = judgment.id) END)
FROM judging_assignment held
CROSS JOIN LATERAL unnest(held.pair_ids) WITH ORDINALITY AS shown (pair_id, position)
CROSS JOIN LATERAL (SELECT pair.id, pair.uuid, pair.state, moment.preview_uuid, moment.preview_clip <> '' AS has_clip
    FROM judging_pair pair JOIN annotation_candidate candidate ON candidate.id = pair.candidate_id
    JOIN annotation_moment moment ON moment.id = candidate.moment_id
    WHERE pair.id = shown.pair_id LIMIT 1) pair
LEFT JOIN LATERAL (SELECT given.* FROM judging_judgment given WHERE given.pair_id = pair.id
    AND given.annotator_id = held.annotator_id AND given.occurrence = 0 LIMIT 1) judgment ON true
LEFT JOIN LATERAL (SELECT given.* FROM judging_goldgrade given WHERE pair.id = ANY (held.gold_ids)
    AND given.pair_id = pair.id AND given.annotator_id = held.annotator_id LIMIT 1) gold ON true
LEFT JOIN LATERAL (SELECT said.* FROM judging_flag said WHERE said.pair_id = pair.id
    AND said.annotator_id = held.annotator_id AND said.withdrawn_at IS NULL LIMIT 1) flag ON true
CROSS JOIN LATERAL (SELECT count(*) AS times, max(greatest(created_at, withdrawn_at)) AS newest FROM judging_flag
    WHERE assignment_id = held.id AND pair_id = pair.id) raised
WHERE held.id = %s
ORDER BY shown.position"""


class Card(NamedTuple):
    """One pair as its judge sees it; ``grade`` and ``flag`` are their own."""

    pair_id: int
    uuid: UUID
    state: str
    preview: UUID
    has_clip: bool  # the preview has an MP4 twin
    is_gold: bool  # its truth is known; the grade is a GoldGrade
    judgment_id: int | None  # or of the GoldGrade
    grade: int | None
    revision: int | None
    comment: str | None
    graded_at: datetime | None
    flag: str | None
    flag_comment: str | None
    flagged_at: datetime | None
    flag_uuid: UUID | None
    flags_raised: int  # in this assignment, those taken back too
    said_at: datetime | None  # when something was last said about it: a grade, its change, a flag or its end

    @property
    def withdrawn(self) -> bool:
        return self.state == WITHDRAWN

    @property
    def needs_answer(self) -> bool:
        return self.grade is None and self.flag is None and self.state != WITHDRAWN

    @property
    def said(self) -> int:
        """How often something was said about the pair: grades given and flags raised."""
        return (0 if self.revision is None else self.revision + 1) + self.flags_raised

    def needed_answer_at(self, time: datetime) -> bool:
        """Whether the pair still needed one just after ``time``."""
        answered = [at for at in (self.graded_at, self.flagged_at) if at is not None]
        return not self.withdrawn and not any(at <= time for at in answered)


@dataclass(frozen=True, slots=True)
class Held:
    """An assignment with the versions in force and its cards."""

    assignment_id: int
    uuid: UUID
    state: str
    created_at: datetime
    expires_at: datetime
    round: int
    seat: int
    annotator_id: int
    batch_id: int
    project_id: int
    project_uuid: UUID
    query: str
    role: str | None  # of the annotator in the project, now
    is_simulated: bool
    policy_id: int
    lease_minutes: int
    break_minutes: int
    guideline_id: int
    levels: list[str]
    cards: tuple[Card, ...]

    @property
    def is_open(self) -> bool:
        return self.state == Assignment.State.OPEN

    @property
    def answered(self) -> int:
        return sum(not card.needs_answer for card in self.cards)

    @property
    def said_at(self) -> datetime:
        """When something was last said in it; when it was handed out, before that."""
        return max([self.created_at, *[card.said_at for card in self.cards if card.said_at is not None]])

    def index_of(self, pair: UUID) -> int:
        return next(index for index, card in enumerate(self.cards) if card.uuid == pair)

    def key_of(self, card: Card) -> UUID:
        """The key of a form that shows this card."""
        return form_key(assignment=self.uuid, pair=card.uuid, given=card.said)

    def with_card(self, index: int, **values: Any) -> "Held":
        changed = self.cards[index]._replace(**values)
        return replace(self, cards=(*self.cards[:index], changed, *self.cards[index + 1 :]))

    def as_it_was(self) -> "Held":
        """What an ended assignment showed: a form sent again later learns nothing of what became of its pairs."""
        if self.is_open:
            return self
        return replace(self, cards=tuple(card._replace(state=Pair.State.OPEN) for card in self.cards))

    def next_index(self, after: int = -1, *, at: datetime | None = None) -> int | None:
        """The next card that needs an answer (or needed one just after ``at``), from the start again at the end."""
        needs = attrgetter("needs_answer") if at is None else methodcaller("needed_answer_at", at)
        return next((index for index in self._following(after) if needs(self.cards[index])), None)

    def _following(self, after: int) -> Iterator[int]:
        yield from range(after + 1, len(self.cards))
        yield from range(after + 1)

    def ahead_of(self, index: int) -> list[Card]:
        """The cards that will be shown next, nearest first."""
        others = (self.cards[place] for place in self._following(index) if place != index)
        return list(islice((card for card in others if card.needs_answer), AHEAD))


def held_by_pair(*, annotator_id: int, pair: UUID, lock: bool = False) -> Held | None:
    """The annotator's latest assignment that asks for the pair; None when they never held one.

    ``lock`` keeps it theirs and as it is until the transaction ends.
    """
    return _held(OF_PAIR, annotator_id, pair, lock=lock)


def held_open(*, annotator_id: int, project_id: int, lock: bool = False) -> Held | None:
    """What the annotator is at in this project."""
    return _held(OPEN_IN_PROJECT, annotator_id, project_id, lock=lock)


def _held(which: str, *params: Any, lock: bool) -> Held | None:
    with connection.cursor() as cursor:
        cursor.execute(f"{ASSIGNMENT}{which}{' FOR UPDATE OF held' if lock else ''}", params)
        row = cursor.fetchone()
        if row is None:
            return None
        cursor.execute(CARDS, [row[0]])
        levels, cards = json.loads(row[-1]), tuple(map(Card._make, cursor.fetchall()))
        return Held(*[*row[:-1], levels, cards])
