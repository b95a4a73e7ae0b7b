"""The versions in force."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from django.db import transaction

from accounts.models import Project, User
from core.audit import audit_record
from core.messages import send_on_commit
from core.sql import row_first
from judging.exceptions import NotPossibleNow, PolicyStale, ScreeningTooShort
from judging.guidelines.models import POLICY_VALUES
from judging.models import GateQuestion, Guideline, GuidelineExample, Judgment, Policy
from judging.qualification.rules.passing import PassRule
from judging.quality.rules.agreement import Weights

REVIEW_TASK = "judging.tasks.reviews_decide"


class Example(NamedTuple):
    """An example of a grade: the text of a query and the id of a moment."""

    grade: int
    query_text: str
    moment_id: int


def policy_in_force(project_id: int) -> Policy:
    """Return the latest version. Raises Policy.DoesNotExist where there is no such project."""
    policy = row_first(Policy, "WHERE project_id = %s ORDER BY version DESC LIMIT 1", project_id)
    if policy is None:
        raise Policy.DoesNotExist
    return policy


def pass_rule_of(policy: Policy) -> PassRule:
    """Return this version's rule for passing an exam."""
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
    guideline = Guideline.objects.create(
        project=project, version=version, body=body, levels=levels, changes=changes, created_by=actor
    )
    if examples is None:
        examples = [Example(*row) for row in last.examples.values_list("grade", "query_text", "moment")] if last else []
    GuidelineExample.objects.bulk_create(
        GuidelineExample(guideline=guideline, grade=grade, query_text=text, moment_id=moment)
        for grade, text, moment in examples
    )
    audit_record(
        project=project, actor=actor, action="guideline.publish", subject=guideline.uuid, version=guideline.version
    )
    return guideline


@transaction.atomic
def policy_publish(*, project: Project, actor: User | None, seen_version: int | None = None, **values: Any) -> Policy:
    """Put a new version of the policy in force; what ``values`` leaves out stays as it was.

    Where nothing differs the version in force stays. ``seen_version`` is the one that whoever decides has looked at.

    Raises:
        PolicyStale: there is a newer version than the one seen.
        ScreeningTooShort: the screening test would be open with fewer questions than it asks.
    """
    Project.objects.select_for_update().get(pk=project.pk)
    last = Policy.objects.filter(project=project).order_by("-version").first()
    current_values = {name: getattr(last, name) for name in POLICY_VALUES} if last else {}
    if last:
        if seen_version not in (None, last.version):
            raise PolicyStale(f"Version {last.version} was saved meanwhile; look at it, then decide anew.")
        values = {name: value for name, value in values.items() if value != current_values[name]}
        if not values:
            return last
    policy = Policy(
        project=project, version=last.version + 1 if last else 1, created_by=actor, **{**current_values, **values}
    )
    questions = GateQuestion.objects.filter(project=project, is_retired=False).count()
    if policy.gate_is_open and questions < policy.gate_questions:
        words = f"{questions} {'is' if questions == 1 else 'are'} written"
        raise ScreeningTooShort(
            f"The screening test asks {policy.gate_questions} questions, and {words}. Write more, or ask fewer."
        )
    if last and "time_zone" in values and Judgment.objects.filter(policy__project=project).exists():
        raise NotPossibleNow("Hours are counted by days of the time zone, so it stays once there are judgments.")
    policy.save(force_insert=True)
    facts = {"version": policy.version, **values}
    audit_record(project=project, actor=actor, action="policy.publish", subject=project.uuid, **facts)
    if last and policy.extend_automatically and not last.extend_automatically:
        send_on_commit(REVIEW_TASK, project.pk)
    return policy
