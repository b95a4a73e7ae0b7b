"""Reports of an exam on its cohort and on each person, and who passes. Computed by tasks, from the rows.

A person's report is final with their result, or once it says that there is none (``no_result``); the cohort's holds
means over its people.
"""

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from django.db import transaction

from core.jobs import JobKind, durable
from judging.guidelines.selectors import pass_rule_of, policy_in_force
from judging.models import Exam, ExamAttempt, ExamGrade
from judging.qualification.rules import reports as rules
from judging.qualification.rules.passing import gives_no_result, passes, why, why_no_result
from judging.qualification.services.exam_attempts import ATTEMPT_REPORTS
from judging.qualification.services.onboarding import onboarding_advance
from judging.work.rules import rules_of

logger = logging.getLogger(__name__)
EXAM_REPORTS = JobKind(
    "judging.tasks.exam_report",
    lambda: Exam.objects.filter(kind=Exam.Kind.COHORT, state=Exam.State.CLOSED, report__exact={}),
    moved="closed_at",
)
Grades = dict[int, dict[int, int]]  # of each annotator by known pair
State = ExamAttempt.State
NO_RESULT = ExamAttempt.NO_RESULT


@durable(EXAM_REPORTS.task)
def exam_report(*, exam_id: int) -> Exam | None:
    """The report of a closed first cohort and of each of its people; those who are done learn their result."""
    exam = Exam.objects.select_related("project").filter(pk=exam_id).first()
    if exam is None or exam.state != Exam.State.CLOSED or exam.kind != Exam.Kind.COHORT:
        return exam
    open_attempt = list(exam.attempts.filter(state__in=[State.FEEDBACK, State.DONE]).order_by("pk"))
    left_out = {attempt.annotator_id for attempt in open_attempt if attempt.left_out}
    agreeing = exam.truth_rule == Exam.TruthRule.AGREEING
    first, _ = _grades(open_attempt)
    options: dict[str, Any] = {"seed": exam.seed, "left_out": left_out, "agreeing": agreeing}
    report = rules.cohort_report(first, rules_of(exam.project), **options)
    for attempt in open_attempt:
        _store(attempt, report["annotators"][str(attempt.annotator_id)])
    Exam.objects.filter(pk=exam.pk).update(report=report["cohort"])
    logger.info("exam %s reported", exam.pk)
    for attempt in open_attempt:
        if attempt.state == State.DONE:
            attempt_report(exam_attempt_id=attempt.pk)
    _summary_update(exam)  # for those whose result was known before
    exam.refresh_from_db()
    return exam


@durable(ATTEMPT_REPORTS.task)
def attempt_report(*, exam_attempt_id: int) -> ExamAttempt | None:
    """One person's report; once nothing is asked of them any more, their result, and the step that follows from it."""
    attempt = ExamAttempt.objects.select_related("exam", "project").filter(pk=exam_attempt_id).first()
    if attempt is None or attempt.exam is None or attempt.is_decided:
        return attempt
    if attempt.state not in (State.FEEDBACK, State.DONE):
        return attempt
    if attempt.exam.kind == Exam.Kind.COHORT and not attempt.report:
        exam_report(exam_id=attempt.exam.pk)
        attempt.refresh_from_db()
        return attempt
    part = _cohort_part(attempt) if attempt.exam.kind == Exam.Kind.COHORT else _later_exam_part(attempt)
    if attempt.state == State.DONE:
        _result_set(attempt, part)
    else:
        _store(attempt, part)
    _summary_update(attempt.exam)
    attempt.refresh_from_db()
    return attempt


def _later_exam_part(attempt: ExamAttempt) -> dict[str, Any]:
    first, final = _grades([attempt])
    known_pairs = attempt.project.known_pairs.filter(pk__in=attempt.known_ids, is_retired=False, truth__isnull=False)
    pairs: dict[int, Any] = dict(known_pairs.values_list("pk", "truth"))
    mine = {pair: grade for pair, grade in first[attempt.annotator_id].items() if pair in pairs}
    later = final[attempt.annotator_id] if attempt.state == State.DONE else None
    return rules.later_exam_report(mine, pairs, later, rules_of(attempt.project), seed=attempt.seed)


def _cohort_part(attempt: ExamAttempt) -> dict[str, Any]:
    """The part stored when the exam closed; once done with kappa after feedback, against the others as at first. A part
    that was stored before the pass rule could ask for more has those figures computed now."""
    if attempt.state != State.DONE:
        return dict(attempt.report)
    assert attempt.exam is not None
    first, final = _grades(attempt.exam.attempts.filter(state__in=[State.FEEDBACK, State.DONE]))
    left_out = set(attempt.exam.attempts.filter(left_out=True).values_list("annotator", flat=True))
    by_pair = rules.transposed({person: grades for person, grades in first.items() if person not in left_out})
    own = first[attempt.annotator_id]
    later = {**own, **final[attempt.annotator_id]}
    agreeing = attempt.exam.truth_rule == Exam.TruthRule.AGREEING
    scale = rules_of(attempt.project)
    truths = rules.compared_with(by_pair, attempt.annotator_id, later, scale, agreeing=agreeing)
    return {
        **rules.criteria(own, truths, scale),
        **attempt.report,
        "after_feedback": rules.against(later, truths, scale, seed=attempt.exam.seed),
    }


def _grades(attempts: Iterable[ExamAttempt]) -> tuple[Grades, Grades]:
    """First grades, and the newest ones after feedback, of each annotator; pairs that were taken out are left out."""
    annotators = {row.pk: row.annotator_id for row in attempts}
    first: Grades = {annotator: {} for annotator in annotators.values()}
    final: Grades = {annotator: {} for annotator in annotators.values()}
    rows = ExamGrade.objects.filter(exam_attempt__in=annotators, known_pair__is_retired=False).order_by("try_number")
    for attempt_id, known_id, regrade_number, grade in rows.values_list(
        "exam_attempt", "known_pair", "try_number", "grade"
    ):
        (final if regrade_number else first)[annotators[attempt_id]][known_id] = grade
    return first, final


def _store(attempt: ExamAttempt, part: Mapping[str, Any]) -> None:
    ExamAttempt.objects.filter(pk=attempt.pk, passed__isnull=True).exclude(report__has_key=NO_RESULT).update(
        report=part
    )


@transaction.atomic
def _result_set(attempt: ExamAttempt, part: dict[str, Any]) -> None:
    """Whether the person passes, by the policy in force, and why; qualified if so. Where too few pairs can be compared
    with an agreeing majority of the others there is no result, and no attempt is used."""
    row = ExamAttempt.objects.select_for_update(of=("self",)).select_related("exam").get(pk=attempt.pk)
    if row.is_decided:
        return
    graded, compared = part["n"], part["kappas"]["n"]
    agreeing = row.exam is not None and row.exam.truth_rule == Exam.TruthRule.AGREEING
    if agreeing and gives_no_result(graded, compared):
        row.report = {**part, NO_RESULT: True, "why": why_no_result(graded, compared)}
        row.save(update_fields=["report"])
        logger.info("exam attempt %s has no result: %s of %s pairs compared", row.pk, compared, graded)
        return
    policy = policy_in_force(row.project_id)
    rule = pass_rule_of(policy)
    row.passed = passes(part, rule)
    conditions = {
        "weights": rule.weights,
        "threshold": rule.kappa,
        "kappa_low": rule.kappa_low,
        "bias_limit": rule.bias,
        "least_levels": rule.levels,
    }
    row.report = {**part, **conditions, "why": why(part, rule), "policy": policy.version}
    row.save(update_fields=["report", "passed"])
    logger.info("exam attempt %s %s", row.pk, "passed" if row.passed else "failed")
    onboarding_advance(project=row.project_id, annotator=row.annotator_id)


@transaction.atomic
def _summary_update(exam: Exam) -> None:
    """Means over the people of the exam, as far as they are."""
    row = Exam.objects.select_for_update(no_key=True).get(pk=exam.pk)
    attempts = row.attempts.filter(left_out=False).exclude(report={})
    parts = list(attempts.order_by("pk").values_list("report", flat=True))
    after = rules.mean_kappas(part["after_feedback"] for part in parts if part["after_feedback"]) or None
    if row.kind == Exam.Kind.LATER:
        row.report = rules.cohort(parts, None, pairs=None, alpha=None) | {"n": len(parts)}
    row.report = {**row.report, "after_feedback": after}
    row.save(update_fields=["report"])
