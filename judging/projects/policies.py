"""The versions in force."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from django.db import transaction

from accounts.models import Project, User
from core.audit import audit_record
from core.messages import send_on_commit
from core.sql import row_first
from judging.exceptions import GateTooShort, NotPossibleNow, PolicyStale
from judging.guidelines.models import POLICY_VALUES
from judging.models import GateQuestion, Guideline, GuidelineExample, Judgment, Policy
from judging.qualification.rules.passing import PassRule
from judging.quality.rules.agreement import Weights

REVIEW_TASK = "judging.tasks.reviews_decide"


class Example(NamedTuple):
    """What shows a grade: the text of a query and the id of a moment."""

    grade: int
    query_text: str
    moment_id: int


def policy_in_force(project_id: int) -> Policy:
    """Return the latest version. Raises Policy.DoesNotExist where there is no such project."""
    found = row_first(Policy, "WHERE project_id = %s ORDER BY version DESC LIMIT 1", project_id)
    if found is None:
        raise Policy.DoesNotExist
    return found


def pass_rule_of(policy: Policy) -> PassRule:
    """What this version asks of who sits an exam."""
    values = {name: getattr(policy, f"exam_{name}") for name in ("kappa", "kappa_low", "bias", "levels")}
    return PassRule(weights=Weights(policy.exam_weights), **values)


def guideline_in_force(project_id: int) -> Guideline:
    return Guideline.objects.filter(project=project_id).latest("version")


@transaction.atomic
def guideline_publish(
    *,
    project: Project,
    actor: User | None,
    body: str,
    levels: list[str],
    changes: str = "",
    examples: Iterable[Example] | None = None,
) -> Guideline:
    """Put a new version of the guideline in force; with the examples of the last one unless others are given."""
    Project.objects.select_for_update().get(pk=project.pk)
    last = Guideline.objects.filter(project=project).order_by("-version").first()
    version = last.version + 1 if last else 1
    made = Guideline.objects.create(
        project=project, version=version, body=body, levels=levels, changes=changes, created_by=actor
    )
    if examples is None:
        examples = [Example(*row) for row in last.examples.values_list("grade", "query_text", "moment")] if last else []
    GuidelineExample.objects.bulk_create(
        GuidelineExample(guideline=made, grade=grade, query_text=text, moment_id=moment)
        for grade, text, moment in examples
    )
    audit_record(project=project, actor=actor, action="guideline.publish", subject=made.uuid, version=made.version)
    return made


@transaction.atomic
def policy_publish(*, project: Project, actor: User | None, seen: int | None = None, **values: Any) -> Policy:
    """Put a new version of the policy in force; what ``values`` leaves out stays as it was.

    Where nothing differs the version in force stays. ``seen`` is the version that whoever decides has looked at.

    Raises:
        PolicyStale: there is a newer version than the one seen.
        GateTooShort: the gate would be open with fewer questions than it asks.
    """
    Project.objects.select_for_update().get(pk=project.pk)
    last = Policy.objects.filter(project=project).order_by("-version").first()
    if last is None:
        kept: dict[str, Any] = {}
    else:
        if seen not in (None, last.version):
            raise PolicyStale(f"Version {last.version} was saved meanwhile; look at it, then decide anew.")
        kept = {name: getattr(last, name) for name in POLICY_VALUES}
        values = {name: value for name, value in values.items() if value != kept[name]}
        if not values:
            return last
    made = Policy(project=project, version=last.version + 1 if last else 1, created_by=actor, **{**kept, **values})
    questions = GateQuestion.objects.filter(project=project, is_retired=False).count()
    if made.gate_is_open and questions < made.gate_questions:
        written = f"{questions} {'is' if questions == 1 else 'are'} written"
        raise GateTooShort(f"The gate asks {made.gate_questions} questions, and {written}. Write more, or ask fewer.")
    if last and "time_zone" in values and Judgment.objects.filter(policy__project=project).exists():
        raise NotPossibleNow("Hours are counted by days of the time zone, so it stays once there are judgments.")
    made.save(force_insert=True)
    facts = {"version": made.version, **values}
    audit_record(project=project, actor=actor, action="policy.publish", subject=project.uuid, **facts)
    if last and made.extend_automatically and not last.extend_automatically:
        send_on_commit(REVIEW_TASK, project.pk)
    return made
