"""Leads' settings, for tests: pairs drawn for training, screening questions, and the forms of their pages."""

from typing import Any

from accounts.models import Project, User
from judging.guidelines.models import POLICY_VALUES
from judging.guidelines.selectors import policy_in_force
from judging.models import KnownPair, ScreeningAttempt, ScreeningQuestion
from tests.factories import MomentFactory, QueryFactory


def drawn_pair(project: Project, **values: Any) -> KnownPair:
    """A pair drawn for training, of a new training query."""
    query = values.pop("query", None) or QueryFactory(project=project, split="train")
    moment = MomentFactory(video__corpus=project.dataset.corpus)
    return KnownPair.objects.create(project=project, query=query, moment=moment, source="lead", **values)


def screening_question(project: Project, **values: Any) -> ScreeningQuestion:
    moment = values.pop("moment", None) or MomentFactory(video__corpus=project.dataset.corpus)
    fields = {"description": "What happens?", "options": ["right", "wrong", "worse"], "correct": 0, **values}
    return ScreeningQuestion.objects.create(project=project, moment=moment, **fields)


def screening_attempt(annotator: User, questions: list[ScreeningQuestion], **values: Any) -> ScreeningAttempt:
    """An attempt that asks these, options in the order written."""
    question_data = [
        {
            "question": str(row.uuid),
            "moment": str(row.moment.uuid),
            "description": row.description,
            "options": row.options,
            "correct": row.correct,
        }
        for row in questions
    ]
    fields = {"passing": len(questions), **values}
    return ScreeningAttempt.objects.create(
        project=questions[0].project, annotator=annotator, questions=question_data, **fields
    )


def guideline_form(**values: str) -> dict[str, str]:
    return {"body": "# New", "changes": "", **{f"level_{grade}": f"Level {grade}" for grade in range(5)}, **values}


def policy_form(project: Project, **values: object) -> dict[str, object]:
    """The page of the policy in force as its browser would send it, with other ``values``."""
    in_force = policy_in_force(project.pk)
    form = {name: getattr(in_force, name) for name in POLICY_VALUES} | {"version": in_force.version} | values
    return {name: value for name, value in form.items() if value is not False}
