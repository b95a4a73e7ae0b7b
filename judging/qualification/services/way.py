"""What an annotator has done of test, training and exam, and the status that it entitles to."""

from datetime import datetime
from typing import NamedTuple

from django.db import connection, transaction
from django.db.models import QuerySet

from accounts.models import Membership, Project, User
from accounts.rules import WAY
from accounts.services.members import standing_change
from annotation.models import Moment
from judging.models import KnownPair, Sitting
from judging.qualification.rules.way import Facts, standing_due

Standing = Membership.Standing


@transaction.atomic
def way_advance(*, project: Project, annotator: User) -> Membership | None:
    """Take an annotator every step that is due; None for who is no annotator of the project.

    May be called at any time, by anybody, as often as one likes.
    """
    members = Membership.objects.select_for_update(of=("self",), no_key=True).select_related("project", "user")
    held = members.filter(project=project, user=annotator, role=Membership.Role.ANNOTATOR).first()
    if held is None or held.standing not in WAY:
        return held
    facts = way_facts(project_id=held.project_id, annotator_id=held.user_id)
    due = standing_due(facts)
    for standing in WAY[WAY.index(held.standing) + 1 : WAY.index(due) + 1]:
        held = standing_change(membership=held, to=standing, actor=None, reason=_reason(held, standing, facts))
    return held


def _reason(member: Membership, standing: str, facts: Facts) -> str:
    if standing == Standing.TRAINING:
        return "Passed the multiple-choice test." if facts.gate_passed else "There is no test before the training."
    if standing == Standing.EXAM:
        done = " and did the tutorial" if facts.has_tutorial else ""
        return f"Confirmed the guideline{done}."
    passed = Sitting.objects.filter(project=member.project_id, annotator=member.user_id, passed=True).latest("ended_at")
    return f"Passed exam {passed.exam.number if passed.exam else ''}: {passed.report['why']}"


FACTS = """
SELECT member.standing, policy.gate_is_open,
    EXISTS (SELECT 1 FROM judging_gateattempt attempt WHERE attempt.project_id = member.project_id
        AND attempt.annotator_id = member.user_id AND attempt.score >= attempt.passing),
    EXISTS (SELECT 1 FROM judging_guidelineconfirmation confirmed
        WHERE confirmed.annotator_id = member.user_id AND confirmed.guideline_id = (SELECT id FROM judging_guideline
            WHERE project_id = member.project_id ORDER BY version DESC LIMIT 1)),
    EXISTS (SELECT 1 FROM judging_knownpair known JOIN annotation_moment moment ON moment.id = known.moment_id
        WHERE known.project_id = member.project_id AND known.tutorial_position IS NOT NULL AND NOT known.is_retired
            AND moment.preview_state = 'ready'),
    EXISTS (SELECT 1 FROM judging_sitting sat WHERE sat.project_id = member.project_id
        AND sat.annotator_id = member.user_id AND sat.purpose = 'tutorial' AND sat.state = 'done'),
    coalesce(exams.passed, false), coalesce(exams.waiting, false), coalesce(exams.feedback, false),
    coalesce(exams.counting, false), policy.exam_attempts - coalesce(exams.failed, 0),
    EXISTS (SELECT 1 FROM judging_exam exam WHERE exam.project_id = member.project_id AND exam.state = 'open')
FROM accounts_membership member
CROSS JOIN LATERAL (SELECT gate_is_open, exam_attempts FROM judging_policy
    WHERE project_id = member.project_id ORDER BY version DESC LIMIT 1) policy
CROSS JOIN LATERAL (SELECT max(change.created_at) AS at FROM accounts_standingchange change
    WHERE change.membership_id = member.id AND change.from_standing IN ('suspended', 'left')) returned
CROSS JOIN LATERAL (SELECT bool_or(sat.passed AND counts.it) AS passed,
        bool_or(sat.state = 'waiting') AS waiting, bool_or(sat.state = 'feedback') AS feedback,
        bool_or(sat.state = 'done' AND sat.passed IS NULL AND NOT sat.report ? 'no_result') AS counting,
        count(*) FILTER (WHERE counts.it AND (NOT sat.passed OR sat.missed_counts)) AS failed
    FROM judging_sitting sat
    CROSS JOIN LATERAL (SELECT returned.at IS NULL OR sat.ended_at >= returned.at AS it) counts
    WHERE sat.project_id = member.project_id AND sat.annotator_id = member.user_id AND sat.purpose = 'exam') exams
WHERE member.project_id = %(project)s AND member.user_id = %(annotator)s AND member.role = 'annotator'"""

LATELY = """
SELECT EXISTS (SELECT 1 FROM judging_sitting sat WHERE sat.project_id = %(project)s
        AND sat.annotator_id = %(annotator)s AND sat.purpose = 'warm-up' AND sat.state = 'open'),
    EXISTS (SELECT 1 FROM judging_owngrade given JOIN judging_assignment held ON held.id = given.assignment_id
        WHERE given.annotator_id = %(annotator)s AND given.created_at >= %(since)s AND held.project_id = %(project)s)
    OR EXISTS (SELECT 1 FROM judging_sittinggrade given JOIN judging_sitting sat ON sat.id = given.sitting_id
        WHERE given.annotator_id = %(annotator)s AND given.created_at >= %(since)s AND sat.project_id = %(project)s)"""


class Lately(NamedTuple):
    """What an annotator has done since some time."""

    warming_up: bool  # a warm-up is open, however long
    graded: bool


def way_facts(*, project_id: int, annotator_id: int) -> Facts:
    """Of an annotator of the project."""
    with connection.cursor() as cursor:
        cursor.execute(FACTS, {"project": project_id, "annotator": annotator_id})
        row = cursor.fetchone()
    return Facts(*row)


def work_lately(*, project_id: int, annotator_id: int, since: datetime) -> Lately:
    with connection.cursor() as cursor:
        cursor.execute(LATELY, {"project": project_id, "annotator": annotator_id, "since": since})
        return Lately(*cursor.fetchone())


def tutorial_pairs(project_id: int) -> QuerySet[KnownPair, int]:
    """The pairs of the tutorial, in its order."""
    shown = KnownPair.objects.filter(project=project_id, tutorial_position__isnull=False, is_retired=False)
    ready = shown.filter(moment__preview_state=Moment.Preview.READY)
    return ready.order_by("tutorial_position", "pk").values_list("pk", flat=True)
