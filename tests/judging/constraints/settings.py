"""Leads' settings, annotators' confirmations: versions, examples, screening, policy numbers."""

from collections.abc import Callable

from judging.guidelines.services import draft_open
from judging.models import GateAttempt, GateQuestion, GuidelineConfirmation, GuidelineDraftExample, GuidelineExample
from tests.factories import NOW, MembershipFactory, MomentFactory, ProjectFactory, annotator
from tests.judging.constraints.policies import example, first_guideline, policy
from tests.judging.constraints.writes import More, Refused, Write, again, change
from tests.judging.settings import screening_attempt, screening_question


def question() -> GateQuestion:
    return screening_question(ProjectFactory())


def attempt() -> GateAttempt:
    row = question()
    return screening_attempt(annotator(row.project), [row])


def answered_attempt() -> GateAttempt:
    row = attempt()
    GateAttempt.objects.filter(pk=row.pk).update(answers=[0], score=1, answered_at=NOW)
    return row


def two_open_attempts() -> Write:
    first_attempt = attempt()
    return lambda: GateAttempt.objects.create(
        project=first_attempt.project, annotator=first_attempt.annotator, asked=first_attempt.asked, passing=1
    )


def confirmation() -> GuidelineConfirmation:
    return GuidelineConfirmation.objects.get(annotator=MembershipFactory().user)


def confirmed_twice() -> Write:
    first_confirmation = confirmation()
    return lambda: GuidelineConfirmation.objects.create(
        guideline=first_confirmation.guideline, annotator=first_confirmation.annotator
    )


def confirmed_example() -> GuidelineExample:
    guideline = first_guideline()
    row = example(guideline=guideline)
    annotator(guideline.project)
    return row


def example_of_a_confirmed_version() -> Write:
    first_confirmation = confirmation()
    return lambda: example(guideline=first_confirmation.guideline)


def draft_example(**values: object) -> GuidelineDraftExample:
    draft = values.pop("draft", None) or draft_open(project=ProjectFactory(), actor=None)
    fields = {"grade": 1, "query_text": "q", "moment": MomentFactory(), **values}
    return GuidelineDraftExample.objects.create(draft=draft, **fields)


def options(texts: object, correct: int = 0) -> Callable[[], Write]:
    return change(question, options=texts, correct=correct)


REFUSED: Refused = {
    "policy_gate_can_be_passed": change(policy, gate_passing=13),
    "policy_exam_can_be_passed": change(policy, exam_kappa=1.1),
    "policy_exam_conditions_are_bounds": change(policy, exam_levels=6),
    "policy_gold_is_the_lesser_part": change(policy, gold_percent=51),
    "policy_pay_is_an_amount": change(policy, pay_rate=-1),
    "policy_alerts_are_thresholds": change(policy, alert_gold=1.1),
    "guideline_confirmation_once_per_annotator": confirmed_twice,
    "guideline_draft_example_once_per_grade": again(
        draft_example, draft=lambda: draft_open(project=ProjectFactory(), actor=None)
    ),
    "guideline_draft_example_grade_from_0_to_4": change(draft_example, grade=5),
    "gate_question_says_something": change(question, description=""),
    "gate_question_has_2_to_6_options": options(["only"]),
    "gate_question_has_a_right_option": change(question, correct=3),
    "gate_attempt_one_at_a_time": two_open_attempts,
    "gate_attempt_answered_has_its_score": change(attempt, score=1),
}
MORE: More = {
    "nobody is asked among seven options": ("gate_question_has_2_to_6_options", options(list("abcdefg"))),
    "an option says something": ("gate_question_has_2_to_6_options", options(["a", ""])),
    "an option is a text": ("gate_question_has_2_to_6_options", options(["a", 2])),
    "options are a list": ("gate_question_has_2_to_6_options", options({"a": "b"})),
    "the kappa of the pass rule is a known one": ("policy_exam_can_be_passed", change(policy, exam_weights="cubic")),
    "a lower bound is a kappa": ("policy_exam_conditions_are_bounds", change(policy, exam_kappa_low=1.1)),
    "a bias is a distance of grades": ("policy_exam_conditions_are_bounds", change(policy, exam_bias=-0.1)),
    "at least one level is told apart": ("policy_exam_conditions_are_bounds", change(policy, exam_levels=0)),
    "a gate asks something": ("policy_gate_can_be_passed", change(policy, gate_questions=0, gate_passing=0)),
    "a currency has three letters": ("policy_pay_is_an_amount", change(policy, pay_currency="S$")),
    "a published guideline does not change": ("are kept as they are", change(first_guideline, body="other")),
    "a published guideline stays": ("are kept as they are", lambda: first_guideline().delete),
    "a confirmation stays": ("are kept as they are", lambda: confirmation().delete),
    "examples of a confirmed guideline do not change": ("stay as they are", change(confirmed_example, grade=0)),
    "examples of a confirmed guideline stay": ("stay as they are", lambda: confirmed_example().delete),
    "a confirmed guideline gets no example": ("stay as they are", example_of_a_confirmed_version),
    "answers at the gate are final": ("stays what it was", change(answered_attempt, score=0)),
    "what was asked at the gate stays": ("stays what it was", change(attempt, asked=[])),
    "attempts at the gate stay": ("are kept as they are", lambda: attempt().delete),
}
TRIGGERS: set[str] = {
    "gate_attempt_is_kept",
    "gate_attempt_stays",
    "guideline_confirmation_is_kept",
    "guideline_example_is_kept",
    "guideline_is_kept",
}
