"""A simulated first cohort through the paper's procedure, and its report computed a second time by hand."""

import random
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pytest

from accounts.models import Project
from judging.models import Exam, ExamAttempt, ExamGrade, KnownPair
from judging.qualification.services.exams import exam_close
from tests.conftest import Messages
from tests.factories import ProjectFactory, lead
from tests.judging.exams import cohort_exam, examinee, give, hand_in, pairs_in_order, regrade, start, status_of
from tests.judging.qualification.test_exam_power import count_levels_slowly

pytestmark = pytest.mark.django_db
SHARES = (6, 20, 32, 26, 16)  # of relevance 0 to 4 among the pairs, in percent, as in the published judgments
POWERS = {"unweighted": 0, "linear": 1, "quadratic": 2}
Grades = dict[int, dict[int, int]]  # of each person by pair


@dataclass
class Cohort:
    """People who grade a hidden truth with noise of their own, from careful to careless."""

    people: int
    queries: int = 10
    depth: int = 10
    project: Project = field(default_factory=ProjectFactory)

    def sit(self, messages: Messages) -> Exam:
        """All grade alone, the lead closes the round, and who was misaligned grades again until aligned."""
        exam = cohort_exam(self.project, queries=self.queries, depth=self.depth)
        chance = random.Random(23)
        pairs = list(exam.known_pairs.order_by("pk").values_list("pk", flat=True))
        self.hidden = dict(zip(pairs, chance.choices(range(5), SHARES, k=len(pairs)), strict=True))
        self.attempts = []
        for index in range(self.people):
            noise = 0.8 + 0.6 * index / max(1, self.people - 1)
            attempt = start(examinee(self.project), self.project)
            for known_pair in pairs_in_order(attempt):
                grade = min(4, max(0, round(self.hidden[known_pair.pk] + chance.gauss(0, noise))))
                give(attempt.annotator, known_pair, grade)
            hand_in(attempt)
            self.attempts.append(attempt)
        with messages():
            exam_close(exam=exam, actor=lead(self.project))
        for attempt in self.attempts:
            with messages():
                regrade(attempt)
            attempt.refresh_from_db()
        exam.refresh_from_db()
        return exam

    def grades(self, *, last: bool = False) -> Grades:
        rows = ExamGrade.objects.filter(exam_attempt__in=self.attempts).order_by("try_number")
        grades_by_person: Grades = {}
        for row in rows if last else rows.filter(try_number=0):
            grades_by_person.setdefault(row.annotator_id, {})[row.known_pair_id] = row.grade
        return grades_by_person


def kappa(a: list[int], b: list[int], power: int) -> float:
    """Cohen's, by its definition: one minus observed over expected disagreement."""
    observed = np.zeros((5, 5))
    for one, other in zip(a, b, strict=True):
        observed[one, other] += 1
    expected_counts = np.outer(observed.sum(1), observed.sum(0)) / len(a)
    weights = [[float(i != j) if power == 0 else abs(i - j) ** power for j in range(5)] for i in range(5)]
    return float(1 - (observed * weights).sum() / (expected_counts * weights).sum())


def up(median: float) -> int:
    return int(-(-median // 1))


def without(grades: Grades, person: int, pair: int) -> float:
    return statistics.median(person_grades[pair] for other, person_grades in grades.items() if other != person)


def check(cohort: Cohort, exam: Exam) -> None:
    first, last = cohort.grades(), cohort.grades(last=True)
    truth = {pair: statistics.median(person_grades[pair] for person_grades in first.values()) for pair in cohort.hidden}
    truth_by_pair = dict(KnownPair.objects.filter(exam=exam).values_list("pk", "truth"))
    assert {pair: float(value or 0) for pair, value in truth_by_pair.items()} == truth
    reports = {attempt.annotator_id: attempt.report for attempt in cohort.attempts}
    for person, person_grades in first.items():
        others = {pair: up(without(first, person, pair)) for pair in person_grades}
        check_person(reports[person], person_grades, last[person], truth, others)
    shares = [report["misaligned"] for report in reports.values()]
    assert exam.report["misaligned"] == pytest.approx(statistics.fmean(shares))
    for weights, power in POWERS.items():
        kappas = [report["kappas"][weights]["value"] for report in reports.values()]
        assert exam.report["kappas"][weights]["value"] == pytest.approx(statistics.fmean(kappas))
        pairwise = [
            kappa(list(first[one].values()), [first[other][pair] for pair in first[one]], power)
            for index, one in enumerate(first)
            for other in list(first)[index + 1 :]
        ]
        assert exam.report["pairwise"][weights]["value"] == pytest.approx(statistics.fmean(pairwise))


def check_person(
    report: Mapping[str, object],
    grades: dict[int, int],
    last: dict[int, int],
    truth: dict[int, float],
    others: dict[int, int],
) -> None:
    far = [abs(grade - truth[pair]) > 1 for pair, grade in grades.items()]
    assert report["misaligned"] == pytest.approx(sum(far) / len(far))
    for weights, power in POWERS.items():
        at_first = report["kappas"][weights]  # type: ignore[index]
        value = kappa(list(grades.values()), [others[pair] for pair in grades], power)
        assert at_first["value"] == pytest.approx(value)
        assert at_first["interval"]["low"] < value < at_first["interval"]["high"]
        after = report["after_feedback"][weights]["value"]  # type: ignore[index]
        assert after == pytest.approx(kappa([last[pair] for pair in grades], [others[pair] for pair in grades], power))
    quadratic = report["kappas"]["quadratic"]["value"]  # type: ignore[index]
    assert all(abs(last[pair] - truth[pair]) <= 1 for pair in truth)
    assert (quadratic >= 0.4) == ("reaches" in str(report["why"]))
    assert report["levels"] == count_levels_slowly(list(grades.values()), [others[pair] for pair in grades])


def check_results(cohort: Cohort) -> None:
    """By the default rule: kappa 0.4, 0.6 above or below the others' medians, three of their levels told apart."""
    first = cohort.grades()
    for attempt in cohort.attempts:
        grades = first[attempt.annotator_id]
        bias = statistics.fmean(grade - without(first, attempt.annotator_id, pair) for pair, grade in grades.items())
        reached = attempt.report["kappas"]["quadratic"]["value"] >= 0.4 and abs(bias) <= 0.6
        reached = reached and attempt.report["levels"] >= 3
        assert (attempt.state, attempt.passed) == ("done", reached)
        assert status_of(attempt.annotator) == ("qualified" if reached else "exam")


def test_five_people(messages: Messages) -> None:
    cohort = Cohort(people=5, queries=4)
    exam = cohort.sit(messages)
    check(cohort, exam)
    check_results(cohort)


@pytest.mark.slow
def test_the_papers_cohort_of_23(messages: Messages) -> None:
    """100 pairs each; the paper found 11.83 % misaligned at first, and a mean kappa of 0.49."""
    cohort = Cohort(people=23)
    exam = cohort.sit(messages)
    check(cohort, exam)
    check_results(cohort)
    assert (exam.report["n"], exam.report["pairs"]) == (23, 100)
    assert ExamGrade.objects.filter(try_number=0).count() == 2300
    assert 0.08 < exam.report["misaligned"] < 0.16
    assert 0.4 < exam.report["kappas"]["linear"]["value"] < 0.6
    assert ExamAttempt.objects.filter(passed=True).count() >= 20
