"""People sit exams in any order of steps; after each step the rules hold."""

import statistics

import hypothesis.strategies as st
import pytest
from django.db import transaction
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from accounts.models import Membership, StatusChange, User
from accounts.services.members import status_change
from core.exceptions import MomentJudgeError
from judging.models import Exam, ExamAttempt, ExamGrade, KnownPair
from judging.qualification.selectors.exam_attempts import onboarding_facts
from judging.qualification.services.exam_attempts import (
    attempt_grade,
    attempt_hand_in,
    attempt_start,
    missed_exam_count,
)
from judging.qualification.services.exams import exam_close, known_pair_anchor, known_pair_retire
from judging.qualification.services.onboarding import onboarding_advance
from judging.qualification.services.reports import attempt_report, exam_report
from tests.factories import NOW, ProjectFactory, lead
from tests.judging.exams import EVERYBODY, cohort_exam, examinee

pytestmark = pytest.mark.django_db
PEOPLE, PAIRS = 4, 3
GRADES = st.lists(st.integers(0, 4), min_size=PAIRS, max_size=PAIRS) | st.lists(st.integers(0, 4), max_size=PAIRS)


class ExamGame(RuleBasedStateMachine):
    """Messages are never sent: reports are a step like any other, so they come late, twice and out of order."""

    def __init__(self) -> None:
        super().__init__()
        self.undo = transaction.atomic()
        self.undo.__enter__()

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.undo.__exit__(None, None, None)

    @initialize()
    def an_exam_is_open(self) -> None:
        self.project = ProjectFactory()
        self.lead = lead(self.project)
        self.exam = cohort_exam(self.project, queries=1, depth=PAIRS)
        self.pairs = list(self.exam.known_pairs.order_by("pk"))
        self.people = [examinee(self.project) for _ in range(PEOPLE)]
        self.overridden: set[int] = set()
        self.final: dict[int, list[int]] = {}  # first grades that were handed in, by exam attempt

    def tried(self, work: object, **values: object) -> None:
        """Try the work: a refusal is named and changes nothing the invariants see."""
        try:
            with transaction.atomic():
                work(**values)  # type: ignore[operator]
        except MomentJudgeError:
            pass

    @rule(person=st.integers(0, PEOPLE - 1))
    def starts(self, person: int) -> None:
        self.tried(attempt_start, project=self.project, annotator=self.people[person], purpose="exam")

    @rule(person=st.integers(0, PEOPLE - 1), pair=st.integers(0, PAIRS - 1), grade=st.integers(0, 4))
    def grades(self, person: int, pair: int, grade: int) -> None:
        self.tried(attempt_grade, annotator=self.people[person], pair_uuid=self.pairs[pair].uuid, grade=grade, now=NOW)

    @rule(person=st.integers(0, PEOPLE - 1), grade=st.integers(0, 4))
    def grades_all(self, person: int, grade: int) -> None:
        for pair in range(PAIRS):
            self.grades(person, pair, (grade + pair) % 5)

    @rule(person=st.integers(0, PEOPLE - 1))
    def hands_in(self, person: int) -> None:
        for attempt in ExamAttempt.objects.filter(annotator=self.people[person]):
            self.tried(attempt_hand_in, annotator=self.people[person], attempt=attempt.uuid, now=NOW)

    @rule(grades_by_person=st.lists(GRADES, min_size=PEOPLE, max_size=PEOPLE), confirmed=st.booleans())
    def the_round_is_sat_and_closed(self, grades_by_person: list[list[int]], confirmed: bool) -> None:
        """Some give all grades and hand in, some only begin."""
        for person, grades in enumerate(grades_by_person):
            self.starts(person)
            for pair, grade in enumerate(grades):
                self.grades(person, pair, grade)
            self.hands_in(person)
        self.the_lead_closes(confirmed)

    @rule(person=st.integers(0, PEOPLE - 1))
    def the_feedback_is_done(self, person: int) -> None:
        for pair in KnownPair.objects.exclude(truth=None):
            self.grades(person, self.pairs.index(pair), int(pair.truth or 0))

    @rule(confirmed=st.booleans(), left_out=st.none() | st.integers(0, PEOPLE - 1), agreeing=st.booleans())
    def the_lead_closes(self, confirmed: bool, left_out: int | None = None, agreeing: bool = False) -> None:
        numbers = [] if left_out is None else [self.people[left_out].memberships.get().number]
        self.tried(
            exam_close,
            exam=self.exam,
            actor=self.lead,
            confirmed=EVERYBODY if confirmed else (),
            left_out=numbers,
            truth_rule="agreeing" if agreeing else "median",
            now=NOW,
        )

    @rule(pair=st.integers(0, PAIRS - 1), grade=st.none() | st.integers(0, 4))
    def the_lead_gives_an_anchor(self, pair: int, grade: int | None) -> None:
        any_handed_in = ExamAttempt.objects.exclude(state="open").exists()
        before = KnownPair.objects.get(pk=self.pairs[pair].pk).anchor
        self.tried(known_pair_anchor, pair=self.pairs[pair], actor=self.lead, grade=grade)
        after = KnownPair.objects.get(pk=self.pairs[pair].pk).anchor
        assert after == (before if any_handed_in or Exam.objects.get().state != "open" else grade)

    @rule(person=st.integers(0, PEOPLE - 1), counts=st.booleans())
    def the_lead_counts_a_missed_exam(self, person: int, counts: bool) -> None:
        for attempt in ExamAttempt.objects.filter(annotator=self.people[person]):
            self.tried(missed_exam_count, attempt=attempt, actor=self.lead, counts=counts, reason="Went away.")

    @rule()
    def reports_come(self) -> None:
        exam_report(exam_id=self.exam.pk)
        for pk in ExamAttempt.objects.values_list("pk", flat=True):
            attempt_report(exam_attempt_id=pk)

    @rule(pair=st.integers(0, PAIRS - 1))
    def the_lead_takes_a_pair_out(self, pair: int) -> None:
        if not KnownPair.objects.filter(is_retired=True).exists():  # one at most, so that something is left
            self.tried(known_pair_retire, pair=self.pairs[pair], actor=self.lead, reason="Bad.", now=NOW)

    @rule(person=st.integers(0, PEOPLE - 1))
    def somebody_asks_again(self, person: int) -> None:
        onboarding_advance(project=self.project, annotator=self.people[person])

    @rule(person=st.integers(0, PEOPLE - 1))
    def the_lead_overrides(self, person: int) -> None:
        member = Membership.objects.get(user=self.people[person])
        if member.status == "exam":
            status_change(membership=member, to="qualified", actor=self.lead, reason="By my word.")
            self.overridden.add(member.user_id)

    @invariant()
    def one_first_grade_per_person_and_pair(self) -> None:
        grade_keys = list(ExamGrade.objects.filter(try_number=0).values_list("annotator", "known_pair"))
        assert len(grade_keys) == len(set(grade_keys))

    @invariant()
    def attempts_count_up(self) -> None:
        rows: dict[tuple[int, int], list[int]] = {}
        for exam_attempt, known_pair, attempt in ExamGrade.objects.order_by("try_number").values_list(
            "exam_attempt", "known_pair", "try_number"
        ):
            rows.setdefault((exam_attempt, known_pair), []).append(attempt)
        assert all(attempts == list(range(len(attempts))) for attempts in rows.values())

    @invariant()
    def what_was_handed_in_stays(self) -> None:
        for attempt in ExamAttempt.objects.exclude(state__in=["open", "missed"]):
            first = list(attempt.grades.filter(try_number=0).order_by("position").values_list("grade", flat=True))
            assert self.final.setdefault(attempt.pk, first) == first

    @invariant()
    def truth_is_the_median_of_what_was_handed_in(self) -> None:
        closed = Exam.objects.filter(state="closed").exists()
        for known_pair in KnownPair.objects.exclude(truth=None):
            assert closed
            rows = known_pair.grades.filter(try_number=0, exam_attempt__left_out=False).exclude(
                exam_attempt__state="missed"
            )
            first = list(rows.values_list("grade", flat=True))
            assert len(first) >= 3
            if Exam.objects.get().truth_rule == "median":
                assert float(known_pair.truth or 0) == statistics.median(first)
            else:
                assert sum(abs(grade - float(known_pair.truth or 0)) <= 1 for grade in first) >= 3

    @invariant()
    def an_attempt_is_a_failed_exam_or_a_missed_one_that_the_lead_counts(self) -> None:
        for user in self.people:
            open_attempt = ExamAttempt.objects.filter(annotator=user)
            assert not any(row.has_no_result and row.passed is not None for row in open_attempt)
            n_attempts = (
                open_attempt.filter(passed=False).count()
                + open_attempt.filter(state="missed", missed_counts=True).count()
            )
            assert onboarding_facts(project_id=self.project.pk, annotator_id=user.pk).attempts_left == 2 - n_attempts

    @invariant()
    def nobody_is_at_first_grades_once_it_is_closed(self) -> None:
        assert not ExamAttempt.objects.filter(exam__state="closed", state__in=["open", "waiting"]).exists()

    @invariant()
    def who_is_done_is_aligned_everywhere(self) -> None:
        for attempt in ExamAttempt.objects.filter(state="done"):
            for known_pair in KnownPair.objects.filter(pk__in=attempt.known_ids, is_retired=False):
                newest = attempt.grades.filter(known_pair=known_pair).order_by("try_number").last()
                assert newest is not None and known_pair.truth is not None
                assert abs(newest.grade - float(known_pair.truth)) <= 1

    @invariant()
    def nobody_is_qualified_without_the_rule_or_the_leads_word(self) -> None:
        for user in self.qualified():
            by_rule = ExamAttempt.objects.filter(annotator=user, state="done", passed=True)
            assert user.pk in self.overridden or by_rule.exists()
        changes = StatusChange.objects.filter(to_status="qualified")
        assert not changes.filter(reason="").exists()

    @invariant()
    def passed_means_that_the_rule_is_met(self) -> None:
        for attempt in ExamAttempt.objects.exclude(passed=None):
            report = attempt.report
            value = report["kappas"]["quadratic"]["value"]
            met = value is not None and value >= 0.4 - 1e-9 and abs(report["bias"]) <= 0.6 + 1e-9
            assert attempt.passed == (met and report["levels"] >= min(3, report["truth_levels"]))

    def qualified(self) -> list[User]:
        members = Membership.objects.filter(project=self.project, status="qualified")
        return [member.user for member in members.select_related("user")]


@pytest.mark.parametrize(
    "examples", [5, pytest.param(100, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])], ids=["few", "many"]
)
def test_the_rules_hold_whatever_happens(examples: int) -> None:
    run_state_machine_as_test(
        ExamGame,
        settings=settings(
            max_examples=examples,
            stateful_step_count=20,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
        ),
    )
