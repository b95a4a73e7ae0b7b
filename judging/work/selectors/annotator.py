"""What an annotator's pages read besides what they hold."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet

from accounts.models import Project, User
from annotation.models import Moment
from judging.models import Assignment, Flag, OwnGrade

VISIBLE = """
SELECT moment.* FROM annotation_moment moment JOIN annotation_video video ON video.id = moment.video_id
WHERE moment.preview_uuid = %(preview)s AND moment.preview_state = 'ready' AND (
    EXISTS (SELECT 1 FROM annotation_candidate candidate
        JOIN judging_pair pair ON pair.candidate_id = candidate.id
        JOIN judging_assignment held ON held.batch_id = pair.batch_id AND held.annotator_id = %(user)s
            AND pair.id = ANY (held.pair_ids)
        JOIN accounts_membership member ON member.project_id = held.project_id AND member.user_id = %(user)s
            AND member.role <> 'participant' AND member.standing NOT IN ('suspended', 'left')
        WHERE candidate.moment_id = moment.id AND (held.state IN ('open', 'finished') OR EXISTS (
            SELECT 1 FROM judging_owngrade given WHERE given.pair_id = pair.id AND given.annotator_id = %(user)s)))
    OR EXISTS (SELECT 1 FROM accounts_membership member JOIN annotation_projectcorpus dataset
            ON dataset.project_id = member.project_id AND dataset.corpus_id = video.corpus_id
        WHERE member.user_id = %(user)s AND member.role IN ('lead', 'admin'))
    OR EXISTS (SELECT 1 FROM judging_guidelineexample example
        JOIN judging_guideline guideline ON guideline.id = example.guideline_id
        JOIN accounts_membership member ON member.project_id = guideline.project_id AND member.user_id = %(user)s
            AND member.role <> 'participant' AND member.standing NOT IN ('suspended', 'left')
        WHERE example.moment_id = moment.id)
    OR EXISTS (SELECT 1 FROM judging_gateattempt attempt
        JOIN accounts_membership member ON member.project_id = attempt.project_id AND member.user_id = %(user)s
            AND member.role <> 'participant' AND member.standing NOT IN ('suspended', 'left')
        WHERE attempt.annotator_id = %(user)s
            AND attempt.asked @> jsonb_build_array(jsonb_build_object('moment', moment.uuid::text)))
    OR EXISTS (SELECT 1 FROM judging_knownpair known JOIN judging_sitting sat ON known.id = ANY (sat.known_ids)
        JOIN accounts_membership member ON member.project_id = known.project_id AND member.user_id = %(user)s
            AND member.role <> 'participant' AND member.standing NOT IN ('suspended', 'left')
        WHERE known.moment_id = moment.id AND sat.annotator_id = %(user)s AND (sat.state <> 'missed' OR EXISTS (
            SELECT 1 FROM judging_sittinggrade given
            WHERE given.sitting_id = sat.id AND given.known_pair_id = known.id)))
    OR EXISTS (SELECT 1 FROM judging_knownpair known
        JOIN accounts_membership member ON member.project_id = known.project_id AND member.user_id = %(user)s
            AND member.role <> 'participant' AND member.standing NOT IN ('suspended', 'left')
        WHERE known.moment_id = moment.id AND known.tutorial_position IS NOT NULL))"""

READINESS = """
SELECT member.standing, EXISTS (SELECT 1 FROM judging_guidelineconfirmation confirmed
    WHERE confirmed.annotator_id = member.user_id AND confirmed.guideline_id = (SELECT id FROM judging_guideline
        WHERE project_id = member.project_id ORDER BY version DESC LIMIT 1))
FROM accounts_membership member
WHERE member.project_id = %(project)s AND member.user_id = %(annotator)s AND member.role = 'annotator'"""

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


class Readiness(NamedTuple):
    """What decides whether somebody is handed batches."""

    standing: str  # empty for who is no annotator of the project
    confirmed: bool  # the guideline in force


def open_assignment(*, project: Project, annotator: User) -> Assignment | None:
    return Assignment.objects.filter(project=project, annotator=annotator, state=Assignment.State.OPEN).first()


def given_in(assignment: Assignment) -> tuple[list[OwnGrade], list[Flag]]:
    """The person's own grades of one assignment, in the order given, and the flags that stand."""
    grades = assignment.own_grades.select_related("pair__candidate__moment").order_by("created_at", "uuid")
    flags = assignment.flags.filter(withdrawn_at__isnull=True).select_related("pair__candidate__moment").order_by("id")
    return list(grades), list(flags)


def final_grades(*, project: Project, annotator: User) -> QuerySet[OwnGrade]:
    """The person's own grades that cannot change any more."""
    given = OwnGrade.objects.filter(annotator=annotator, assignment__project=project)
    ended = given.exclude(assignment__state=Assignment.State.OPEN)
    return ended.select_related("pair__batch__query", "pair__candidate__moment")


def readiness(*, project_id: int, annotator_id: int) -> Readiness:
    with connection.cursor() as cursor:
        cursor.execute(READINESS, {"project": project_id, "annotator": annotator_id})
        row = cursor.fetchone()
    return Readiness(*row) if row else Readiness("", False)


def work_done(*, project: Project, annotator: User, since: datetime) -> dict[str, int]:
    """Batches finished and grades given by the annotator, in all and ``since`` (say, midnight)."""
    with connection.cursor() as cursor:
        cursor.execute(WORK_DONE, {"project": project.pk, "annotator": annotator.pk, "since": since})
        return dict(zip(("batches", "judgments", "today"), cursor.fetchone(), strict=True))


def preview_visible_to(*, user: User, preview: UUID) -> Moment | None:
    """The moment of this preview, when the person may watch it: asked of them, of their project, or an example."""
    return next(iter(Moment.objects.raw(VISIBLE, {"user": user.pk, "preview": preview})), None)
