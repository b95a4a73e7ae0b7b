"""Which version of the guideline somebody has read, and what is new since."""

from accounts.models import Membership, Project, User
from judging.guidelines.rules import Line, changes
from judging.models import Guideline, GuidelineDraft


def guideline_confirmed(*, project: Project, annotator: User) -> Guideline | None:
    """The newest version that the annotator has confirmed."""
    confirmed = Guideline.objects.filter(project=project, confirmations__annotator=annotator)
    return confirmed.order_by("-version").first()


def guideline_lines(version: Guideline | GuidelineDraft) -> list[str]:
    """Everything a version says, line by line: its text, the levels, the examples; clips by no telling name."""
    levels = [f"{grade}: {line}" for grade, line in reversed(list(enumerate(version.levels)))]
    shown = version.examples.select_related("moment")
    examples = [f"Example of {row.grade}: clip {str(row.moment.uuid)[:8]} for “{row.query_text}”" for row in shown]
    return [*version.body.splitlines(), *levels, *examples]


def guideline_changes(before: Guideline, after: Guideline | GuidelineDraft) -> list[Line]:
    return changes(guideline_lines(before), guideline_lines(after))


def changes_said(project: Project, *, after: int) -> list[Guideline]:
    """Versions newer than ``after`` whose lead said what is new, oldest first."""
    return list(project.guidelines.filter(version__gt=after).exclude(changes="").order_by("version"))


def annotators_to_confirm(project: Project) -> int:
    """How many people a new version would stop until they have read it."""
    return project.memberships.filter(
        role=Membership.Role.ANNOTATOR, standing=Membership.Standing.QUALIFIED, user__is_active=True
    ).count()
