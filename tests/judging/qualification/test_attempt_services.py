"""Exam attempts: who may begin which, what becomes of a grade, and when they end."""

from decimal import Decimal
from itertools import pairwise
from uuid import uuid4

import pytest

from accounts.models import Membership, Project, StatusChange, User
from accounts.services.members import status_change
from core.exceptions import NotPossible
from judging.exceptions import (
    AssignmentIncomplete,
    AttemptOver,
    FormStale,
    GradeUnknown,
    GuidelineStale,
    GuidelineUnconfirmed,
    NotAnnotator,
    NotAssigned,
    PairWithdrawn,
    TooFewPairs,
    WarmUpDue,
)
from judging.guidelines.services import guideline_confirm, guideline_publish, policy_publish
from judging.models import ExamAttempt, ExamGrade, KnownPair
from judging.qualification.selectors.exam_attempts import attempt_of
from judging.qualification.services.exams import known_pair_retire
from judging.qualification.services.onboarding import onboarding_advance
from judging.work.rules import attempt_key
from judging.work.services.assignments import assignment_take
from tests.factories import MINUTES, NOW, BatchFactory, ProjectFactory, annotator, lead
from tests.judging.exams import (
    closed_exam,
    cohort_exam,
    examinee,
    give,
    hand_in,
    in_feedback,
    newcomer,
    pairs_in_order,
    sit,
    start,
    status_of,
    tutorial,
)

pytestmark = pytest.mark.django_db
TRUTHS = (0, 1, 2, 3, 4)


class TestStart:
    def test_everybody_of_a_cohort_grades_the_same_by_query_in_an_order_of_their_own(self, project: Project) -> None:
        cohort_exam(project, queries=4, depth=5)
        attempts = [start(examinee(project), project) for _ in range(3)]
        assert len({tuple(sorted(attempt.known_ids)) for attempt in attempts}) == 1
        assert len({tuple(attempt.known_ids) for attempt in attempts}) == 3
        queries = [known_pair.query_id for known_pair in pairs_in_order(attempts[0])]
        assert sum(a != b for a, b in pairwise(queries)) == 3
        user = attempts[0].annotator
        assert start(user, project) == sit(user, project, lambda known_pair: 2) == attempts[0]
        assert start(user, project) == attempts[0]  # nor is it sat a second time
        for other in (lead(project), examinee(ProjectFactory())):
            with pytest.raises(NotAnnotator):
                start(other, project)

    @pytest.mark.parametrize(
        ("status", "words"),
        [
            ("training", "confirm the guideline|do the tutorial"),
            ("suspended", "suspended"),
            ("left", "have left"),
            ("qualified", "qualified"),
        ],
    )
    def test_the_exam_is_for_who_has_come_so_far(self, project: Project, status: str, words: str) -> None:
        cohort_exam(project)
        tutorial(project)
        with pytest.raises(NotPossible, match=words):
            start(examinee(project, status), project)
        assert not ExamAttempt.objects.exists()

    def test_the_guideline_comes_before_the_tutorial_which_is_done_once(self, project: Project) -> None:
        pairs = tutorial(project)
        user = newcomer(project)
        with pytest.raises(GuidelineUnconfirmed):
            start(user, project, "tutorial")
        guideline_confirm(project=project, annotator=user, version=1)
        assert start(user, project, "tutorial").known_ids == [known_pair.pk for known_pair in pairs]
        attempt = sit(user, project, lambda known_pair: 4, purpose="tutorial")
        Membership.objects.filter(user=user).update(status="training")
        assert start(user, project, "tutorial") == attempt


class TestGrade:
    @pytest.fixture
    def attempt(self, project: Project) -> ExamAttempt:
        """An attempt at four pairs that began a minute ago."""
        cohort_exam(project)
        attempt = start(examinee(project), project)
        ExamAttempt.objects.update(created_at=NOW - MINUTES)
        return attempt

    def test_a_form_sent_again_is_one_grade_and_another_grade_by_it_is_stale(self, attempt: ExamAttempt) -> None:
        first = pairs_in_order(attempt)[0]
        key = attempt_key(attempt=attempt.uuid, pair=first.uuid, last=None)
        answers = [give(attempt.annotator, first, 3, key=key, active_ms=900, now=NOW) for _ in range(2)]
        assert [index for _, index in answers] == [1, 1]
        for other in (key, uuid4()):
            with pytest.raises(FormStale):
                give(attempt.annotator, first, 1, key=other)
        row = ExamGrade.objects.get()
        assert (row.uuid, row.grade, row.active_ms, row.position) == (key, 3, 900, 1)

    def test_first_grades_change_until_they_are_handed_in(self, attempt: ExamAttempt) -> None:
        """Nobody is at a pair for longer than it was shown."""
        user, pairs = attempt.annotator, pairs_in_order(attempt)
        give(user, pairs[0], 3, active_ms=10**9, now=NOW)
        with pytest.raises(AssignmentIncomplete, match="3 pairs still need"):
            hand_in(attempt)
        give(user, pairs[1], 3, now=NOW + 2 * MINUTES)
        for index, known_pair in enumerate(pairs[2:], start=3):
            give(user, known_pair, 3, active_ms=100, now=NOW + index * MINUTES)
        give(user, pairs[3], 1, active_ms=50, now=NOW + 9 * MINUTES)
        for now in (NOW, NOW + MINUTES):
            hand_in(attempt, now=now)
        attempt.refresh_from_db()
        assert (attempt.state, attempt.graded_at) == ("waiting", NOW)
        rows = attempt.grades.order_by("position").values_list("grade", "active_ms")
        assert list(rows) == [(3, 60_000), (3, 120_000), (3, 100), (1, 150)]
        with pytest.raises(AttemptOver, match="handed in"):
            give(user, pairs[0], 2)

    def test_grades_are_in_range_and_of_ones_own_pairs_while_one_is_in_the_project(self, attempt: ExamAttempt) -> None:
        user, pair = attempt.annotator, pairs_in_order(attempt)[0]
        for grade in (-1, 5):
            with pytest.raises(GradeUnknown, match="0 to 4"):
                give(user, pair, grade)
        with pytest.raises(NotAssigned):
            give(examinee(attempt.project), pair, 2)
        status_change(membership=user.memberships.get(), to="suspended", actor=None)
        with pytest.raises(NotAnnotator):
            give(user, pair, 2)

    def test_a_pair_taken_out_needs_no_grade(self, attempt: ExamAttempt) -> None:
        bad, *rest = pairs_in_order(attempt)
        known_pair_retire(pair=bad, actor=lead(attempt.project), reason="The clip is black.", now=NOW)
        with pytest.raises(PairWithdrawn):
            give(attempt.annotator, bad, 2)
        for known_pair in rest:
            give(attempt.annotator, known_pair, 2)
        assert hand_in(attempt).state == "waiting"

    def test_what_is_revealed_at_once_is_final(self, project: Project) -> None:
        pairs = tutorial(project)
        user = examinee(project, "training")
        start(user, project, "tutorial")
        open_attempt, _ = give(user, pairs[0], 0)
        assert open_attempt.shows_truth_of(open_attempt.pairs[0])
        assert not open_attempt.shows_truth_of(open_attempt.pairs[1])
        with pytest.raises(AttemptOver):
            give(user, pairs[0], 4)


class TestFeedback:
    def test_every_attempt_is_saved_until_aligned(self, project: Project) -> None:
        user = annotator(project)
        attempt = in_feedback(user, project)  # a 0 where the truth is 4
        known_pair = pairs_in_order(attempt)[0]
        other = closed_exam(project, [(2,)]).known_pairs.get()
        ExamAttempt.objects.filter(pk=attempt.pk).update(known_ids=[other.pk, *attempt.known_ids])
        open_attempt = attempt_of(annotator_id=user.pk, attempt=attempt.uuid)
        assert open_attempt is not None
        assert [pair_view.truth for pair_view in open_attempt.misaligned] == [Decimal(4)]
        with pytest.raises(AttemptOver, match="not in your feedback round"):
            give(user, other, 2)
        assert [give(user, known_pair, grade)[1] for grade in (1, 2, 3)] == [1, 1, None]
        assert list(attempt.grades.order_by("try_number").values_list("grade", flat=True)) == [0, 1, 2, 3]
        attempt.refresh_from_db()
        assert (attempt.state, attempt.ended_at) == ("done", NOW)
        with pytest.raises(AttemptOver):
            give(user, known_pair, 4)

    def test_the_last_pair_taken_out_ends_it(self, project: Project) -> None:
        attempt = in_feedback(annotator(project), project)
        (pair,) = pairs_in_order(attempt)
        for _ in range(2):
            known_pair_retire(pair=pair, actor=lead(project), reason="Two people in one.", now=NOW)
        attempt.refresh_from_db()
        assert attempt.state == "done"


class TestSteps:
    def test_each_step_is_recorded_with_its_reason(self, project: Project) -> None:
        tutorial(project)
        user = newcomer(project)
        for _ in range(2):
            onboarding_advance(project=project, annotator=user)
        guideline_confirm(project=project, annotator=user, version=1)
        assert status_of(user) == "training"
        sit(user, project, lambda known_pair: 2, purpose="tutorial")
        assert status_of(user) == "exam"
        steps = StatusChange.objects.filter(membership__user=user).values_list("from_status", "to_status")
        assert list(steps) == [("candidate", "training"), ("training", "exam")]
        assert StatusChange.objects.last().reason == "Confirmed the guideline and did the tutorial."  # type: ignore[union-attr]
        for other in (lead(project), annotator(ProjectFactory())):
            assert onboarding_advance(project=project, annotator=other) is None

    def test_a_new_version_of_the_guideline_is_confirmed_before_the_exam(self, project: Project) -> None:
        user = newcomer(project, "training")
        guideline_publish(project=project, actor=None, body="New.", levels=["a", "b", "c", "d", "e"])
        with pytest.raises(GuidelineStale):
            guideline_confirm(project=project, annotator=user, version=1)
        guideline_confirm(project=project, annotator=user, version=2)
        assert status_of(user) == "exam"


class TestWarmUp:
    @pytest.fixture
    def user(self, project: Project) -> User:
        """A warm-up of five pairs is asked for every eight hours, and a batch waits."""
        policy_publish(project=project, actor=None, warm_up=True, warm_up_hours=8)
        BatchFactory(query__project=project)
        closed_exam(project, [TRUTHS])
        return annotator(project)

    def test_a_batch_waits_until_it_is_finished(self, project: Project, user: User) -> None:
        with pytest.raises(WarmUpDue):
            assignment_take(project=project, annotator=user)
        attempt = start(user, project, "warm-up")
        give(user, pairs_in_order(attempt)[0], 2)
        with pytest.raises(WarmUpDue):
            assignment_take(project=project, annotator=user)
        assert start(user, project, "warm-up") == attempt
        for known_pair in pairs_in_order(attempt)[1:]:
            give(user, known_pair, 2)
        assert ExamAttempt.objects.get().state == "done"
        graded_at = ExamGrade.objects.latest("created_at").created_at
        with pytest.raises(TooFewPairs):  # a session that goes on needs none
            start(user, project, "warm-up")
        assert assignment_take(project=project, annotator=user, now=graded_at + 479 * MINUTES)

    def test_none_where_the_project_asks_for_none(self, project: Project, user: User) -> None:
        policy_publish(project=project, actor=None, warm_up=False)
        with pytest.raises(NotPossible, match="No warm-up is due"):
            start(user, project, "warm-up")
        assert assignment_take(project=project, annotator=user)

    def test_too_few_unseen_pairs_stop_nobody(self, project: Project, user: User) -> None:
        KnownPair.objects.filter(truth=4).delete()
        assert assignment_take(project=project, annotator=user)
