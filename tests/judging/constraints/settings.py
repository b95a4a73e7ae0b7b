"""Leads' settings, annotators' confirmations: versions, examples, screening, policy numbers."""

from judging.guidelines.services import draft_open
from judging.models import (
    GuidelineConfirmation,
    GuidelineDraftExample,
    GuidelineExample,
    ScreeningAttempt,
    ScreeningQuestion,
)
from tests.factories import NOW, GuidelineFactory, MembershipFactory, MomentFactory, ProjectFactory, annotator
from tests.judging.constraints.policies import example, first_guideline, policy
from tests.judging.constraints.writes import (
    More,
    Prepare,
    Refused,
    Write,
    adding,
    again,
    change,
    deletion,
    maker,
    twice,
)
from tests.judging.settings import screening_attempt, screening_question


def question() -> ScreeningQuestion:
    return screening_question(ProjectFactory())


def attempt() -> ScreeningAttempt:
    row = question()
    return screening_attempt(annotator(row.project), [row])


def two_open_attempts() -> Write:
    first = attempt()
    return lambda: ScreeningAttempt.objects.create(
        project=first.project, annotator=first.annotator, questions=first.questions, passing=1
    )


def answered_attempt() -> ScreeningAttempt:
    row = attempt()
    ScreeningAttempt.objects.filter(pk=row.pk).update(answers=[0], score=1, answered_at=NOW)
    return row


def confirmation(**values: object) -> GuidelineConfirmation:
    if values:
        return GuidelineConfirmation.objects.create(**values)
    return GuidelineConfirmation.objects.get(annotator=MembershipFactory().user)


def confirmed_example() -> GuidelineExample:
    row: GuidelineExample = example()
    annotator(row.guideline.project)
    return row


def example_of_a_confirmed_version() -> Write:
    first_confirmation = confirmation()
    return lambda: example(guideline=first_confirmation.guideline)


def guideline_of_four_levels() -> Write:
    project = ProjectFactory()
    return lambda: GuidelineFactory(project=project, version=2, levels=list("abcd"))


def draft() -> object:
    return draft_open(project=ProjectFactory(), actor=None)


def options(texts: object, correct: int = 0) -> Prepare:
    return change(question, options=texts, correct=correct)


draft_example = maker(GuidelineDraftExample, draft=draft, grade=1, query_text="q", moment=MomentFactory)
REFUSED: Refused = {
    "policy_screening_can_be_passed": change(policy, screening_passing=13),
    "policy_exam_can_be_passed": change(policy, exam_kappa=1.1),
    "policy_exam_conditions_are_bounds": change(policy, exam_levels=11),
    "policy_gold_is_the_lesser_part": change(policy, gold_percent=51),
    "policy_pay_is_an_amount": change(policy, pay_rate=-1),
    "policy_alerts_are_thresholds": change(policy, alert_gold=1.1),
    "guideline_confirmation_once_per_annotator": twice(confirmation, "guideline", "annotator"),
    "guideline_draft_example_once_per_grade": again(draft_example, draft=draft),
    "guideline_draft_example_grade_from_0_to_9": change(draft_example, grade=10),
    "screening_question_says_something": change(question, description=""),
    "screening_question_has_2_to_6_options": options(["only"]),
    "screening_question_has_a_right_option": change(question, correct=3),
    "screening_attempt_one_at_a_time": two_open_attempts,
    "screening_attempt_answered_has_its_score": change(attempt, score=1),
}
MORE: More = {
    "screening_question_has_2_to_6_options": {
        "nobody is asked among seven options": options(list("abcdefg")),
        "an option says something": options(["a", ""]),
        "an option is a text": options(["a", 2]),
        "options are a list": options({"a": "b"}),
    },
    "policy_exam_conditions_are_bounds": {
        "a lower bound is a kappa": change(policy, exam_kappa_low=1.1),
        "a bias is a distance of grades": change(policy, exam_bias=-0.1),
        "a bias is within the longest scale": change(policy, exam_bias=9.1),
        "at least one level is told apart": change(policy, exam_levels=0),
    },
    "policy_exam_can_be_passed": {"the kappa of the pass rule is a known one": change(policy, exam_weights="cubic")},
    "policy_screening_can_be_passed": {
        "a screening test asks something": change(policy, screening_questions=0, screening_passing=0)
    },
    "policy_pay_is_an_amount": {"a currency has three letters": change(policy, pay_currency="S$")},
    "are kept as they are": {
        "a published guideline does not change": change(first_guideline, body="other"),
        "a published guideline stays": deletion(first_guideline),
        "a confirmation stays": deletion(confirmation),
        "attempts at the screening test stay": deletion(attempt),
    },
    "stay as they are": {
        "examples of a confirmed guideline do not change": change(confirmed_example, grade=0),
        "examples of a confirmed guideline stay": deletion(confirmed_example),
        "a confirmed guideline gets no example": example_of_a_confirmed_version,
    },
    "has not one level for each grade": {"a guideline has a level for each grade": guideline_of_four_levels},
    "example of grade .* is beyond the scale": {"an example is of the scale": adding(example, grade=5)},
    "stays what it was": {
        "answers at the screening test are final": change(answered_attempt, score=0),
        "what was asked at the screening test stays": change(attempt, questions=[]),
    },
}
TRIGGERS = {
    *("screening_attempt_is_kept", "screening_attempt_stays", "guideline_confirmation_is_kept"),
    *("guideline_example_is_kept", "guideline_is_kept"),
    *("guideline_has_a_level_for_each_grade", "example_grade_is_of_the_scale"),
}
