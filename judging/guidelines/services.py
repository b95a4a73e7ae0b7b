"""Policy and guideline, published as versions; the guideline is prepared as a draft, and confirmed by annotators."""

import logging
import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from django.db import transaction

from accounts.models import Project, User
from annotation.models import Moment
from core.audit import audit_record
from core.exceptions import NotPossible
from core.messages import send_on_commit
from judging.exceptions import GuidelineStale, NotPossibleNow, PolicyStale, ScreeningTooShort, grade_known_or_refused
from judging.guidelines.models import POLICY_VALUES, PUBLISHED
from judging.guidelines.selectors import guideline_in_force, guideline_text, levels_of
from judging.models import (
    Guideline,
    GuidelineConfirmation,
    GuidelineDraft,
    GuidelineDraftExample,
    GuidelineExample,
    Judgment,
    Policy,
    ScreeningQuestion,
)
from judging.qualification.rules.onboarding import may_confirm
from judging.qualification.selectors.exam_attempts import onboarding_facts
from judging.qualification.services.onboarding import onboarding_advance, preview_or_refused
from judging.work.rules import TVR_RANKING

logger = logging.getLogger(__name__)
REVIEW_TASK = "judging.tasks.reviews_decide"


class Example(NamedTuple):
    """An example of a grade: the text of a query and the id of a moment."""

    grade: int
    query_text: str
    moment_id: int


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
    """Put a new version of the guideline in force; with the examples of the last one unless others are given. Raises
    NotPossible where it has not one line for each grade."""
    top_grade = Project.objects.select_for_update().get(pk=project.pk).top_grade
    if len(levels) != top_grade + 1:
        raise NotPossible(f"Say in one line each what the grades 0 to {top_grade} mean.")
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


def guideline_begin(*, project: Project, actor: User | None) -> Guideline:
    """Put the text and the levels in force that every project of its scale begins with."""
    body, levels = guideline_text(top_grade=project.top_grade), levels_of(project.top_grade)
    return guideline_publish(project=project, actor=actor, body=body, levels=levels, examples=[])


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
    questions = ScreeningQuestion.objects.filter(project=project, is_retired=False).count()
    if policy.screening_is_open and questions < policy.screening_questions:
        words = f"{questions} {'is' if questions == 1 else 'are'} written"
        raise ScreeningTooShort(
            f"The screening test asks {policy.screening_questions} questions, and {words}. Write more, or ask fewer."
        )
    if last and "time_zone" in values and Judgment.objects.filter(policy__project=project).exists():
        raise NotPossibleNow("Hours are counted by days of the time zone, so it stays once there are judgments.")
    policy.save(force_insert=True)
    facts = {"version": policy.version, **{PUBLISHED.get(name, name): value for name, value in values.items()}}
    audit_record(project=project, actor=actor, action="policy.publish", subject=project.uuid, **facts)
    if last and policy.extend_automatically and not last.extend_automatically:
        send_on_commit(REVIEW_TASK, project.pk)
    return policy


def policy_begin(*, project: Project, actor: User | None) -> Policy:
    """Put the values in force that every project of its scale begins with."""
    return policy_publish(project=project, actor=actor, **policy_defaults(project.top_grade))


def policy_defaults(top_grade: int) -> dict[str, Any]:
    """Return the values with which a policy of such a scale begins, where they are not the model's defaults."""
    return scaled_values(DEFAULTS, from_top=TVR_RANKING.top_grade, to_top=top_grade)


IN_GRADES = ("extend_from_mean", "exam_bias", "alert_bias")
DEFAULTS = Policy()


def scaled_values(policy: Policy, *, from_top: int, to_top: int) -> dict[str, Any]:
    """Return the values of a policy that depend on the scale, for one with another top grade.

    Those in grades keep their share of it, or its whole where they ask for nothing. The bias of exams grows with it to
    the paper's scale alone: a bias of 1 lets through who grades one too high always. A run of equal grades that makes
    an alert stays as improbable by chance. As many levels must be distinguished, if there are so many.
    """
    ratio, bias_ratio = to_top / from_top, _least_scale(to_top) / _least_scale(from_top)
    ratios = {**dict.fromkeys(IN_GRADES, ratio), "exam_bias": bias_ratio}
    values = {
        name: float(to_top) if getattr(policy, name) >= from_top else round(getattr(policy, name) * ratios[name], 4)
        for name in IN_GRADES
    }
    values["alert_run"] = round(policy.alert_run * math.log(from_top + 1) / math.log(to_top + 1))
    asks_all = policy.exam_levels == min(DEFAULTS.exam_levels, from_top + 1)
    values["exam_levels"] = min(DEFAULTS.exam_levels if asks_all else policy.exam_levels, to_top + 1)
    return values


def _least_scale(top_grade: int) -> int:
    return min(top_grade, TVR_RANKING.top_grade)


def screening_set(*, project: Project, actor: User, is_open: bool) -> Policy:
    """Put the test before training, or remove it. Raises ScreeningTooShort: there are fewer questions than it asks."""
    return policy_publish(project=project, actor=actor, screening_is_open=is_open)


@transaction.atomic
def draft_open(*, project: Project, actor: User | None) -> GuidelineDraft:
    """The version being prepared; new ones begin as the version in force, examples included."""
    Project.objects.select_for_update().get(pk=project.pk)
    draft = GuidelineDraft.objects.filter(project=project).select_related("base").first()
    if draft:
        return draft
    base = guideline_in_force(project.pk)
    draft = GuidelineDraft.objects.create(
        project=project, base=base, body=base.body, levels=base.levels, edited_by=actor
    )
    GuidelineDraftExample.objects.bulk_create(
        GuidelineDraftExample(
            draft=draft, grade=example.grade, query_text=example.query_text, moment_id=example.moment_id
        )
        for example in base.examples.all()
    )
    return draft


@transaction.atomic
def draft_save(
    *, project: Project, actor: User | None, body: str, levels: Sequence[str], changes: str
) -> GuidelineDraft:
    draft = draft_open(project=project, actor=actor)
    draft.body, draft.levels, draft.changes, draft.edited_by = body, list(levels), changes, actor
    draft.save()
    return draft


@transaction.atomic
def draft_discard(*, project: Project) -> bool:
    """Throw away what was prepared; False when nothing was."""
    return bool(GuidelineDraft.objects.filter(project=project).delete()[0])


@transaction.atomic
def draft_example_set(
    *, project: Project, actor: User | None, grade: int, query_text: str, moment: Moment
) -> GuidelineDraft:
    """Show this moment for the grade, in the version being prepared, instead of the one there was. Raises
    NotPossibleNow: nobody could watch the moment; GradeUnknown: the project has no such grade."""
    preview_or_refused(project, moment)
    draft = draft_open(project=project, actor=actor)  # it locks the project
    grade_known_or_refused(grade, Project.objects.get(pk=project.pk).top_grade)
    GuidelineDraftExample.objects.update_or_create(
        draft=draft, grade=grade, defaults={"query_text": query_text, "moment": moment}
    )
    draft.edited_by = actor
    draft.save()
    return draft


@transaction.atomic
def draft_example_remove(*, project: Project, actor: User | None, grade: int) -> GuidelineDraft:
    draft = draft_open(project=project, actor=actor)
    draft.examples.filter(grade=grade).delete()
    draft.edited_by = actor
    draft.save()
    return draft


@transaction.atomic
def draft_publish(*, project: Project, actor: User | None) -> Guideline:
    """Put the version being prepared in force; who judges must confirm it first. Raises NotPossibleNow: nothing is
    prepared; GuidelineStale: another version was published since it was begun."""
    Project.objects.select_for_update().get(pk=project.pk)
    draft = GuidelineDraft.objects.filter(project=project).first()
    if draft is None:
        raise NotPossibleNow("There is no draft to publish; perhaps somebody just did.")
    if draft.base_id != guideline_in_force(project.pk).pk:
        raise GuidelineStale("Another version was published since this draft was begun. Discard it and begin anew.")
    examples = [Example(*row) for row in draft.examples.values_list("grade", "query_text", "moment")]
    version = guideline_publish(
        project=project, actor=actor, body=draft.body, levels=draft.levels, changes=draft.changes, examples=examples
    )
    draft.delete()
    return version


@transaction.atomic
def guideline_confirm(*, project: Project, annotator: User, version: int) -> GuidelineConfirmation:
    """Note that the annotator has read this version; repeating it changes nothing. Raises GuidelineStale: another
    version is in force; NotPossible: the test before the training comes first."""
    in_force = guideline_in_force(project.pk)
    if version != in_force.version:
        raise GuidelineStale(f"Version {in_force.version} of the guideline is in force by now. Read that one.")
    if not may_confirm(onboarding_facts(project_id=project.pk, annotator_id=annotator.pk)):
        raise NotPossible("First comes the multiple-choice test; then read the guideline and confirm it.")
    confirmed, is_new = GuidelineConfirmation.objects.get_or_create(guideline=in_force, annotator=annotator)
    if is_new:
        audit_record(
            project=project, actor=annotator, action="guideline.confirm", subject=in_force.uuid, version=version
        )
        logger.info("guideline %s of project %s confirmed by user %s", version, project.pk, annotator.pk)
        onboarding_advance(project=project, annotator=annotator)
    return confirmed
