"""Who takes part: for leads alone, except ``actor_names``, which gives others numbers only."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Case, Count, F, Max, OuterRef, QuerySet, Subquery, Sum, When
from django.db.models.functions import Coalesce
from django.utils import timezone

from accounts.models import Identity, Membership, Project
from judging.models import ExamAttempt, ExamGrade, Flag, GoldGrade, Invitation, Judgment, JudgmentDay, ScreeningAttempt

ANNOTATOR = Membership.Role.ANNOTATOR


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
    members = project.memberships.filter(role=ANNOTATOR).select_related("user__identity", "project").order_by("number")
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
    rows = project.memberships.filter(role=ANNOTATOR).order_by().values_list("status").annotate(n=Count("pk"))
    counts = dict(rows)
    return [(status, counts[status]) for status in Membership.Status.values if status in counts]


def staff_of(project: Project) -> QuerySet[Membership]:
    """Leads, then admins, then participants."""
    others = project.memberships.exclude(role=ANNOTATOR).select_related("user__identity")
    return others.order_by(Case(When(role=Membership.Role.PARTICIPANT, then=1), default=0), "-role", "pk")


def invitations_unused(project: Project) -> list[tuple[Invitation, bool]]:
    """Invitations that nobody has used and nobody took back, and whether they have expired."""
    now = timezone.now()
    unused = project.invitations.filter(accepted_at=None, revoked_at=None).select_related("identity")
    return [(invitation, not invitation.is_open_at(now)) for invitation in unused]


def actor_names(project: Project, *, to: str) -> dict[int, str]:
    """Return names of those who decided for the role ``to``: of staff a lead learns the user name, others a number.
    Annotators are their number for everybody."""
    members = project.memberships.select_related("user").order_by("pk")
    if to == Membership.Role.LEAD:
        return {row.user_id: row.label if row.role == ANNOTATOR else row.user.username for row in members}
    counts: Counter[str] = Counter()
    names = {}
    for row in members:
        counts[row.role] += 1
        names[row.user_id] = row.label if row.role == ANNOTATOR else f"{row.role} {counts[row.role]}"
    return names
