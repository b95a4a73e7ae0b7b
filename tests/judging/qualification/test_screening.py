"""The multiple-choice test: questions, attempts, answers."""

import pytest

from accounts.models import Project, User
from core.models import AuditEvent
from judging.exceptions import AnswersIncomplete, NotPossibleNow, ScreeningClosed, ScreeningTooShort
from judging.guidelines.selectors import policy_in_force
from judging.guidelines.services import policy_publish, screening_set
from judging.models import Policy, ScreeningAttempt
from judging.qualification.services.onboarding import (
    screening_attempt_answer,
    screening_attempt_start,
    screening_question_retire,
    screening_question_save,
)
from tests.factories import MembershipFactory, MomentFactory, ProjectFactory, lead
from tests.judging.exams import status_of
from tests.judging.settings import screening_question

pytestmark = pytest.mark.django_db
WRITTEN = 4


@pytest.fixture
def project() -> Project:
    """Two questions of four are asked; both answers must be right; two attempts."""
    project: Project = ProjectFactory()
    for number in range(WRITTEN):
        screening_question(project, description=f"question {number}")
    policy_publish(
        project=project,
        actor=None,
        screening_questions=2,
        screening_passing=2,
        screening_attempts=2,
        screening_is_open=True,
    )
    return project


@pytest.fixture
def person(project: Project) -> User:
    return MembershipFactory(project=project, status="candidate").user  # type: ignore[no-any-return]


def answer(attempt: ScreeningAttempt, *, right: bool = True) -> ScreeningAttempt:
    answers = [(row["correct"] + (not right)) % len(row["options"]) for row in attempt.questions]
    return screening_attempt_answer(attempt=attempt.uuid, annotator=attempt.annotator, answers=answers)


class TestAttempts:
    def test_passing_leads_to_training_and_sending_again_changes_nothing(self, project: Project, person: User) -> None:
        attempt = screening_attempt_start(project=project, annotator=person)
        assert screening_attempt_start(project=project, annotator=person) == attempt
        assert all(row["options"][row["correct"]] == "right" for row in attempt.questions)
        assert all(sorted(row["options"]) == ["right", "worse", "wrong"] for row in attempt.questions)
        result = answer(attempt)
        assert (result.score, result.passed) == (2, True)
        assert status_of(person) == "training"
        again = answer(attempt, right=False)
        assert (again.score, again.answers, again.answered_at) == (2, result.answers, result.answered_at)
        assert AuditEvent.objects.get(action="gate.answer").data == {"score": 2, "passing": 2, "passed": True}

    def test_a_second_attempt_asks_others_and_there_is_no_third(self, project: Project, person: User) -> None:
        question_ids = set()
        for _ in range(2):
            attempt = screening_attempt_start(project=project, annotator=person)
            question_ids |= {row["question"] for row in attempt.questions}
            answer(attempt, right=False)
        assert len(question_ids) == WRITTEN
        assert status_of(person) == "candidate"
        with pytest.raises(ScreeningClosed, match="Ask your lead"):
            screening_attempt_start(project=project, annotator=person)

    def test_answers_that_were_not_offered(self, project: Project, person: User) -> None:
        attempt = screening_attempt_start(project=project, annotator=person)
        for answers in ([0], [0, None], [0, 3], [-1, 0], [0, 0, 0]):
            with pytest.raises(AnswersIncomplete):
                screening_attempt_answer(attempt=attempt.uuid, annotator=person, answers=answers)
        assert ScreeningAttempt.objects.get().answered_at is None

    def test_a_changed_policy_or_question_leaves_an_open_attempt_as_it_is(self, project: Project, person: User) -> None:
        attempt = screening_attempt_start(project=project, annotator=person)
        for question in project.screening_questions.all():
            values = {"description": "other", "options": ["a", "b"], "correct": 1}
            screening_question_save(
                project=project, question=question, actor=lead(project), moment=question.moment, **values
            )
        policy_publish(project=project, actor=None, screening_passing=1)
        result = answer(attempt)
        assert (result.passing, result.passed) == (2, True)

    def test_only_candidates_take_it_while_it_is_open(self, project: Project, person: User) -> None:
        for step in ("training", "qualified", "left"):
            with pytest.raises(ScreeningClosed):
                screening_attempt_start(project=project, annotator=MembershipFactory(project=project, status=step).user)
        screening_set(project=project, actor=lead(project), is_open=False)
        with pytest.raises(ScreeningClosed):
            screening_attempt_start(project=project, annotator=person)


class TestQuestions:
    def test_a_screening_with_too_few_questions_is_not_opened(self, project: Project) -> None:
        screening_set(project=project, actor=lead(project), is_open=False)
        policy_publish(project=project, actor=None, screening_questions=WRITTEN + 1)
        with pytest.raises(ScreeningTooShort, match="asks 5 questions, and 4 are written"):
            screening_set(project=project, actor=lead(project), is_open=True)
        assert not policy_in_force(project.pk).screening_is_open

    def test_an_open_screening_has_as_many_questions_as_it_asks(self, project: Project) -> None:
        actor, questions = lead(project), list(project.screening_questions.all())
        for question in questions[:2]:
            screening_question_retire(question=question, actor=actor, is_retired=True)
        with pytest.raises(ScreeningTooShort):
            screening_question_retire(question=questions[2], actor=actor, is_retired=True)
        screening_question_retire(question=questions[0], actor=actor, is_retired=False)
        assert project.screening_questions.filter(is_retired=False).count() == WRITTEN - 1
        assert Policy.objects.filter(project=project).latest("version").screening_is_open

    def test_a_question_has_a_clip_of_the_project(self, project: Project) -> None:
        with pytest.raises(NotPossibleNow):
            screening_question_save(
                project=project,
                actor=lead(project),
                moment=MomentFactory(),
                description="?",
                options=["a", "b"],
                correct=0,
            )
