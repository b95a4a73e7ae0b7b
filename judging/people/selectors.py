"""Who takes part: for leads alone, except ``actor_names``, which gives others numbers only."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Case, Count, F, Max, OuterRef, QuerySet, Subquery, Sum, When
from django.db.models.functions import Coalesce
from django.utils import timezone

from accounts.models import Identity, Membership, Project, User
from core.sql import sql_named
from judging.models import ExamAttempt, ExamGrade, Flag, GoldGrade, Invitation, Judgment, JudgmentDay, ScreeningAttempt
from judging.work.selectors.assignments import PAIR_REMAINS

Role = Membership.Role
ANNOTATOR = [Role.ANNOTATOR]


@dataclass(frozen=True)
class Person:
    """An annotator as their lead sees them; last seen at work here, training and exams included, or logging in."""

    membership: Membership
    identity: Identity | None
    grades: int
    last_seen: datetime | None
    exam_kappa: float | None  # quadratic, of the first grades of their last exam


def people_of(project: Project, *, status: str = "", number: int | None = None) -> list[Person]:
    """Annotators by number: all, those of one status, or the one of this number."""
    members = project.memberships.filter(roles=ANNOTATOR).select_related("user__identity", "project").order_by("number")
    if status:
        members = members.filter(status=status)
    if number is not None:
        members = members.filter(number=number)
    users = [member.user_id for member in members]
    days = JudgmentDay.objects.filter(project=project, annotator__in=users).order_by()
    of_person = Judgment.objects.filter(annotator=OuterRef("annotator"), pair__batch__project=project)
    newest_first = of_person.order_by("-created_at").values("created_at")
    rows = days.values_list("annotator").annotate(grades=Sum("judgments"), newest=Subquery(newest_first[:1]))
    grades_by_user = {user: (grades, newest) for user, grades, newest in rows}
    worked, kappas = _last_worked(project, users), _exam_kappas(project)
    people = []
    for member in members:
        grades, newest = grades_by_user.get(member.user_id, (0, None))
        times = (newest, worked.get(member.user_id), member.user.last_login)
        identity = getattr(member.user, "identity", None)
        last_seen = max(filter(None, times), default=None)
        people.append(Person(member, identity, grades, last_seen, kappas.get(member.user_id)))
    return people


def _last_worked(project: Project, user_ids: list[int]) -> dict[int, datetime]:
    """When each of them last did anything here that is no judgment: gold pairs, flags, training, exams, the test."""
    sources: list[tuple[QuerySet[Any], Any]] = [
        (GoldGrade.objects.filter(assignment__project=project), F("created_at")),
        (Flag.objects.filter(assignment__project=project), F("created_at")),
        (ExamGrade.objects.filter(exam_attempt__project=project), F("created_at")),
        (ScreeningAttempt.objects.filter(project=project), Coalesce("answered_at", "created_at")),
    ]
    first, *others = (
        rows.filter(annotator__in=user_ids).order_by().values_list("annotator").annotate(newest=Max(at))
        for rows, at in sources
    )
    last: dict[int, datetime] = {}
    for user, newest in first.union(*others, all=True):
        last[user] = max(newest, last.get(user, newest))
    return last


def _exam_kappas(project: Project) -> dict[int, float | None]:
    """By account; the last exam that has a report counts."""
    attempts = ExamAttempt.objects.filter(project=project, purpose=ExamAttempt.Purpose.EXAM).exclude(report={})
    return dict(attempts.order_by("id").values_list("annotator", "report__kappas__quadratic__value"))


def status_counts(project: Project) -> list[tuple[str, int]]:
    """How many annotators stand where, in the order of the way; only where there is somebody."""
    rows = project.memberships.filter(roles=ANNOTATOR).order_by().values_list("status").annotate(n=Count("pk"))
    counts = dict(rows)
    return [(status, counts[status]) for status in Membership.Status.values if status in counts]


def has_grades(*, project: Project, user: User) -> bool:
    """Whether somebody has graded in the project, gold and exams included."""
    own: list[QuerySet[Any]] = [
        Judgment.objects.filter(annotator=user, pair__batch__project=project),
        GoldGrade.objects.filter(annotator=user, assignment__project=project),
        ExamGrade.objects.filter(annotator=user, exam_attempt__project=project),
    ]
    return any(rows.exists() for rows in own)


def judges_of_a_pair(project: Project) -> int:
    """Return how many people a pair may need: nobody judges it twice."""
    return project.judges * project.max_rounds


# A subselect of CASE runs only where its branch is taken: pairs are counted only where nobody can go on. Nor does one
# after OR where the first is true: who let a batch lapse is looked for only where everybody has seen every batch.
SHORTAGE = f"""
WITH people AS MATERIALIZED (
    SELECT member.user_id, member.status FROM accounts_membership member
    JOIN accounts_user person ON person.id = member.user_id AND person.is_active
    WHERE member.project_id = %(project)s AND member.status IN ('candidate', 'training', 'exam', 'qualified')),
waiting AS (
    SELECT batch.id, batch.round, batch.free_slots, batch.judges FROM judging_batch batch
    WHERE batch.project_id = %(project)s AND batch.state = 'open' AND NOT batch.is_paused AND batch.free_slots > 0),
state AS MATERIALIZED (
    SELECT EXISTS (SELECT 1 FROM waiting CROSS JOIN people WHERE people.status = 'qualified' AND NOT EXISTS (
        SELECT 1 FROM judging_assignment own
        WHERE own.batch_id = waiting.id AND own.annotator_id = people.user_id))
    OR EXISTS (SELECT 1 FROM waiting batch JOIN judging_assignment own ON own.batch_id = batch.id
        JOIN people ON people.user_id = own.annotator_id AND people.status = 'qualified'
        WHERE {PAIR_REMAINS.format(annotator="people.user_id")}) AS goes_on)
SELECT (SELECT count(*) FROM people WHERE status = 'qualified') AS qualified,
    (SELECT count(*) FROM people WHERE status <> 'qualified') AS in_training,
    CASE WHEN goes_on THEN 0 ELSE (SELECT count(*) FROM waiting JOIN judging_pair pair ON pair.batch_id = waiting.id
        AND pair.state = CASE waiting.round WHEN 1 THEN 'open' ELSE 'escalated' END) END AS pairs,
    CASE WHEN goes_on THEN 0 ELSE (SELECT coalesce(max(free_slots), 0) FROM waiting) END AS slots,
    EXISTS (SELECT 1 FROM judging_batch WHERE project_id = %(project)s AND state = 'open')
    OR (NOT EXISTS (SELECT 1 FROM judging_batch WHERE project_id = %(project)s)
        AND EXISTS (SELECT 1 FROM annotation_query WHERE project_id = %(project)s AND NOT is_placeholder)) AS is_judging
FROM state"""  # noqa: S608  # nosec B608 - constants


@dataclass(frozen=True)
class Shortage:
    """Too few annotators: at least so many ``annotators`` more are needed.

    Attributes:
        pairs: how many wait for somebody who has not seen them, while nobody qualified can judge any pair, neither
            one of a batch new to them nor one of a batch that they let lapse;
            0: judging goes on, but the second round of a pair may find nobody.
    """

    annotators: int
    pairs: int
    qualified: int
    in_training: int  # in training or an exam
    needed: int  # by the rules of the project


def shortage_of(project: Project) -> Shortage | None:
    """Return how many annotators a project lacks; None where there are enough, or nothing is to be judged."""
    needed = judges_of_a_pair(project)
    [row] = sql_named(SHORTAGE, {"project": project.pk})
    missing = needed - row.qualified - row.in_training
    if row.pairs:
        return Shortage(max(row.slots, missing), row.pairs, row.qualified, row.in_training, needed)
    return Shortage(missing, 0, row.qualified, row.in_training, needed) if row.is_judging and missing > 0 else None


def staff_of(project: Project) -> QuerySet[Membership]:
    """Leads, then admins, then writers, checkers and participants."""
    others = project.memberships.exclude(roles=ANNOTATOR).select_related("user__identity", "project")
    order = Case(When(roles__contains=[Role.LEAD], then=0), When(roles__contains=[Role.ADMIN], then=1), default=2)
    return others.order_by(order, "pk")


def invitations_unused(project: Project) -> list[tuple[Invitation, bool]]:
    """Invitations that nobody has used and nobody took back, and whether they have expired."""
    now = timezone.now()
    unused = project.invitations.filter(accepted_at=None, revoked_at=None).select_related("identity")
    return [(invitation, not invitation.is_open_at(now)) for invitation in unused]


def actor_names(project: Project, *, to_lead: bool) -> dict[int, str]:
    """Return names of those who decided: of staff a lead learns the user name, others the first role and a number.
    Annotators are their number for everybody."""
    members = project.memberships.select_related("user").order_by("pk")
    if to_lead:
        return {row.user_id: row.label if row.is_annotator else row.user.username for row in members}
    counts: Counter[str] = Counter()
    names = {}
    for row in members:
        counts[row.first_role] += 1
        names[row.user_id] = row.label if row.is_annotator else f"{row.first_role} {counts[row.first_role]}"
    return names
