"""The way of an annotator, taken step by step as far as the rows entitle to."""

from django.db import transaction

from accounts.models import Membership, Project, User
from accounts.rules import WAY
from accounts.services.members import standing_change
from judging.models import Sitting
from judging.qualification.rules.way import Facts, standing_due
from judging.qualification.selectors.sittings import way_facts

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
