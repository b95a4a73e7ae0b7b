"""An exam is begun, graded, handed in or closed twice at the same instant."""

from functools import partial

import pytest

from accounts.models import Project
from judging.exceptions import AttemptOver
from judging.models import Exam, ExamAttempt, ExamGrade, KnownPair
from judging.qualification.selectors.exam_attempts import attempt_by_id
from judging.qualification.services import exam_attempts, exams
from judging.qualification.services.exams import exam_close
from tests.factories import NOW, lead
from tests.judging.concurrency.meeting import CallSite, Meet
from tests.judging.exams import EVERYBODY, cohort_exam, examinee, give, hand_in, pairs_in_order, sit, start, tutorial

pytestmark = pytest.mark.django_db(transaction=True)
STARTING: CallSite = (exam_attempts, "_create")
GRADING: CallSite = (exam_attempts, "_add")  # allowed, not written yet
CLOSING: CallSite = (exams, "audit_record")  # the truth is set, nothing is committed


def three_done(project: Project) -> Exam:
    exam = cohort_exam(project, queries=1, depth=1)
    for _ in range(3):
        sit(examinee(project), project, lambda pair: 2)
    return exam


@pytest.mark.parametrize("purpose", ["exam", "tutorial"])
def test_two_tabs_start_one_attempt(meet: Meet, project: Project, purpose: str) -> None:
    user = examinee(project, "exam" if purpose == "exam" else "training")
    cohort_exam(project)
    tutorial(project)
    begin = partial(start, user, project, purpose)
    first, second = meet(STARTING, begin, begin)
    assert first == second
    assert ExamAttempt.objects.count() == 1


def test_two_leads_close_at_once(meet: Meet, project: Project) -> None:
    exam = three_done(project)
    first, second = (partial(exam_close, exam=exam, actor=lead(project)) for _ in range(2))
    closed, again = meet(CLOSING, first, second)
    assert closed.closed_by == again.closed_by
    assert set(ExamAttempt.objects.values_list("state", flat=True)) == {"done"}


def test_a_grade_before_the_closing_counts(meet: Meet, project: Project) -> None:
    exam = three_done(project)
    user = examinee(project)
    pair = pairs_in_order(start(user, project))[0]
    grade = partial(give, user, pair, 4)
    close = partial(exam_close, exam=exam, actor=lead(project), confirmed=EVERYBODY)
    meet(GRADING, grade, close)
    assert ExamAttempt.objects.get(annotator=user).state == "feedback"
    assert KnownPair.objects.get().truth == 2


def test_a_grade_that_comes_while_it_closes_is_refused(meet: Meet, project: Project) -> None:
    exam = three_done(project)
    user = examinee(project)
    pair = pairs_in_order(start(user, project))[0]
    grade = partial(give, user, pair, 4)
    close = partial(exam_close, exam=exam, actor=lead(project), confirmed=EVERYBODY)
    _, refusal = meet(CLOSING, close, grade)
    assert isinstance(refusal, AttemptOver)
    assert ExamAttempt.objects.get(annotator=user).state == "missed"
    assert ExamGrade.objects.count() == 3


def test_handing_in_meets_the_closing(meet: Meet, project: Project) -> None:
    exam = three_done(project)
    user = examinee(project)
    attempt = start(user, project)
    give(user, pairs_in_order(attempt)[0], 2)
    close = partial(exam_close, exam=exam, actor=lead(project), confirmed=EVERYBODY)
    _, late = meet(CLOSING, close, partial(hand_in, attempt, NOW))
    assert late.state == "done"
    assert ExamAttempt.objects.get(annotator=user).state == "done"


def test_the_same_form_twice_at_once_is_one_grade(meet: Meet, project: Project) -> None:
    pairs = tutorial(project)
    user = examinee(project, "training")
    attempt = start(user, project, "tutorial")
    key = attempt_by_id(attempt_id=attempt.pk)
    press = partial(give, user, pairs[0], 3, key=key.key_of(key.pairs[0]))
    meet(GRADING, press, press)
    assert ExamGrade.objects.get().grade == 3
