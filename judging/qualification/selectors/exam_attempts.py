"""An exam attempt as its annotator works through it, and what an annotator has done of test, training and exam.

As with assignments, two statements read an attempt whatever it holds: one finds (and locks) it, one reads its pairs.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple
from uuid import UUID

from core.sql import sql_rows
from judging.models import Exam, ExamAttempt
from judging.qualification.rules.onboarding import Facts
from judging.qualification.rules.truth import is_aligned
from judging.work.rules import attempt_key

AHEAD = 3  # previews to load while one is judged
State, Purpose = ExamAttempt.State, ExamAttempt.Purpose

ATTEMPT = """
SELECT attempt.id, attempt.uuid, attempt.purpose, attempt.state, attempt.annotator_id, project.id, project.uuid,
    coalesce(exam.kind, ''), coalesce(exam.state, ''), 'annotator' = ANY (member.roles), coalesce(member.status, ''),
    person.is_simulated, coalesce((SELECT max(created_at) FROM judging_examgrade WHERE exam_attempt_id = attempt.id),
        attempt.created_at), guideline.id, guideline.levels::text
FROM judging_examattempt attempt
JOIN accounts_project project ON project.id = attempt.project_id
JOIN accounts_user person ON person.id = attempt.annotator_id
LEFT JOIN judging_exam exam ON exam.id = attempt.exam_id
LEFT JOIN accounts_membership member ON member.project_id = project.id AND member.user_id = attempt.annotator_id
CROSS JOIN LATERAL (SELECT id, levels FROM judging_guideline
    WHERE project_id = attempt.project_id ORDER BY version DESC LIMIT 1) guideline
WHERE (%(annotator)s::bigint IS NULL OR attempt.annotator_id = %(annotator)s::bigint) AND attempt.id = """

BY_ID = "%(name)s"
BY_UUID = "(SELECT id FROM judging_examattempt WHERE uuid = %(name)s)"
BY_PAIR = """(SELECT latest.id FROM judging_knownpair known
    JOIN judging_examattempt latest ON latest.annotator_id = %(annotator)s AND latest.project_id = known.project_id
        AND known.id = ANY (latest.known_ids)
    WHERE known.uuid = %(name)s ORDER BY latest.id DESC LIMIT 1)"""

ATTEMPT_PAIRS = """
SELECT known.id, known.uuid, known.query_id, query.text, moment.preview_uuid, moment.preview_clip <> '',
    known.is_retired, known.truth, known.explanation, project.max_spread, coalesce(given.grades, '[]'::json)::text
FROM judging_examattempt attempt
CROSS JOIN LATERAL unnest(attempt.known_ids) WITH ORDINALITY AS shown (known_id, position)
JOIN judging_knownpair known ON known.id = shown.known_id
JOIN accounts_project project ON project.id = known.project_id
JOIN annotation_query query ON query.id = known.query_id
JOIN annotation_moment moment ON moment.id = known.moment_id
LEFT JOIN LATERAL (SELECT json_agg(json_build_array(grade.uuid, grade.grade) ORDER BY grade.try_number) AS grades
    FROM judging_examgrade grade
    WHERE grade.exam_attempt_id = attempt.id AND grade.known_pair_id = known.id) given ON true
WHERE attempt.id = %(attempt)s
ORDER BY shown.position"""


class AttemptGrade(NamedTuple):
    """One grade, and the key of the form that gave it."""

    key: UUID
    grade: int


class AttemptPair(NamedTuple):
    """One pair of an attempt; ``truth`` and ``explanation`` are shown only where the attempt reveals them."""

    known_id: int
    uuid: UUID
    query_id: int
    query: str
    preview: UUID
    has_clip: bool
    is_retired: bool
    truth: Decimal | None
    explanation: str
    max_spread: int  # between grades that agree
    grades: tuple[AttemptGrade, ...]  # the first grade, then those after feedback

    @property
    def grade(self) -> int | None:
        """The newest."""
        return self.grades[-1].grade if self.grades else None

    @property
    def first(self) -> int | None:
        return self.grades[0].grade if self.grades else None

    @property
    def needs_grade(self) -> bool:
        return not self.grades and not self.is_retired

    @property
    def was_misaligned(self) -> bool:
        """Whether the first grade was too far from the truth."""
        return self._misaligned(self.first)

    @property
    def is_misaligned(self) -> bool:
        """Whether the newest grade still is."""
        return self._misaligned(self.grade)

    def _misaligned(self, grade: int | None) -> bool:
        return grade is not None and self.truth is not None and not is_aligned(grade, self.truth, self.max_spread)


@dataclass(frozen=True, slots=True)
class OpenAttempt:
    """An exam attempt with the guideline in force and its pairs."""

    exam_attempt_id: int
    uuid: UUID
    purpose: str
    state: str
    annotator_id: int
    project_id: int
    project_uuid: UUID
    exam_kind: str
    exam_state: str
    is_annotator: bool | None  # of the project, now; None: no member of it
    status: str
    is_simulated: bool
    changed_at: datetime  # when the last grade was given in it, or it began
    guideline_id: int
    levels: list[str]
    pairs: tuple[AttemptPair, ...]

    @property
    def top_grade(self) -> int:
        return len(self.levels) - 1

    @property
    def is_open(self) -> bool:
        return self.state == State.OPEN

    @property
    def in_feedback(self) -> bool:
        return self.state == State.FEEDBACK

    @property
    def is_cohort(self) -> bool:
        return self.exam_kind == Exam.Kind.COHORT

    @property
    def reveals_at_once(self) -> bool:
        """Whether the truth of a pair is shown as soon as it is graded."""
        return self.purpose != Purpose.EXAM

    @property
    def may_change(self) -> bool:
        """Whether first grades can still be changed, up to a last look."""
        return self.is_open and not self.reveals_at_once

    @property
    def judges(self) -> bool:
        return bool(self.is_annotator) and self.status not in ("suspended", "left")

    @property
    def left(self) -> int:
        return sum(pair.needs_grade for pair in self.pairs)

    @property
    def misaligned(self) -> list[AttemptPair]:
        """The pairs that come back in the feedback round; those regraded well among them."""
        return [pair for pair in self.pairs if pair.was_misaligned and not pair.is_retired]

    @property
    def still_misaligned(self) -> list[AttemptPair]:
        return [pair for pair in self.misaligned if pair.is_misaligned]

    def index_of(self, pair: UUID) -> int:
        return next(index for index, pair_view in enumerate(self.pairs) if pair_view.uuid == pair)

    def key_of(self, pair: AttemptPair) -> UUID:
        """The key of a form that shows this pair."""
        return attempt_key(attempt=self.uuid, pair=pair.uuid, last=pair.grades[-1].key if pair.grades else None)

    def shows_truth_of(self, pair: AttemptPair) -> bool:
        """Whether its annotator may see the truth of this pair by now."""
        if self.reveals_at_once:
            return bool(pair.grades)
        return pair.was_misaligned and self.state in (State.FEEDBACK, State.DONE)

    def asks(self, pair: AttemptPair) -> bool:
        """Whether a grade is needed for it now."""
        if self.in_feedback:
            return pair.is_misaligned and not pair.is_retired
        return self.is_open and pair.needs_grade

    def next_index(self, after: int = -1) -> int | None:
        """The next pair that needs a grade, from the start again at the end; None when none does."""
        return next((index for index in self._following(after) if self.asks(self.pairs[index])), None)

    def _following(self, after: int) -> list[int]:
        return [*range(after + 1, len(self.pairs)), *range(after + 1)]

    def ahead_of(self, index: int) -> list[AttemptPair]:
        """The pairs that will be shown next, nearest first."""
        needed = [
            position for position in self._following(index) if position != index and self.asks(self.pairs[position])
        ]
        return [self.pairs[position] for position in needed[:AHEAD]]

    def with_grades(self, index: int, grades: Sequence[AttemptGrade]) -> "OpenAttempt":
        changed = self.pairs[index]._replace(grades=tuple(grades))
        return replace(self, pairs=(*self.pairs[:index], changed, *self.pairs[index + 1 :]))


def attempt_of(*, annotator_id: int, attempt: UUID, lock: bool = False) -> OpenAttempt | None:
    """The person's own attempt; None where it is somebody else's. ``lock`` keeps it as it is until commit."""
    return _read_attempt(BY_UUID, annotator_id, attempt, lock=lock)


def attempt_by_pair(*, annotator_id: int, pair: UUID, lock: bool = False) -> OpenAttempt | None:
    """The person's latest attempt that holds the pair of known truth."""
    return _read_attempt(BY_PAIR, annotator_id, pair, lock=lock)


def attempt_by_id(*, attempt_id: int, lock: bool = False) -> OpenAttempt:
    """Anybody's attempt."""
    open_attempt = _read_attempt(BY_ID, None, attempt_id, lock=lock)
    if open_attempt is None:
        raise ExamAttempt.DoesNotExist
    return open_attempt


def _read_attempt(which: str, annotator_id: int | None, name: UUID | int, *, lock: bool) -> OpenAttempt | None:
    statement = f"{ATTEMPT}{which}{' FOR UPDATE OF attempt' if lock else ''}"
    rows = sql_rows(statement, {"annotator": annotator_id, "name": name})
    if not rows:
        return None
    [(*columns, levels)] = rows
    pairs = [
        AttemptPair._make([*pair, tuple(AttemptGrade(UUID(key), grade) for key, grade in json.loads(grades))])
        for *pair, grades in sql_rows(ATTEMPT_PAIRS, {"attempt": columns[0]})
    ]
    return OpenAttempt(*[*columns, json.loads(levels), tuple(pairs)])


FACTS = """
SELECT member.status, policy.screening_is_open,
    EXISTS (SELECT 1 FROM judging_screeningattempt attempt WHERE attempt.project_id = member.project_id
        AND attempt.annotator_id = member.user_id AND attempt.score >= attempt.passing),
    EXISTS (SELECT 1 FROM judging_guidelineconfirmation confirmed
        WHERE confirmed.annotator_id = member.user_id AND confirmed.guideline_id = (SELECT id FROM judging_guideline
            WHERE project_id = member.project_id ORDER BY version DESC LIMIT 1)),
    EXISTS (SELECT 1 FROM judging_knownpair known JOIN annotation_moment moment ON moment.id = known.moment_id
        WHERE known.project_id = member.project_id AND known.tutorial_position IS NOT NULL AND NOT known.is_retired
            AND moment.preview_state = 'ready'),
    EXISTS (SELECT 1 FROM judging_examattempt sat WHERE sat.project_id = member.project_id
        AND sat.annotator_id = member.user_id AND sat.purpose = 'tutorial' AND sat.state = 'done'),
    coalesce(exams.passed, false), coalesce(exams.waiting, false), coalesce(exams.feedback, false),
    coalesce(exams.counting, false), policy.exam_attempts - coalesce(exams.failed, 0),
    EXISTS (SELECT 1 FROM judging_exam exam WHERE exam.project_id = member.project_id AND exam.state = 'open')
FROM accounts_membership member
CROSS JOIN LATERAL (SELECT screening_is_open, exam_attempts FROM judging_policy
    WHERE project_id = member.project_id ORDER BY version DESC LIMIT 1) policy
CROSS JOIN LATERAL (SELECT max(change.created_at) AS at FROM accounts_statuschange change
    WHERE change.membership_id = member.id AND change.from_status IN ('suspended', 'left')) returned
CROSS JOIN LATERAL (SELECT bool_or(sat.passed AND counts.it) AS passed,
        bool_or(sat.state = 'waiting') AS waiting, bool_or(sat.state = 'feedback') AS feedback,
        bool_or(sat.state = 'done' AND sat.passed IS NULL AND NOT sat.report ? 'no_result') AS counting,
        count(*) FILTER (WHERE counts.it AND (NOT sat.passed OR sat.missed_counts)) AS failed
    FROM judging_examattempt sat
    CROSS JOIN LATERAL (SELECT returned.at IS NULL OR sat.ended_at >= returned.at AS it) counts
    WHERE sat.project_id = member.project_id AND sat.annotator_id = member.user_id AND sat.purpose = 'exam') exams
WHERE member.project_id = %(project)s AND member.user_id = %(annotator)s AND 'annotator' = ANY (member.roles)"""


LATELY = """
SELECT EXISTS (SELECT 1 FROM judging_examattempt sat WHERE sat.project_id = %(project)s
        AND sat.annotator_id = %(annotator)s AND sat.purpose = 'warm-up' AND sat.state = 'open'),
    EXISTS (SELECT 1 FROM judging_owngrade given JOIN judging_assignment held ON held.id = given.assignment_id
        WHERE given.annotator_id = %(annotator)s AND given.created_at >= %(since)s AND held.project_id = %(project)s)
    OR EXISTS (SELECT 1 FROM judging_examgrade given JOIN judging_examattempt sat ON sat.id = given.exam_attempt_id
        WHERE given.annotator_id = %(annotator)s AND given.created_at >= %(since)s AND sat.project_id = %(project)s)"""


def onboarding_facts(*, project_id: int, annotator_id: int) -> Facts:
    """Of an annotator of the project."""
    [facts] = sql_rows(FACTS, {"project": project_id, "annotator": annotator_id})
    return Facts(*facts)


def work_lately(*, project_id: int, annotator_id: int, since: datetime) -> tuple[bool, bool]:
    """Return whether the annotator has a warm-up open, however long, and whether they have graded ``since``."""
    [(warming_up, graded)] = sql_rows(LATELY, {"project": project_id, "annotator": annotator_id, "since": since})
    return warming_up, graded
