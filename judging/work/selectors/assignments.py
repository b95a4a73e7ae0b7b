"""Assignments annotators may see, get next, and have open, with their pairs, and the grade and flag of each.

Every judgment reads the open assignment, so it is one statement whatever the project holds. It is written in SQL, as an
ORM would need seven.

Order of batches: the lead's priority, escalated pairs, batches that somebody has begun, new ones; among the nearest of
those, the one begun by whom the annotator has shared the fewest of their latest batches with, so that agreement can be
told of every two; then the oldest. Paused query sets are left out.
"""

import json
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from operator import attrgetter, methodcaller
from typing import Any, NamedTuple, cast
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet
from django.db.models.fields.files import FieldFile
from django.http import Http404

from accounts.models import Project, User
from annotation.models import Moment
from core.sql import row_first, sql_rows
from judging.models import Assignment, Flag, OwnGrade, Pair
from judging.work.rules import RequestedPair, form_key

AHEAD = 3  # previews to load while one is judged
WITHDRAWN = Pair.State.WITHDRAWN.value  # the value: an enum's comparison costs more, 90 times a judgment

OF_PAIR = """(SELECT latest.id FROM judging_pair pair JOIN judging_assignment latest
    ON latest.batch_id = pair.batch_id AND latest.annotator_id = %s AND pair.id = ANY (latest.pair_ids)
    WHERE pair.uuid = %s ORDER BY latest.id DESC LIMIT 1)"""
OPEN_IN_PROJECT = """(SELECT latest.id FROM judging_assignment latest
    WHERE latest.annotator_id = %s AND latest.project_id = %s AND latest.state = 'open')"""
LOCK = "SELECT id FROM judging_assignment WHERE id = {} FOR UPDATE"

# Pairs come as one array a column, so that an assignment is one statement and one row. LATERAL with LIMIT leaves the
# planner no other way than by index: a plan made while the tables were empty would read all judgments of the site.
ASSIGNMENT = """
SELECT assignment.id, assignment.uuid, assignment.state, assignment.expires_at,
    assignment.round, assignment.slot, assignment.annotator_id, assignment.batch_id, batch.top_grade, project.id,
    project.uuid, query.text, coalesce(topic.description, ''), coalesce(topic.narrative, ''),
    'annotator' = ANY (member.roles), person.is_simulated, policy.id, policy.lease_minutes,
    policy.break_minutes, guideline.id, guideline.levels, pairs.*
FROM judging_assignment assignment
JOIN accounts_project project ON project.id = assignment.project_id
JOIN judging_batch batch ON batch.id = assignment.batch_id
JOIN annotation_query query ON query.id = batch.query_id
LEFT JOIN annotation_topicversion topic ON topic.id = assignment.topic_version_id
JOIN accounts_user person ON person.id = assignment.annotator_id
LEFT JOIN accounts_membership member ON member.project_id = assignment.project_id
    AND member.user_id = assignment.annotator_id
CROSS JOIN LATERAL (SELECT id, lease_minutes, break_minutes FROM judging_policy
    WHERE project_id = assignment.project_id ORDER BY version DESC LIMIT 1) policy
CROSS JOIN LATERAL (SELECT id, levels FROM judging_guideline
    WHERE project_id = assignment.project_id ORDER BY version DESC LIMIT 1) guideline
CROSS JOIN LATERAL (SELECT greatest(assignment.created_at, max(changed_at)), array_agg(id), array_agg(uuid),
    array_agg(state), array_agg(preview_uuid), array_agg(has_clip), array_agg(is_gold), array_agg(judgment_id),
    array_agg(grade), array_agg(revision), array_agg(comment), array_agg(graded_at), array_agg(flag),
    array_agg(flag_comment), array_agg(flagged_at), array_agg(flag_uuid), array_agg(flags_raised)
FROM (SELECT pair.id, pair.uuid, pair.state, pair.preview_uuid, pair.has_clip,
        pair.id = ANY (assignment.gold_ids) AS is_gold, coalesce(judgment.id, gold.id) AS judgment_id,
        coalesce(judgment.grade, gold.grade) AS grade, coalesce(judgment.revision, gold.revision) AS revision,
        coalesce(judgment.comment, gold.comment) AS comment,
        coalesce(judgment.created_at, gold.created_at) AS graded_at,
        flag.reason AS flag, flag.comment AS flag_comment, flag.created_at AS flagged_at, flag.uuid AS flag_uuid,
        raised.times AS flags_raised,
        greatest(judgment.created_at, raised.newest, (gold.history -> -1 ->> 2)::timestamptz,
            CASE WHEN judgment.revision > 0 THEN
                (SELECT max(changed_at) FROM judging_judgmentchange WHERE judgment_id = judgment.id) END) AS changed_at
    FROM unnest(assignment.pair_ids) WITH ORDINALITY AS shown (pair_id, position)
    CROSS JOIN LATERAL (SELECT pair.id, pair.uuid, pair.state, moment.preview_uuid,
        moment.preview_clip <> '' AS has_clip
        FROM judging_pair pair JOIN annotation_candidate candidate ON candidate.id = pair.candidate_id
        JOIN annotation_moment moment ON moment.id = candidate.moment_id
        WHERE pair.id = shown.pair_id LIMIT 1) pair
    LEFT JOIN LATERAL (SELECT * FROM judging_judgment WHERE pair_id = pair.id
        AND annotator_id = assignment.annotator_id AND occurrence = 0 LIMIT 1) judgment ON true
    LEFT JOIN LATERAL (SELECT * FROM judging_goldgrade WHERE pair.id = ANY (assignment.gold_ids)
        AND pair_id = pair.id AND annotator_id = assignment.annotator_id LIMIT 1) gold ON true
    LEFT JOIN LATERAL (SELECT * FROM judging_flag WHERE pair_id = pair.id
        AND annotator_id = assignment.annotator_id AND withdrawn_at IS NULL LIMIT 1) flag ON true
    CROSS JOIN LATERAL (SELECT count(*) AS times, max(greatest(created_at, withdrawn_at)) AS newest
        FROM judging_flag WHERE assignment_id = assignment.id AND pair_id = pair.id) raised
    ORDER BY shown.position) shown_pair) pairs
WHERE assignment.id = """


class PairView(NamedTuple):
    """One pair as its judge sees it; ``grade`` and ``flag`` are their own."""

    pair_id: int
    uuid: UUID
    state: str
    preview: UUID
    has_clip: bool  # the preview has an MP4, too
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

    @property
    def withdrawn(self) -> bool:
        return self.state == WITHDRAWN

    @property
    def needs_answer(self) -> bool:
        return self.grade is None and self.flag is None and self.state != WITHDRAWN

    @property
    def n_answers(self) -> int:
        """How often something was said about the pair: grades given and flags raised."""
        return (0 if self.revision is None else self.revision + 1) + self.flags_raised

    def needed_answer_at(self, time: datetime) -> bool:
        """Whether the pair still needed one just after ``time``."""
        answered = [at for at in (self.graded_at, self.flagged_at) if at is not None]
        return not self.withdrawn and not any(at <= time for at in answered)


COLUMNS = 22  # of an assignment, before those of its pairs


@dataclass(frozen=True, slots=True)
class OpenAssignment:
    """An assignment with the versions in force and its cards."""

    assignment_id: int
    uuid: UUID
    state: str
    expires_at: datetime
    round: int
    slot: int
    annotator_id: int
    batch_id: int
    top_grade: int
    project_id: int
    project_uuid: UUID
    query: str
    description: str  # of the topic, as the assignment shows it; empty where there is none
    narrative: str
    is_annotator: bool | None  # of the project, now; None: no member of it
    is_simulated: bool
    policy_id: int
    lease_minutes: int
    break_minutes: int
    guideline_id: int
    levels: list[str]
    changed_at: datetime  # a grade, its change, a flag or its end; before the first, when it was handed out
    pair_views: tuple[PairView, ...]

    @property
    def is_open(self) -> bool:
        return self.state == Assignment.State.OPEN

    @property
    def has_topic(self) -> bool:
        """Whether there is more to read about the query than its text."""
        return bool(self.description or self.narrative)

    @property
    def answered(self) -> int:
        return sum(not pair_view.needs_answer for pair_view in self.pair_views)

    def index_of(self, pair: UUID) -> int:
        return next(index for index, pair_view in enumerate(self.pair_views) if pair_view.uuid == pair)

    def key_of(self, pair_view: PairView) -> UUID:
        """The key of a form that shows this pair."""
        return form_key(assignment=self.uuid, pair=pair_view.uuid, n_answers=pair_view.n_answers)

    def with_pair_view(self, index: int, **values: Any) -> "OpenAssignment":
        changed = self.pair_views[index]._replace(**values)
        return replace(self, pair_views=(*self.pair_views[:index], changed, *self.pair_views[index + 1 :]))

    def as_it_was(self) -> "OpenAssignment":
        """Hide outcomes after its end: a form sent again later learns nothing of what became of its pairs."""
        if self.is_open:
            return self
        return replace(
            self, pair_views=tuple(pair_view._replace(state=Pair.State.OPEN) for pair_view in self.pair_views)
        )

    def next_index(self, after: int = -1, *, at: datetime | None = None) -> int | None:
        """The next card that needs an answer (or needed one just after ``at``), from the start again at the end."""
        needs = attrgetter("needs_answer") if at is None else methodcaller("needed_answer_at", at)
        return next((index for index in self._following(after) if needs(self.pair_views[index])), None)

    def _following(self, after: int) -> list[int]:
        return [*range(after + 1, len(self.pair_views)), *range(after + 1)]

    def ahead_of(self, index: int) -> list[PairView]:
        """The cards that will be shown next, nearest first."""
        others = (self.pair_views[position] for position in self._following(index) if position != index)
        return list(islice((pair_view for pair_view in others if pair_view.needs_answer), AHEAD))


def assignment_by_pair(*, annotator_id: int, pair: UUID, lock: bool = False) -> OpenAssignment | None:
    """The annotator's latest assignment that asks for the pair; None when they never held one. ``lock`` keeps it theirs
    and as it is until the transaction ends."""
    return _read_assignment(OF_PAIR, annotator_id, pair, lock=lock)


def current_assignment(*, annotator_id: int, project_id: int, lock: bool = False) -> OpenAssignment | None:
    """Return the annotator's open assignment."""
    return _read_assignment(OPEN_IN_PROJECT, annotator_id, project_id, lock=lock)


def _read_assignment(which: str, *params: Any, lock: bool) -> OpenAssignment | None:
    with connection.cursor() as cursor:
        if lock:  # first: a statement that waits for the row would show all others as they were before
            cursor.execute(LOCK.format(which), params)
            which, params = "%s", cursor.fetchone() or (None,)
        cursor.execute(f"{ASSIGNMENT}{which}", params)
        row = cursor.fetchone()
    if row is None:
        return None
    *values, levels, changed_at = row[:COLUMNS]
    pair_views = tuple(map(PairView._make, zip(*row[COLUMNS:], strict=True)))
    return OpenAssignment(*[*values, json.loads(levels), changed_at, pair_views])


IS_THERE = """member.user_id = %(user)s AND member.roles && '{annotator,lead,admin}'
            AND member.status NOT IN ('suspended', 'left')"""
VISIBLE = f"""
SELECT moment.* FROM annotation_moment moment JOIN annotation_video video ON video.id = moment.video_id
WHERE moment.preview_uuid = %(preview)s AND moment.preview_state = 'ready' AND (
    EXISTS (SELECT 1 FROM annotation_candidate candidate
        JOIN judging_pair pair ON pair.candidate_id = candidate.id
        JOIN judging_assignment held ON held.batch_id = pair.batch_id AND held.annotator_id = %(user)s
            AND pair.id = ANY (held.pair_ids)
        JOIN accounts_membership member ON member.project_id = held.project_id AND {IS_THERE}
        WHERE candidate.moment_id = moment.id AND (held.state IN ('open', 'finished') OR EXISTS (
            SELECT 1 FROM judging_owngrade given WHERE given.pair_id = pair.id AND given.annotator_id = %(user)s)))
    OR EXISTS (SELECT 1 FROM accounts_membership member JOIN annotation_projectcorpus dataset
            ON dataset.project_id = member.project_id AND dataset.corpus_id = video.corpus_id
        WHERE member.user_id = %(user)s AND member.roles && '{{lead,admin}}')
    OR EXISTS (SELECT 1 FROM judging_guidelineexample example
        JOIN judging_guideline guideline ON guideline.id = example.guideline_id
        JOIN accounts_membership member ON member.project_id = guideline.project_id AND {IS_THERE}
        WHERE example.moment_id = moment.id)
    OR EXISTS (SELECT 1 FROM judging_screeningattempt attempt
        JOIN accounts_membership member ON member.project_id = attempt.project_id AND {IS_THERE}
        WHERE attempt.annotator_id = %(user)s
            AND attempt.questions @> jsonb_build_array(jsonb_build_object('moment', moment.uuid::text)))
    OR EXISTS (SELECT 1 FROM judging_knownpair known JOIN judging_examattempt sat ON known.id = ANY (sat.known_ids)
        JOIN accounts_membership member ON member.project_id = known.project_id AND {IS_THERE}
        WHERE known.moment_id = moment.id AND sat.annotator_id = %(user)s AND (sat.state <> 'missed' OR EXISTS (
            SELECT 1 FROM judging_examgrade given
            WHERE given.exam_attempt_id = sat.id AND given.known_pair_id = known.id)))
    OR EXISTS (SELECT 1 FROM judging_knownpair known
        JOIN accounts_membership member ON member.project_id = known.project_id AND {IS_THERE}
        WHERE known.moment_id = moment.id AND known.tutorial_position IS NOT NULL))"""  # noqa: S608  # nosec B608 - constants

READINESS = """
SELECT member.status, EXISTS (SELECT 1 FROM judging_guidelineconfirmation confirmed
    WHERE confirmed.annotator_id = member.user_id AND confirmed.guideline_id = (SELECT id FROM judging_guideline
        WHERE project_id = member.project_id ORDER BY version DESC LIMIT 1)),
    EXISTS (SELECT 1 FROM judging_assignment
        WHERE project_id = member.project_id AND state = 'open' AND expires_at <= %(now)s)
FROM accounts_membership member
WHERE member.project_id = %(project)s AND member.user_id = %(annotator)s AND 'annotator' = ANY (member.roles)"""

# All the person's grades less those of other projects, usually none: counted in an index, however many there are. Gold
# counts too, as the person cannot tell it.
WORK_DONE = """
WITH mine AS MATERIALIZED (SELECT id, project_id, state FROM judging_assignment WHERE annotator_id = %(annotator)s),
elsewhere AS (
    SELECT coalesce(sum(given.judgments), 0) AS judgments, coalesce(sum(given.today), 0) AS today
    FROM mine CROSS JOIN LATERAL (SELECT count(*) AS judgments, count(*) FILTER (WHERE created_at >= %(since)s) AS today
        FROM judging_judgment WHERE assignment_id = mine.id) AS given
    WHERE mine.project_id <> %(project)s),
gold AS (
    SELECT count(*) AS judgments, count(*) FILTER (WHERE given.created_at >= %(since)s) AS today
    FROM judging_goldgrade given JOIN mine ON mine.id = given.assignment_id AND mine.project_id = %(project)s
    WHERE given.annotator_id = %(annotator)s)
SELECT (SELECT count(*) FROM mine WHERE project_id = %(project)s AND state = 'finished'),
    ((SELECT count(*) FROM judging_judgment WHERE annotator_id = %(annotator)s)
        - elsewhere.judgments + gold.judgments)::bigint,
    ((SELECT count(*) FROM judging_judgment WHERE annotator_id = %(annotator)s AND created_at >= %(since)s)
        - elsewhere.today + gold.today)::bigint
FROM elsewhere, gold"""


SLOTS_TAKEN = """
SELECT held.slot FROM judging_assignment held JOIN judging_batch batch ON batch.id = held.batch_id
WHERE batch.id = %(batch)s AND held.round = batch.round AND held.state = 'open'"""


class Readiness(NamedTuple):
    """Conditions for somebody to be given batches."""

    status: str  # empty for who is no annotator of the project
    confirmed: bool  # the guideline in force
    some_lapsed: bool  # leases of the project, whoever's: they are to be ended first


def open_assignment(*, project_id: int, annotator: User) -> Assignment | None:
    return row_first(
        Assignment, "WHERE annotator_id = %s AND project_id = %s AND state = 'open' LIMIT 1", annotator.pk, project_id
    )


def given_in(assignment: Assignment) -> tuple[list[OwnGrade], list[Flag]]:
    """The person's own grades of one assignment, in the order given, and the flags that stand."""
    grades = assignment.own_grades.select_related("pair__candidate__moment").order_by("created_at", "uuid")
    flags = assignment.flags.filter(withdrawn_at__isnull=True).select_related("pair__candidate__moment").order_by("id")
    return list(grades), list(flags)


def final_grades(*, project: Project, annotator: User) -> QuerySet[OwnGrade]:
    """The person's own grades that cannot change any more."""
    grades = OwnGrade.objects.filter(annotator=annotator, assignment__project=project)
    ended = grades.exclude(assignment__state=Assignment.State.OPEN)
    return ended.select_related("pair__batch__query", "pair__candidate__moment")


def readiness(*, project_id: int, annotator_id: int, now: datetime) -> Readiness:
    rows = sql_rows(READINESS, {"project": project_id, "annotator": annotator_id, "now": now})
    return Readiness(*rows[0]) if rows else Readiness("", confirmed=False, some_lapsed=False)


def work_done(*, project: Project, annotator: User, since: datetime) -> dict[str, int]:
    """Batches finished and grades given by the annotator, in all and ``since`` (say, midnight)."""
    [counts] = sql_rows(WORK_DONE, {"project": project.pk, "annotator": annotator.pk, "since": since})
    return dict(zip(("batches", "judgments", "today"), counts, strict=True))


def preview_visible_to(*, user: User, preview: UUID) -> Moment | None:
    """The moment of this preview, when the person may watch it: asked of them, of their project, or an example."""
    return next(iter(Moment.objects.raw(VISIBLE, {"user": user.pk, "preview": preview})), None)


WINDOW = 200  # batches of each kind looked at first, so that a taker does not wade through all they know
NEAREST = 50  # batches compared by whom they would be shared with
LATEST = 200  # of the annotator's assignments say whom they shared with

TO_BE_TAKEN = """
WITH nearest AS MATERIALIZED (
    SELECT near.id, near.priority, near.round, near.begun
    FROM (VALUES (1), (0), (-1)) priorities (priority)
    CROSS JOIN (VALUES (2, true), (2, false), (1, true), (1, false)) kinds (round, begun)
    CROSS JOIN LATERAL (
        SELECT batch.id, batch.priority, batch.round, batch.begun FROM judging_batch batch
        WHERE batch.project_id = %(project)s AND batch.state = 'open' AND NOT batch.is_paused
            AND batch.free_slots > 0 AND batch.priority = priorities.priority AND batch.round = kinds.round
            AND batch.begun = kinds.begun
        ORDER BY batch.id LIMIT %(window)s) near
    WHERE NOT EXISTS (SELECT 1 FROM judging_assignment mine
        WHERE mine.batch_id = near.id AND mine.annotator_id = %(annotator)s)
    ORDER BY near.priority DESC, near.round DESC, near.begun DESC, near.id LIMIT %(nearest)s),
latest AS MATERIALIZED (
    SELECT batch_id, round FROM judging_assignment
    WHERE annotator_id = %(annotator)s ORDER BY id DESC LIMIT %(latest)s),
shared AS MATERIALIZED (
    SELECT theirs.annotator_id, count(*) AS batches FROM latest
    JOIN judging_assignment theirs ON theirs.batch_id = latest.batch_id AND theirs.round = latest.round
    GROUP BY theirs.annotator_id),
ordered AS MATERIALIZED (
    SELECT nearest.id, row_number() OVER (ORDER BY nearest.priority DESC, nearest.round DESC, nearest.begun DESC,
        coalesce(max(shared.batches), 0), nearest.id) AS place
    FROM nearest
    LEFT JOIN judging_assignment beginner ON beginner.batch_id = nearest.id AND beginner.round = nearest.round
    LEFT JOIN shared ON shared.annotator_id = beginner.annotator_id
    GROUP BY nearest.id, nearest.priority, nearest.round, nearest.begun)
SELECT batch.id FROM ordered JOIN judging_batch batch ON batch.id = ordered.id
WHERE batch.state = 'open' AND NOT batch.is_paused AND batch.free_slots > 0
ORDER BY ordered.place LIMIT 1"""

# Of a row ``batch`` and the account ``{annotator}``: some pair of the batch can still be assigned to them.
PAIR_REMAINS = """EXISTS (SELECT 1 FROM judging_pair pair CROSS JOIN generate_series(1, batch.judges) slots (slot)
        WHERE pair.batch_id = batch.id AND pair.state = CASE batch.round WHEN 1 THEN 'open' ELSE 'escalated' END
        AND NOT EXISTS (SELECT 1 FROM judging_judgment given
            WHERE given.pair_id = pair.id AND given.round = batch.round AND given.slot = slots.slot)
        AND NOT EXISTS (SELECT 1 FROM judging_assignment held WHERE held.batch_id = batch.id
            AND held.round = batch.round AND held.slot = slots.slot AND held.state = 'open')
        AND NOT EXISTS (SELECT 1 FROM judging_judgment mine
            WHERE mine.pair_id = pair.id AND mine.annotator_id = {annotator})
        AND NOT EXISTS (SELECT 1 FROM judging_flag mine WHERE mine.pair_id = pair.id
            AND mine.annotator_id = {annotator} AND mine.withdrawn_at IS NULL))"""
KNOWN_IN_PART = f"""
SELECT batch.id FROM judging_batch batch
WHERE batch.project_id = %(project)s AND batch.state = 'open' AND NOT batch.is_paused AND batch.free_slots > 0
    AND EXISTS (SELECT 1 FROM judging_assignment mine
        WHERE mine.batch_id = batch.id AND mine.annotator_id = %(annotator)s)
    AND {PAIR_REMAINS.format(annotator="%(annotator)s")}
ORDER BY batch.priority DESC, batch.round DESC, batch.begun DESC, batch.id LIMIT 1"""  # noqa: S608  # nosec B608 - constants

REQUESTED_PAIRS = """
SELECT pair.id, ARRAY(SELECT given.slot FROM judging_judgment given
        WHERE given.pair_id = pair.id AND given.round = batch.round),
    EXISTS (SELECT 1 FROM judging_judgment mine WHERE mine.pair_id = pair.id AND mine.annotator_id = %(annotator)s)
    OR EXISTS (SELECT 1 FROM judging_flag mine WHERE mine.pair_id = pair.id AND mine.annotator_id = %(annotator)s
        AND mine.withdrawn_at IS NULL),
    (SELECT count(*) FROM judging_flag flag JOIN judging_assignment ended ON ended.id = flag.assignment_id
        AND ended.state <> 'open' WHERE flag.pair_id = pair.id AND flag.withdrawn_at IS NULL
        AND (pair.restored_at IS NULL OR flag.created_at > pair.restored_at)
        AND NOT EXISTS (SELECT 1 FROM judging_flaganswer answer WHERE answer.flag_id = flag.id))
FROM judging_batch batch
JOIN judging_pair pair ON pair.batch_id = batch.id
    AND pair.state = CASE batch.round WHEN 1 THEN 'open' ELSE 'escalated' END
JOIN annotation_candidate candidate ON candidate.id = pair.candidate_id
WHERE batch.id = %(batch)s
ORDER BY candidate.rank"""


def batch_to_be_taken(*, project_id: int, annotator_id: int, lock: bool = False) -> int | None:
    """The batch whose turn it is for this annotator; one they were assigned before only when nothing else is left.
    ``lock`` locks it and passes over batches that somebody else is just taking."""
    values = {"project": project_id, "annotator": annotator_id, "nearest": NEAREST, "latest": LATEST}
    locking = " FOR UPDATE OF batch SKIP LOCKED" if lock else ""
    with connection.cursor() as cursor:
        for statement, window in ((TO_BE_TAKEN, WINDOW), (TO_BE_TAKEN, None), (KNOWN_IN_PART, None)):
            cursor.execute(statement + locking, {**values, "window": window})
            if row := cursor.fetchone():
                return int(row[0])
    return None


def pairs_requested(*, batch_id: int, annotator_id: int | None = None) -> list[RequestedPair]:
    """The pairs that the batch's round asks for, best rank first; ``known`` is about this annotator."""
    return [RequestedPair(*row) for row in sql_rows(REQUESTED_PAIRS, {"batch": batch_id, "annotator": annotator_id})]


def slots_taken(batch_id: int) -> list[int]:
    """Slots of the batch's present round that are assigned to somebody."""
    return [slot for (slot,) in sql_rows(SLOTS_TAKEN, {"batch": batch_id})]


def work_waits(*, project_id: int, annotator_id: int) -> bool:
    """Whether taking would give the annotator something."""
    return batch_to_be_taken(project_id=project_id, annotator_id=annotator_id) is not None


PREVIEW_TYPES = {"preview": "image/gif", "preview_clip": "video/mp4"}


def preview_file(*, user: User, preview: UUID, field: str) -> FieldFile:
    """The GIF of a moment (``preview``) or the same as an MP4 (``preview_clip``). 404 for all but its judges, leads and
    admins, where it is no example, and where there is none."""
    moment = preview_visible_to(user=user, preview=preview)
    if moment is None or not (file := getattr(moment, field)):
        raise Http404
    return cast(FieldFile, file)
